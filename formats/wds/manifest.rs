//! `fdconvert.json`: what the dataset is, written when all of it is there.
use crate::wds::{format::FORMAT, layout::MANIFEST};
use fdconvert_core::{Codec, Common, Error, Provenance, Result, Schema};
use fdconvert_storage::{read_if_there, seal_json, unseal_json};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::Path;

const VERSION: u64 = 1;
const MAX_BYTES: u64 = 1 << 30;
/// How manifests begin that were written before they had a checksum.
const UNSEALED_START: &[u8] = b"{\n  \"format\": ";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    pub(crate) samples: u64,
    pub(crate) schema: Schema,
    /// Names of the members in the order of the schema's fields.
    pub(crate) members: Vec<String>,
    pub(crate) common: CommonFacts,
    pub(crate) provenance: Provenance,
    pub(crate) shards: Vec<ShardFacts>,
    pub(crate) sidecars: Vec<FileFacts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommonFacts {
    pub(crate) codec: Option<Codec>,
    pub(crate) extension: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardFacts {
    pub(crate) name: String,
    pub(crate) split: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
    /// Name of its index, if it was written with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
}

impl From<&Common> for CommonFacts {
    fn from(common: &Common) -> Self {
        Self { codec: common.codec, extension: common.extension.clone() }
    }
}

/// Reads a JSON document that names its format, and version 1 of it.
///
/// # Errors
/// `Corrupt` for a document of something else or with other keys, `Version` for another version.
pub fn parse_manifest<T: DeserializeOwned>(
    text: &[u8],
    format: &'static str,
    path: &Path,
) -> Result<T> {
    let damaged = |what: String| Error::corrupt(format, path, 0, what);
    let loose: serde_json::Value =
        serde_json::from_slice(text).map_err(|cause| damaged(cause.to_string()))?;
    if loose.get("format").and_then(|name| name.as_str()) != Some(format) {
        return Err(damaged(format!("`format` is not `{format}`")));
    }
    let found = loose.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found != VERSION {
        return Err(Error::Version { format, path: path.to_path_buf(), found, supported: "1" });
    }
    serde_json::from_value(loose).map_err(|cause| damaged(cause.to_string()))
}

impl Manifest {
    /// A manifest without shards yet.
    pub(crate) fn new(fingerprint: String, schema: Schema, members: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            fingerprint,
            samples: 0,
            schema,
            members,
            common: CommonFacts::default(),
            provenance: Provenance::default(),
            shards: Vec::new(),
            sidecars: Vec::new(),
        }
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Strings, numbers and maps with string keys: nothing that JSON cannot hold.
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        seal_json(&text)
    }

    /// The manifest of a folder, if it has one and it is of this format.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        let Some(text) = read_if_there(&path, MAX_BYTES)? else { return Ok(None) };
        let damaged = |what: String| Error::corrupt(FORMAT, &path, 0, what);
        let object = match text.starts_with(UNSEALED_START) {
            true if !text.ends_with(b"\n") => Err("it is cut short".into()),
            true => Ok(text.to_vec()),
            false => unseal_json(&text),
        };
        let manifest: Self = parse_manifest(&object.map_err(damaged)?, FORMAT, &path)?;
        manifest.check().map_err(damaged)?;
        Ok(Some(manifest))
    }

    fn check(&self) -> Result<(), String> {
        Schema::new(self.schema.fields.clone()).map_err(|error| error.to_string())?;
        if self.members.len() != self.schema.fields.len() {
            let (members, fields) = (self.members.len(), self.schema.fields.len());
            return Err(format!("{members} members for {fields} fields"));
        }
        let names = self.shards.iter().map(|shard| &shard.name);
        let names = names.chain(self.shards.iter().filter_map(|shard| shard.index.as_ref()));
        let mut names = names.chain(self.sidecars.iter().map(|file| &file.name));
        // Names below the folder, never a way out of it.
        let is_below = |name: &str| {
            !name.starts_with('/')
                && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
                && !name.contains('\0')
        };
        match names.find(|name| !is_below(name)) {
            Some(name) => Err(format!("`{name}` is no name of a file in the folder")),
            None if self.shards.is_empty() => Err("it lists no shards".into()),
            None => Ok(()),
        }
    }
}
