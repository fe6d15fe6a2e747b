//! The table, and its entry for a value.
use fdconvert_core::{Codec, Provenance, Schema};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

pub(crate) const FORMAT: &str = "toy";
pub(crate) const MAGIC: &[u8; 8] = b"TOYDATA1";
/// Length and checksum of the table.
pub(crate) const TAIL: usize = 16;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) schema: Schema,
    pub(crate) provenance: Provenance,
    pub(crate) samples: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Cell {
    Int(i64),
    /// The bits, because JSON cannot represent every float.
    Float(u64),
    Bytes(Run),
    Image {
        codec: Codec,
        width: u32,
        height: u32,
        run: Run,
    },
}

/// Place and checksum of a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) xxh3: u64,
}

/// Returns the bytes after the table.
pub(crate) fn tail(table: &[u8]) -> [u8; TAIL] {
    let len = (table.len() as u64).to_le_bytes();
    let mut sum = Xxh3Default::new();
    [&MAGIC[..], table, &len].iter().for_each(|part| sum.update(part));
    let mut tail = [0; TAIL];
    tail[..8].copy_from_slice(&len);
    tail[8..].copy_from_slice(&sum.digest().to_le_bytes());
    tail
}
