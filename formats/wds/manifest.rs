//! `fdconvert.json`: describes the dataset, written once the dataset is complete.
use crate::shards::{
    combined::Combined,
    manifest::{self, FileFacts, MAX_BYTES, NAME, Unsealed, VERSION},
    versions::{EditFacts, Files},
};
use crate::wds::format::FORMAT;
use fdconvert_core::{Codec, Common, Error, Provenance, Result, Schema};
use fdconvert_storage::read_if_there;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    pub(crate) samples: u64,
    pub(crate) schema: Schema,
    /// Member names in the order of the schema's fields.
    pub(crate) members: Vec<String>,
    pub(crate) common: CommonFacts,
    pub(crate) provenance: Provenance,
    pub(crate) shards: Vec<ShardFacts>,
    pub(crate) sidecars: Vec<FileFacts>,
    /// The indexes of all shards in one file, if there are many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) combined: Option<Combined>,
    /// The edit that made this version, if it is not as it was packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<EditFacts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommonFacts {
    pub(crate) codec: Option<Codec>,
    pub(crate) extension: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) distinct_stems: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardFacts {
    pub(crate) name: String,
    pub(crate) split: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<String>,
}

impl From<&Common> for CommonFacts {
    fn from(common: &Common) -> Self {
        let Common { codec, distinct_stems, .. } = *common;
        Self { codec, extension: common.extension.clone(), distinct_stems }
    }
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
            combined: None,
            edit: None,
        }
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        manifest::to_json(self, b"\n")
    }

    /// Reads the manifest of a folder, if it has one of this format.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let text = read_if_there(&path, MAX_BYTES)?;
        text.map(|text| Self::parse(&text, &path)).transpose()
    }

    /// Parses the text of a manifest; `path` is for messages.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Self> {
        let manifest: Self = manifest::parse(text, FORMAT, path, Unsealed::EndsWith(b"\n"))?;
        manifest.check().map_err(|what| Error::corrupt(FORMAT, path, 0, what))?;
        Ok(manifest)
    }

    /// Returns the paths of the shards' indexes.
    pub(crate) fn indexes(&self, files: &Files) -> Vec<PathBuf> {
        let names = self.shards.iter().filter_map(|shard| shard.index.as_ref());
        names.map(|name| files.path(name)).collect()
    }

    fn check(&self) -> Result<(), String> {
        Schema::new(self.schema.fields.clone()).map_err(|error| error.to_string())?;
        if self.members.len() != self.schema.fields.len() {
            let (members, fields) = (self.members.len(), self.schema.fields.len());
            return Err(format!("{members} members for {fields} fields"));
        }
        self.combined.as_ref().map_or(Ok(()), |combined| combined.check(self.shards.len()))?;
        let names = self.shards.iter().map(|shard| &shard.name);
        let names = names.chain(self.shards.iter().filter_map(|shard| shard.index.as_ref()));
        let names = names.chain(self.sidecars.iter().map(|file| &file.name));
        let names = names.chain(self.combined.iter().map(|combined| &combined.name));
        match manifest::name_outside(names) {
            Some(name) => Err(format!("`{name}` is not a name of a file in the folder")),
            None if self.shards.is_empty() => Err("it lists no shards".into()),
            None => Ok(()),
        }
    }
}
