//! Done-records of the files of a dataset of several.
use super::layout::FORMAT;
use crate::shards::record;
#[cfg(feature = "write")]
use fdconvert_core::Result;
use fdconvert_core::Skipped;
#[cfg(feature = "write")]
use fdconvert_storage::{fingerprint_hex, replace, seal_json};
use serde::{Deserialize, Serialize};
#[cfg(feature = "write")]
use std::path::Path;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) skipped: Vec<Skipped>,
}

impl record::Record for Record {
    const FORMAT: &'static str = FORMAT;

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// Writes the record of a shard.
///
/// # Errors
/// `Io`.
#[cfg(feature = "write")]
pub(crate) fn write(
    path: &Path,
    fingerprint: [u8; 16],
    samples: u64,
    skipped: &[Skipped],
) -> Result<()> {
    let record = Record {
        fingerprint: fingerprint_hex(fingerprint),
        version: record::VERSION,
        samples,
        skipped: skipped.to_vec(),
    };
    replace(path, &seal_json(&record::Record::to_json(&record)))
}
