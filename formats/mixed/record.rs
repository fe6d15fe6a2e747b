//! The done-record of a mixed shard: its samples by codec.
use crate::mixed::{
    layout::{CODECS, FORMAT},
    order::Order,
};
use crate::shards::record::{self, VERSION};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use fdconvert_core::{Codec, Result, Skipped};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// The file `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) parts: Vec<Part>,
    pub(crate) order: String,
    pub(crate) keys: String,
    pub(crate) skipped: Vec<Skipped>,
}

/// Part of a shard in one codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) codec: Codec,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl record::Record for Record {
    const FORMAT: &'static str = FORMAT;

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        let order = self.order()?;
        let counted: Vec<_> = self.parts.iter().map(|part| (part.codec, part.samples)).collect();
        if counted != present(&order) {
            return Err("its parts have other numbers of samples than its order".into());
        }
        Ok(())
    }
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

    pub(crate) fn order(&self) -> Result<Order, String> {
        decode(&self.order, self.samples)
    }
}

/// Returns the codecs in use, with their numbers of samples.
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
