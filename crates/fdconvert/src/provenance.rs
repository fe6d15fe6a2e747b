//! Provenance: the options that a dataset was made with.
//!
//! An option that differs from its default is recorded in its serialized form, under its name. So a
//! new option becomes part of the output's record, and of the run's identity, unless a list here
//! says where else it is recorded.
use crate::{
    PackOptions, check::format_values, choose::Chosen, classes, keys::ListedKeys,
    options::Encoding, outcome::Outcome, ratio::Settled,
};
use fdconvert_core::{Format, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// Options in the policy's record, which covers everything that changes images, including defaults.
const OF_POLICY: [&str; 19] = [
    "encode",
    "jpeg_quality",
    "subsampling",
    "optimize_huffman",
    "baseline",
    "restart_rows",
    "smart_ratio",
    "ratio",
    "by",
    "max_bmp_size",
    "max_side",
    "short_side",
    "filter",
    "alpha",
    "gray_to_rgb",
    "no_exif_rotation",
    "strip_metadata",
    "strict",
    "check",
];

/// Options with a recorded outcome: [`params`] and the job contain it.
const BY_OUTCOME: [&str; 7] =
    ["format", "format_options", "classes", "keys", "dedup", "seed", "jpeg_index"];

/// Options that determine the samples and their shards: the fingerprint of the source and the plan
/// cover them. Most are paths, which do not affect the output.
const OF_SAMPLES: [&str; 10] = [
    "labels",
    "layout",
    "pair",
    "beside",
    "follow_links",
    "no_split_folders",
    "shard_count",
    "shard_size",
    "shards",
    "shards_multiple_of",
];

/// Options that refuse samples, and do not change any.
const LIMITS: [&str; 3] = ["max_pixels", "max_file_bytes", "max_decompressed"];

/// Returns the options and outcomes to record in the output, besides those of the policy.
pub(crate) fn params(
    options: &PackOptions,
    outcome: &Outcome,
    format: &dyn Format,
) -> Result<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    let unlisted = |name: &str| {
        let lists = [&OF_POLICY[..], &BY_OUTCOME, &OF_SAMPLES, &LIMITS];
        lists.iter().all(|list| !list.contains(&name))
    };
    // Paths do not affect bytes, and need not be text.
    let of_text = PackOptions { labels: None, keys: None, classes: None, ..options.clone() };
    for (name, value) in of_text.given()? {
        if unlisted(&name) {
            params.insert(name.replace('_', "-"), text(&value));
        }
    }
    for (name, value) in format_values(options, format.options())?.0 {
        let value = if value.is_empty() { "on".to_owned() } else { value };
        params.insert(format!("{}.{}", format.name(), name.replace('_', "-")), value);
    }
    let mixes = matches!(options.encode, Some(Encoding::Mix(_)));
    if mixes || options.shuffle || options.sample.is_some() || !options.split.is_empty() {
        params.insert("seed".to_owned(), options.seed.to_string());
    }
    params.extend(classes::param(options));
    params.extend(outcome.ratio.as_ref().and_then(Settled::param));
    params.extend(outcome.keys.as_ref().map(ListedKeys::param));
    params.extend(outcome.chosen.iter().flat_map(Chosen::params));
    Ok(params)
}

/// Returns the recorded form of a value.
fn text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "provenance_tests.rs"]
mod tests;
