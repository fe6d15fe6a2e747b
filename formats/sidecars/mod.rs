//! Files for other readers next to datasets, as far as formats share them.

#[cfg(feature = "write")]
pub(crate) mod croissant;

use fdconvert_core::{FormatOption, OptionKind};

/// The option that selects them: the same for all formats that have it.
pub(crate) const OPTION: FormatOption = FormatOption {
    name: "sidecars",
    kind: OptionKind::Text("LIST"),
    help: "Files for other readers, next to tar shards: fdx, dali, wids, timm, hf, card, croissant, energon, img2dataset, or none [default: fdx,dali,wids]; next to a Parquet file: croissant, or none [default: none]",
};

/// Returns a JSON document, formatted for people too.
#[cfg(feature = "write")]
pub(crate) fn json(document: &serde_json::Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
