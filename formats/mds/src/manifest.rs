//! `fdconvert.json`: what `index.json` cannot say.
use crate::layout::{FORMAT, hex};
use fdconvert_core::{Limits, Provenance, Schema};
use fdconvert_storage::read_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(crate) const NAME: &str = "fdconvert.json";
pub(crate) const VERSION: u64 = 1;

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
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShardName {
    pub(crate) split: String,
    pub(crate) basename: String,
    pub(crate) samples: u64,
}

impl Manifest {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let loose: serde_json::Value =
            serde_json::from_slice(text).map_err(|cause| cause.to_string())?;
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
        Ok(manifest)
    }
}

/// Whether the folder holds a complete dataset of that run.
pub(crate) fn is_of(out: &Path, fingerprint: [u8; 16]) -> bool {
    let text = read_file(&out.join(NAME), Limits::DEFAULT.max_file_bytes);
    text.is_ok_and(|text| {
        Manifest::parse(&text).is_ok_and(|manifest| manifest.fingerprint == hex(fingerprint))
    })
}
