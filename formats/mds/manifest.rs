//! `fdconvert.json`: facts that `index.json` cannot express.
use crate::mds::layout::FORMAT;
use crate::shards::{
    combined::Combined,
    manifest::{self, FileFacts, MAX_BYTES, NAME, Unsealed},
    versions::EditFacts,
};
use fdconvert_core::{Error, Provenance, Result, Schema};
use fdconvert_storage::{fingerprint_hex as hex, read_if_there};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    pub(crate) samples: u64,
    pub(crate) key_column: String,
    pub(crate) schema: Schema,
    pub(crate) shards: Vec<ShardName>,
    pub(crate) provenance: Provenance,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<FileFacts>,
    /// The index blocks of all shards in one file, if there are many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) combined: Option<Combined>,
    /// The edit that made this version, if it is not as it was packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<EditFacts>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShardName {
    pub(crate) split: String,
    pub(crate) basename: String,
    pub(crate) samples: u64,
    /// Name of its index block, in the same folder; older datasets have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<String>,
}

impl Manifest {
    pub(crate) fn to_json(&self) -> Vec<u8> {
        manifest::to_json(self, b"")
    }

    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Self> {
        let damaged = |what: String| Error::corrupt(FORMAT, path, 0, what);
        let manifest: Self = manifest::parse(text, FORMAT, path, Unsealed::EndsWith(b"}"))?;
        Schema::new(manifest.schema.fields.clone()).map_err(|error| damaged(error.to_string()))?;
        if let Some(combined) = &manifest.combined {
            combined.check(manifest.shards.len()).map_err(damaged)?;
        }
        let names = manifest.shards.iter().filter_map(|shard| shard.index.as_ref());
        let names = names.chain(manifest.files.iter().map(|file| &file.name));
        let names = names.chain(manifest.combined.iter().map(|combined| &combined.name));
        match manifest::name_outside(names) {
            Some(name) => Err(damaged(format!("`{name}` is not a name of a file below it"))),
            None => Ok(manifest),
        }
    }
}

/// Reads the manifest of a folder, if it has a readable one.
pub(crate) fn read(out: &Path) -> Option<Manifest> {
    let path = out.join(NAME);
    Manifest::parse(&read_if_there(&path, MAX_BYTES).ok()??, &path).ok()
}

/// Returns true if the folder has a complete dataset of that run.
pub(crate) fn is_of(out: &Path, fingerprint: [u8; 16]) -> bool {
    read(out).is_some_and(|manifest| manifest.fingerprint == hex(fingerprint))
}
