//! The done-record of an MDS shard.
use crate::mds::layout::{Entry, FORMAT};
use crate::shards::record::{self, VERSION, file_agrees};
use fdconvert_core::{Result, ShardSummary, Skipped};
use fdconvert_storage::fingerprint_hex as hex;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    fingerprint: String,
    version: u64,
    /// Name of the shard's file, in the folder above.
    pub(crate) file: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// XXH3 (64 bits) of the shard's file, whichever hashes its index has.
    pub(crate) shard_xxh3: String,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) entry: Entry,
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

impl Record {
    pub(crate) fn new(
        fingerprint: [u8; 16],
        entry: Entry,
        xxh3: u64,
        skipped: Vec<Skipped>,
    ) -> Self {
        let file = entry.zip_data.as_ref().unwrap_or(&entry.raw_data);
        Self {
            fingerprint: hex(fingerprint),
            version: VERSION,
            file: file.basename.clone(),
            samples: entry.samples,
            bytes: file.bytes,
            shard_xxh3: format!("{xxh3:016x}"),
            skipped,
            entry,
        }
    }

    pub(crate) fn summary(&self, folder: &Path) -> ShardSummary {
        ShardSummary {
            path: folder.join(&self.file),
            samples: self.samples,
            bytes: self.bytes,
            skipped: self.skipped.clone(),
        }
    }

    /// Returns true if the shard's file matches the record byte for byte.
    pub(crate) fn agrees(&self, folder: &Path) -> Result<bool> {
        let file = folder.join(&self.file);
        file_agrees(&file, self.bytes, &self.shard_xxh3, &self.fingerprint)
    }
}
