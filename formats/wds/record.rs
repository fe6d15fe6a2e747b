//! Done-records: which shards are complete, and of which run they are.
use crate::index::Index;
use crate::wds::{format::FORMAT, layout};
use fdconvert_core::{Error, Result, Skipped};
use fdconvert_storage::{
    check_record, fingerprint_hex, hash_file, is_of_run, read_file, read_if_there,
};
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

/// Version 1 has no checksum.
const VERSION: u64 = 2;
const MAX_BYTES: u64 = 1 << 30;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// First, so that an unfinished record tells whose it is: see `fdconvert_storage::Claim`.
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// Of the whole shard.
    pub(crate) xxh3: String,
    pub(crate) skipped: Vec<Skipped>,
}

/// What a done-record proves.
pub(crate) enum Proof {
    /// Nothing: there is none.
    Missing,
    Record(Record),
    /// It is damaged, but it is of this run: the shard may be written again.
    OfThisRun,
    /// It is damaged and does not say of which run it is.
    Damaged(Error),
}

impl Record {
    pub(crate) fn new(fingerprint: [u8; 16], samples: u64, bytes: u64, xxh3: u64) -> Self {
        let (fingerprint, xxh3) = (fingerprint_hex(fingerprint), format!("{xxh3:016x}"));
        Self { fingerprint, version: VERSION, samples, bytes, xxh3, skipped: Vec::new() }
    }

    pub(crate) fn is_of(&self, fingerprint: [u8; 16]) -> bool {
        self.fingerprint == fingerprint_hex(fingerprint)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Strings and numbers: nothing that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether the shard is, byte for byte, what the record says, and its index sound.
    pub(crate) fn agrees(&self, tar: &Path, with_index: bool) -> Result<bool> {
        let is_missing = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound);
        if with_index {
            match fdconvert_storage::map(&layout::index_path(tar)).map(Index::parse) {
                Ok(Ok(index)) if index.data_len() == self.bytes && index.verify().is_empty() => {}
                Err(error) if !is_missing(&error) => return Err(error),
                _ => return Ok(false),
            }
        }
        match hash_file(tar) {
            Ok((bytes, hash)) => Ok(bytes == self.bytes && format!("{hash:016x}") == self.xxh3),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the record at `path` proves to a run of that fingerprint.
    pub(crate) fn proof(path: &Path, fingerprint: [u8; 16]) -> Result<Proof> {
        match Self::read(path) {
            Ok(None) => Ok(Proof::Missing),
            Ok(Some(record)) => Ok(Proof::Record(record)),
            Err(error @ (Error::Corrupt { .. } | Error::Version { .. })) => {
                let text = read_file(path, MAX_BYTES)?;
                let ours = is_of_run(&text, fingerprint);
                Ok(if ours { Proof::OfThisRun } else { Proof::Damaged(error) })
            }
            Err(error) => Err(error),
        }
    }

    /// The record at `path`, if there is one.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = read_if_there(path, MAX_BYTES)? else { return Ok(None) };
        let damaged = |what: String| Error::corrupt(FORMAT, path, 0, what);
        let sealed = check_record(&bytes).map_err(damaged)?.is_some();
        let record: Self =
            serde_json::from_slice(&bytes).map_err(|cause| damaged(cause.to_string()))?;
        if !bytes.ends_with(b"\n") {
            return Err(Error::corrupt(FORMAT, path, bytes.len() as u64, "it is cut short"));
        }
        match record.version {
            1 => Ok(Some(record)),
            VERSION if sealed => Ok(Some(record)),
            VERSION => Err(damaged("its checksum is missing: it was changed or damaged".into())),
            found => {
                let path = path.to_path_buf();
                Err(Error::Version { format: FORMAT, path, found, supported: "1 and 2" })
            }
        }
    }
}
