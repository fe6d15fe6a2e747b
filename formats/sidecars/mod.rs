//! Files for other readers next to datasets, one file for each kind, and the table of all.
//!
//! They are pure functions from a finished dataset to bytes, and depend on no clock or machine. A
//! format hands over what it knows: [`Shards`], or [`Described`](croissant::Described) for a table.

#[cfg(feature = "write")]
pub(crate) mod card;
#[cfg(feature = "write")]
pub(crate) mod croissant;
#[cfg(feature = "write")]
mod dali;
#[cfg(feature = "write")]
mod energon;
#[cfg(feature = "write")]
pub(crate) mod hf;
#[cfg(feature = "write")]
mod img2dataset;
#[cfg(feature = "write")]
mod shards;
#[cfg(test)]
#[cfg(feature = "write")]
mod tests;
#[cfg(feature = "write")]
mod timm;
#[cfg(feature = "write")]
mod wids;

use fdconvert_core::{Error, FormatOption, OptionKind, Result, option};
#[cfg(feature = "write")]
pub(crate) use shards::{Output, ShardFile, Shards, files, files_of_all, shard_of};

/// A kind of sidecar.
struct Sidecar {
    /// The name in the option.
    name: &'static str,
    reader: &'static str,
    /// The formats that write it.
    formats: &'static [&'static str],
    /// Makes a file for each shard; the index is made with its shard.
    #[cfg(feature = "write")]
    of_each: Option<shards::Files>,
    /// Makes the files about all shards, in a fixed order.
    #[cfg(feature = "write")]
    of_all: Option<shards::Files>,
}

/// Declares the kinds, in the order of their files, and the option.
macro_rules! table {
    ($($name:literal, $reader:literal, $formats:expr, $of_each:expr, $of_all:expr;)*) => {
        const TABLE: &[Sidecar] = &[$(Sidecar {
            name: $name,
            reader: $reader,
            formats: &$formats,
            #[cfg(feature = "write")]
            of_each: $of_each,
            #[cfg(feature = "write")]
            of_all: $of_all,
        }),*];

        /// The option that selects them: the same for all formats that have it.
        pub(crate) const OPTION: FormatOption = FormatOption {
            name: "sidecars",
            kind: OptionKind::Text("LIST"),
            help: concat!(
                "Files for other readers, next to tar shards: ",
                $($name, ", ",)*
                "or none [default: fdx,dali,wids]; next to a Parquet file: croissant, or none \
                 [default: none]; in a folder of Parquet files: card, or none [default: card]"
            ),
        };
    };
}

// Name, reader, formats, and the functions that make a file for each shard and those for all.
table! {
    "fdx", "fdconvert", ["wds"], None, None;
    "dali", "NVIDIA DALI", ["wds"], Some(dali::files), None;
    "wids", "wids", ["wds"], None, Some(wids::files);
    "timm", "timm", ["wds"], None, Some(timm::files);
    "hf", "Hugging Face datasets", ["wds"], None, Some(hf::files);
    "card", "Hugging Face datasets", ["wds", "parquet"], None, Some(card::files);
    "croissant", "mlcroissant", ["wds", "parquet"], None, Some(croissant::shards::files);
    "energon", "Megatron Energon", ["wds"], Some(energon::indexes), Some(energon::files);
    "img2dataset", "tools of img2dataset", ["wds"], Some(img2dataset::files), None;
}

/// Parses the option of a format: the names of its sidecars, in the order of the table.
///
/// # Errors
/// `Usage` for a name that the format does not write, and for names that exclude each other.
pub(crate) fn chosen(list: &str, format: &str) -> Result<Vec<&'static str>> {
    let wrong = |what: String| Err(Error::usage(option::SIDECARS, what));
    let words: Vec<&str> = list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let own = TABLE.iter().filter(|it| it.formats.contains(&format)).map(|it| it.name);
    let own: Vec<&'static str> = own.collect();
    if let Some(word) = words.iter().find(|word| **word != "none" && !own.contains(word)) {
        let known = own.join(", ");
        return wrong(match TABLE.iter().find(|it| it.name == *word) {
            Some(it) => format!(
                "`{word}` is for {}, and only {} writes it; expected one of {known}, none",
                it.reader,
                it.formats.join(", ")
            ),
            None => format!("unknown `{word}`; expected one of {known}, none"),
        });
    }
    if words.is_empty() || words.contains(&"none") && words.len() > 1 {
        return wrong("either `none`, or a list of sidecars".to_owned());
    }
    if words.contains(&"hf") && words.contains(&"card") {
        let what = "`card` has what `hf` has, and both are README.md; leave out `hf`";
        return wrong(what.to_owned());
    }
    Ok(own.into_iter().filter(|name| words.contains(name)).collect())
}

/// Returns a JSON document, formatted for people too.
#[cfg(feature = "write")]
fn json(document: &serde_json::Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
