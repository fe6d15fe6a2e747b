use crate::Remark;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Record of how a dataset was made, to explain it a year later. Contains no clock, host or path:
/// the same input and options give the same record.
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

/// A skipped sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Position in the plan's order.
    pub index: u64,
    /// Key of the sample.
    pub key: String,
    /// The error, on one line.
    pub reason: Remark,
}
