//! The done-record of a tar.
use crate::index::Index;
use crate::shards::record::{self, VERSION, file_agrees, is_missing};
use crate::wds::{format::FORMAT, layout};
use fdconvert_core::{Result, Skipped};
use fdconvert_storage::{fingerprint_hex, place::is_object_of_run};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// Hash of the whole shard.
    pub(crate) shard_xxh3: String,
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

impl Record {
    pub(crate) fn new(fingerprint: [u8; 16], samples: u64, bytes: u64, xxh3: u64) -> Self {
        let (fingerprint, shard_xxh3) = (fingerprint_hex(fingerprint), format!("{xxh3:016x}"));
        Self { fingerprint, version: VERSION, samples, bytes, shard_xxh3, skipped: Vec::new() }
    }

    /// Returns true if the shard matches the record byte for byte, and its index is sound.
    pub(crate) fn agrees(&self, tar: &Path, with_index: bool) -> Result<bool> {
        let index = layout::index_path(tar);
        let is_marked = match with_index {
            true => is_object_of_run(&index, None, &self.fingerprint)?,
            false => Some(true),
        };
        if is_marked == Some(false) {
            return Ok(false);
        }
        if is_marked.is_none() {
            match fdconvert_storage::map(&index).map(Index::parse) {
                Ok(Ok(index)) if index.data_len() == self.bytes && index.verify().is_empty() => {}
                Err(error) if !is_missing(&error) => return Err(error),
                _ => return Ok(false),
            }
        }
        file_agrees(tar, self.bytes, &self.shard_xxh3, &self.fingerprint)
    }
}
