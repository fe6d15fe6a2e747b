//! `_fdconvert.json`: the files of a dataset of several, in order.
use super::layout::FORMAT;
use crate::shards::{
    RECORDS,
    manifest::{self, MAX_BYTES, Unsealed, VERSION},
    split_in_names,
    versions::EditFacts,
};
use fdconvert_core::{Error, Provenance, Result, Schema, Shard};
use fdconvert_storage::read_if_there;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Readers of folders of Parquet files pass over names that begin so.
pub(crate) const NAME: &str = "_fdconvert.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    pub(crate) samples: u64,
    pub(crate) schema: Schema,
    pub(crate) provenance: Provenance,
    pub(crate) shards: Vec<ShardFacts>,
    /// The edit that made this version, if it is not as it was packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edit: Option<EditFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardFacts {
    pub(crate) name: String,
    pub(crate) split: String,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl ShardFacts {
    /// Returns the name of its record.
    pub(crate) fn record(&self) -> String {
        let stem = self.name.strip_suffix(".parquet").unwrap_or(&self.name);
        format!("{RECORDS}/{stem}.json")
    }
}

impl Manifest {
    /// A manifest without shards yet.
    pub(crate) fn new(fingerprint: String, schema: Schema, provenance: Provenance) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            fingerprint,
            samples: 0,
            schema,
            provenance,
            shards: Vec::new(),
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

    /// Returns the names of all files but the manifest.
    #[cfg(feature = "write")]
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.shards.iter().flat_map(|shard| [shard.name.clone(), shard.record()])
    }

    /// Parses the text of a manifest; `path` is for messages.
    pub(crate) fn parse(text: &[u8], path: &Path) -> Result<Self> {
        let manifest: Self = manifest::parse(text, FORMAT, path, Unsealed::Never)?;
        manifest.check().map_err(|what| Error::corrupt(FORMAT, path, 0, what))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        Schema::new(self.schema.fields.clone()).map_err(|error| error.to_string())?;
        if let Some(name) = manifest::name_outside(self.shards.iter().map(|shard| &shard.name)) {
            return Err(format!("`{name}` is not a name of a file in the folder"));
        }
        let sum = self.shards.iter().try_fold(0_u64, |sum, shard| sum.checked_add(shard.samples));
        match sum {
            Some(sum) if sum == self.samples && sum > 0 => Ok(()),
            _ => Err(format!("{} samples are not those of its shards", self.samples)),
        }
    }
}

/// Name of a shard's file: `train-00000.parquet`.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn name(shard: &Shard) -> Result<String> {
    let split = split_in_names(shard)?;
    Ok(format!("{split}-{:05}.{FORMAT}", shard.number))
}

/// Split and number in the name of a shard's file.
pub(crate) fn parsed(name: &str) -> Option<(&str, usize)> {
    let (split, number) = name.strip_suffix(".parquet")?.rsplit_once('-')?;
    let is_number = number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((split, number.parse().ok().filter(|_| is_number && !split.is_empty())?))
}
