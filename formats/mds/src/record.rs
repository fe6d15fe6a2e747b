//! Done-records: a shard is finished when, and only when, its record says so.
use crate::layout::{Entry, hex};
use fdconvert_core::{Error, Result, ShardSummary, Skipped};
use fdconvert_storage::read_file;
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

const VERSION: u64 = 1;
/// Skipped samples are listed in it: millions of them fit.
const MAX_BYTES: u64 = 1 << 28;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u64,
    fingerprint: String,
    /// Name of the shard's file, which lies in the folder above.
    pub(crate) file: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) entry: Entry,
}

impl Record {
    pub(crate) fn new(fingerprint: [u8; 16], entry: Entry, skipped: Vec<Skipped>) -> Self {
        let file = entry.zip_data.as_ref().unwrap_or(&entry.raw_data);
        Self {
            version: VERSION,
            fingerprint: hex(fingerprint),
            file: file.basename.clone(),
            samples: entry.samples,
            bytes: file.bytes,
            skipped,
            entry,
        }
    }

    pub(crate) fn is_of(&self, fingerprint: [u8; 16]) -> bool {
        self.fingerprint == hex(fingerprint)
    }

    pub(crate) fn summary(&self, folder: &Path) -> ShardSummary {
        ShardSummary {
            path: folder.join(&self.file),
            samples: self.samples,
            bytes: self.bytes,
            skipped: self.skipped.clone(),
        }
    }

    /// The record, if there is a readable one: a damaged one proves nothing and counts as none.
    pub(crate) fn read_if_there(path: &Path) -> Result<Option<Self>> {
        match read_file(path, MAX_BYTES) {
            Ok(text) => Ok(Self::parse(&text).ok()),
            Err(Error::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(text).map_err(|cause| cause.to_string())?;
        match record.version {
            VERSION => Ok(record),
            other => Err(format!("version {other} of a done-record; this build reads {VERSION}")),
        }
    }
}
