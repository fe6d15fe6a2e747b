//! `fdconvert-mixed.json`: the description of the dataset, written last.
use crate::mixed::{
    layout::{FORMAT, MANIFEST, folder_name},
    order::Order,
    record::{decode, present},
};
use crate::shards::{
    manifest::{self, MAX_BYTES, Unsealed, VERSION},
    versions::EditFacts,
};
use fdconvert_core::{Codec, Error, Provenance, Result, Schema};
use fdconvert_storage::{SEALED_START, place, read_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    pub(crate) samples: u64,
    pub(crate) asked: Option<String>,
    pub(crate) codecs: Vec<CodecFacts>,
    pub(crate) schema: Schema,
    pub(crate) provenance: Provenance,
    pub(crate) shards: Vec<ShardFacts>,
    pub(crate) order: String,
    /// The edit that made this version, if it is not as it was packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<EditFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodecFacts {
    pub(crate) codec: Codec,
    pub(crate) folder: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardFacts {
    pub(crate) split: String,
    pub(crate) number: usize,
    pub(crate) samples: u64,
    pub(crate) keys: String,
}

/// Returns true if a file begins like a manifest.
pub(crate) fn begins(path: &Path) -> bool {
    let start = place::read_start(path, SEALED_START.len());
    start.is_ok_and(|start| start == SEALED_START[..])
}

impl Manifest {
    /// Creates a manifest without shards.
    pub(crate) fn new(fingerprint: String, schema: Schema, provenance: Provenance) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            fingerprint,
            samples: 0,
            asked: provenance.params.get("ratio").cloned(),
            codecs: Vec::new(),
            schema,
            provenance,
            shards: Vec::new(),
            order: String::new(),
            edit: None,
        }
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        manifest::to_json(self, b"\n")
    }

    /// Reads the manifest at `path`, checks its consistency, and returns the order of the samples.
    pub(crate) fn read(path: &Path) -> Result<(Self, Order)> {
        Self::parse(&read_file(path, MAX_BYTES)?, path)
    }

    /// Parses the text of a manifest in the same way; `path` is for messages.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<(Self, Order)> {
        let damaged = |what: String| Error::corrupt(FORMAT, path, 0, what);
        let manifest: Self = manifest::parse(text, FORMAT, path, Unsealed::Never)?;
        let order = manifest.check().map_err(damaged)?;
        Ok((manifest, order))
    }

    fn check(&self) -> Result<Order, String> {
        Schema::new(self.schema.fields.clone()).map_err(|error| error.to_string())?;
        let order = decode(&self.order, self.samples)?;
        let counted: Vec<_> =
            self.codecs.iter().map(|facts| (facts.codec, facts.samples)).collect();
        if counted != present(&order) {
            return Err("its codecs have other numbers of samples than its order".into());
        }
        if let Some(facts) = self.codecs.iter().find(|f| f.folder != folder_name(f.codec)) {
            return Err(format!("`{}` is not a folder of a codec", facts.folder));
        }
        let mut sum = 0_u64;
        for shard in &self.shards {
            sum = sum.checked_add(shard.samples).ok_or("its shards have too many samples")?;
        }
        if sum != self.samples || sum == 0 {
            return Err(format!("{} samples, but {sum} in its shards", self.samples));
        }
        Ok(order)
    }
}

/// Returns the codecs of a mixed set and the number of samples of each, from the text of its
/// manifest, after checking its checksum, order and sums. The folders are not read.
///
/// # Errors
/// `Corrupt` or `Version`.
pub fn manifest_codecs(text: &[u8]) -> Result<Vec<(Codec, u64)>> {
    let (manifest, order) = Manifest::parse(text, Path::new(MANIFEST))?;
    debug_assert_eq!(manifest.samples, order.len());
    Ok(present(&order))
}
