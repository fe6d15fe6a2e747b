//! Done-records: what a finished shard has in which codec.
use crate::mixed::{
    layout::{CODECS, FORMAT},
    order::Order,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use fdconvert_core::{Codec, Error, Result, Skipped};
use fdconvert_storage::{check_record, is_of_run, read_file, read_if_there};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Version 1 has no checksum.
const VERSION: u64 = 2;
const MAX_BYTES: u64 = 1 << 30;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// First, so that an unfinished record tells whose it is.
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) parts: Vec<Part>,
    pub(crate) order: String,
    pub(crate) keys: String,
    pub(crate) skipped: Vec<Skipped>,
}

/// What of a shard is in one codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) codec: Codec,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl Record {
    pub(crate) fn new(fingerprint: String, parts: Vec<Part>, order: &Order, keys: &Keys) -> Self {
        Self {
            fingerprint,
            version: VERSION,
            samples: order.len(),
            parts,
            order: encode(order),
            keys: keys.hex(),
            skipped: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    pub(crate) fn part(&self, codec: Codec) -> Option<&Part> {
        self.parts.iter().find(|part| part.codec == codec)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Strings and numbers: nothing that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether the file at `path` begins as the records of a run do, however damaged the rest is.
    pub(crate) fn is_of(path: &Path, fingerprint: [u8; 16]) -> Result<bool> {
        Ok(is_of_run(&read_file(path, MAX_BYTES)?, fingerprint))
    }

    /// The record at `path`, if there is one, and the order of its samples.
    pub(crate) fn read(path: &Path) -> Result<Option<(Self, Order)>> {
        let Some(bytes) = read_if_there(path, MAX_BYTES)? else { return Ok(None) };
        let damaged = |what: String| Error::corrupt(FORMAT, path, 0, what);
        let sealed = check_record(&bytes).map_err(damaged)?.is_some();
        let record: Self =
            serde_json::from_slice(&bytes).map_err(|cause| damaged(cause.to_string()))?;
        if !bytes.ends_with(b"\n") {
            return Err(damaged("it is cut short".into()));
        }
        match record.version {
            1 => {}
            VERSION if sealed => {}
            VERSION => {
                return Err(damaged("its checksum is missing: it was changed or damaged".into()));
            }
            found => {
                let path = path.to_path_buf();
                return Err(Error::Version { format: FORMAT, path, found, supported: "1 and 2" });
            }
        }
        let order = decode(&record.order, record.samples).map_err(damaged)?;
        let counted: Vec<_> = record.parts.iter().map(|part| (part.codec, part.samples)).collect();
        if counted != present(&order) {
            return Err(damaged("its parts have other numbers of samples than its order".into()));
        }
        Ok(Some((record, order)))
    }
}

/// The codecs that occur, with their numbers of samples.
pub(crate) fn present(order: &Order) -> Vec<(Codec, u64)> {
    CODECS.into_iter().zip(order.counts()).filter(|(_, samples)| *samples > 0).collect()
}

pub(crate) fn encode(order: &Order) -> String {
    STANDARD.encode(order.to_bytes())
}

pub(crate) fn decode(text: &str, n_samples: u64) -> Result<Order, String> {
    let bytes = STANDARD.decode(text).map_err(|cause| format!("the order: {cause}"))?;
    Order::from_bytes(&bytes, n_samples)
}

/// The hash over codes and keys.
#[derive(Clone, Default)]
pub(crate) struct Keys(Xxh3);

impl Keys {
    pub(crate) fn add(&mut self, code: u8, key: &str) {
        self.0.update(&[code]);
        self.0.update(&(key.len() as u64).to_le_bytes());
        self.0.update(key.as_bytes());
    }

    pub(crate) fn hex(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}
