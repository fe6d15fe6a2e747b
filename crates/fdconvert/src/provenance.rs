//! What is recorded of the options.
use crate::{
    PackOptions, check::format_values, choose::Chosen, classes, keys::ListedKeys,
    options::Encoding, outcome::Outcome,
};
use fdconvert_core::{Format, Result};
use std::collections::BTreeMap;

/// Options of the format and of the plan, as they are recorded in the output.
pub(crate) fn params(
    options: &PackOptions,
    outcome: &Outcome,
    format: &dyn Format,
) -> Result<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    let values = format_values(options, format.options())?;
    for (name, value) in values.0 {
        let value = if value.is_empty() { "on".to_owned() } else { value };
        params.insert(format!("{}.{name}", format.name()), value);
    }
    let mut put = |name: &str, value: String| params.insert(name.to_owned(), value);
    if let Some(balance) = outcome.ratio.and_then(|ratio| ratio.balance) {
        let measured = [
            balance.read_bytes_per_s,
            balance.threads,
            balance.cache_bytes,
            balance.encoded_seconds,
            balance.bmp_seconds,
        ];
        put("ratio-balance", measured.map(|number| number.to_string()).join(","));
    }
    if let Some(prefix) = &options.prefix {
        put("prefix", prefix.to_string());
    }
    if !options.drop_fields.is_empty() {
        put("drop-fields", options.drop_fields.join(","));
    }
    if let Some(boxes) = options.boxes {
        put("boxes", boxes.to_string());
    }
    if !options.label_columns.is_empty() {
        put("label-columns", options.label_columns.join(","));
    }
    if let Some(classes) = classes::param(options) {
        put("classes", classes);
    }
    if let Some(share) = options.sample {
        put("sample", share.to_string());
    }
    if let Some(per) = options.per {
        put("per", per.to_string());
    }
    if options.shuffle {
        put("shuffle", "on".into());
    }
    if !options.split.is_empty() {
        let parts: Vec<_> = options.split.iter().map(ToString::to_string).collect();
        put("split", parts.join(","));
    }
    let mixes = matches!(options.encode, Some(Encoding::Mix(_)));
    if mixes || options.shuffle || options.sample.is_some() || !options.split.is_empty() {
        put("seed", options.seed.to_string());
    }
    params.extend(outcome.keys.iter().map(ListedKeys::param));
    params.extend(outcome.chosen.iter().flat_map(Chosen::params));
    Ok(params)
}
