//! Done-records: a shard is finished when, and only when, its record says so.
use crate::mds::layout::Entry;
use bytes::Bytes;
use fdconvert_core::{Error, Result, ShardSummary, Skipped};
use fdconvert_storage::{check_record, fingerprint_hex as hex, hash_file, read_file};
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

/// Version 1 has neither a checksum nor the hash of the file.
const VERSION: u64 = 2;
/// Skipped samples are listed in it: millions of them fit.
const MAX_BYTES: u64 = 1 << 28;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// First, so that an unfinished record tells whose it is: see `fdconvert_storage::Claim`.
    fingerprint: String,
    version: u64,
    /// Name of the shard's file, which lies in the folder above.
    pub(crate) file: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// XXH3 (64 bits) of the shard's file, whichever hashes its index has.
    #[serde(default)]
    pub(crate) xxh3: Option<String>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) entry: Entry,
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
            xxh3: Some(format!("{xxh3:016x}")),
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

    /// Whether the shard's file is, byte for byte, what the record says; of a record of version 1,
    /// whether it has the length.
    pub(crate) fn agrees(&self, folder: &Path) -> Result<bool> {
        match hash_file(&folder.join(&self.file)) {
            Ok((bytes, hash)) => {
                let same = |xxh3: &String| *xxh3 == format!("{hash:016x}");
                Ok(bytes == self.bytes && self.xxh3.as_ref().is_none_or(same))
            }
            Err(Error::Io { source, .. }) if is_missing(&source) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a record or claim, if there is one.
    pub(crate) fn text(path: &Path) -> Result<Option<Bytes>> {
        match read_file(path, MAX_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(Error::Io { source, .. }) if is_missing(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let sealed = check_record(text)?.is_some();
        let record: Self = serde_json::from_slice(text).map_err(|cause| cause.to_string())?;
        match record.version {
            1 => Ok(record),
            VERSION if sealed => Ok(record),
            VERSION => Err("its checksum is missing: it was changed or damaged".into()),
            other => Err(format!("version {other} of a done-record; this build reads 1 and 2")),
        }
    }
}

fn is_missing(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
