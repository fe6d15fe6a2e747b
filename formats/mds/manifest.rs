//! `fdconvert.json`: what `index.json` cannot say.
use crate::mds::{layout::FORMAT, shard::is_safe_name};
use fdconvert_core::{Error, Limits, Provenance, Result, Schema};
use fdconvert_storage::{fingerprint_hex as hex, read_file, seal_json, unseal_json};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const NAME: &str = "fdconvert.json";
pub(crate) const VERSION: u64 = 1;
/// How manifests begin that were written before they had a checksum.
const UNSEALED_START: &[u8] = b"{\n  \"format\": ";

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
    /// The indexes for Streaming.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<FileFacts>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShardName {
    pub(crate) split: String,
    pub(crate) basename: String,
    pub(crate) samples: u64,
    /// Name of its index block, which lies beside it; none in older datasets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<String>,
}

/// A file of the dataset that has no checksum of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
}

impl FileFacts {
    pub(crate) fn new(name: String, contents: &[u8]) -> Self {
        let xxh3 = format!("{:016x}", xxh3_64(contents));
        Self { name, bytes: contents.len() as u64, xxh3 }
    }
}

impl Manifest {
    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        let text = serde_json::to_vec_pretty(self).map_err(|cause| {
            Error::usage("schema", format!("cannot be written as JSON: {cause}"))
        })?;
        Ok(seal_json(&text))
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let object = match text.starts_with(UNSEALED_START) {
            true => text.to_vec(),
            false => unseal_json(text)?,
        };
        let loose: serde_json::Value =
            serde_json::from_slice(&object).map_err(|cause| cause.to_string())?;
        let format = loose.get("format").and_then(serde_json::Value::as_str);
        if format != Some(FORMAT) {
            return Err(format!("`format` is not `{FORMAT}`"));
        }
        match loose.get("version").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            other => return Err(format!("its version is {other:?}; this build reads {VERSION}")),
        }
        let manifest: Self = serde_json::from_value(loose).map_err(|cause| cause.to_string())?;
        let fields = manifest.schema.fields.clone();
        Schema::new(fields).map_err(|error| error.to_string())?;
        let names = manifest.shards.iter().filter_map(|shard| shard.index.as_ref());
        let mut names = names.chain(manifest.files.iter().map(|file| &file.name));
        match names.find(|name| !is_safe_name(name)) {
            Some(name) => Err(format!("`{name}` is no name of a file below it")),
            None => Ok(manifest),
        }
    }
}

/// Whether the folder holds a complete dataset of that run.
pub(crate) fn is_of(out: &Path, fingerprint: [u8; 16]) -> bool {
    let text = read_file(&out.join(NAME), Limits::DEFAULT.max_file_bytes);
    text.is_ok_and(|text| {
        Manifest::parse(&text).is_ok_and(|manifest| manifest.fingerprint == hex(fingerprint))
    })
}
