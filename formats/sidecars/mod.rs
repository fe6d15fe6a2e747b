//! Files for other readers beside datasets, as far as formats have the same ones.

#[cfg(feature = "write")]
pub(crate) mod croissant;

use fdconvert_core::{FormatOption, OptionKind};

/// The option that names them: one for all formats that have it.
pub(crate) const OPTION: FormatOption = FormatOption {
    name: "sidecars",
    kind: OptionKind::Text("LIST"),
    help: "Files for other readers, next to tar shards: fdx, dali, wids, timm, hf, card, croissant, energon, img2dataset, or none [default: fdx,dali,wids]; next to a Parquet file: croissant, or none [default: none]",
};

/// A JSON document for people, too.
#[cfg(feature = "write")]
pub(crate) fn json(document: &serde_json::Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
