use crate::{Message, Schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a dataset was made, so that it can be explained a year later. No clock, host or path: the
/// same input and options give the same record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Program and version, e.g. `fdconvert 0.1.0`.
    pub tool: String,
    /// Name of the source (see `Source::name`).
    pub source: String,
    /// Every parameter that shaped the bytes: policy, quality, sizes, seed, codec library.
    pub params: BTreeMap<String, String>,
    /// Samples of the source that are not in the dataset, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// The parameter that names the fields whose images are labels, as a JSON list.
const MASKS: &str = "masks";

impl Provenance {
    /// Records which fields hold images that are labels, if any do.
    pub fn set_masks(&mut self, names: &[&str]) {
        if !names.is_empty() {
            let names = serde_json::Value::from(names.to_vec());
            self.params.insert(MASKS.into(), names.to_string());
        }
    }

    /// Returns whether the images of a field were labels when the dataset was made, so that
    /// [their pixels stay](crate::Source::keeps_pixels) when it is packed again.
    #[must_use]
    pub fn keeps_pixels(&self, schema: &Schema, field: usize) -> bool {
        let names = self.params.get(MASKS).and_then(|names| serde_json::from_str(names).ok());
        let names: Vec<String> = names.unwrap_or_default();
        schema.fields.get(field).is_some_and(|field| names.contains(&field.name))
    }
}

/// A sample that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Position in the plan's order.
    pub index: u64,
    /// Its key.
    pub key: String,
    /// The error, on one line.
    pub reason: Message,
}
