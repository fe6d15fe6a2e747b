//! The bytes of a shard and the objects of `index.json`. Their fields are sorted by name, as Python
//! sorts them.
use fdconvert_core::{Error, Result, Shard};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

pub(crate) const FORMAT: &str = "mds";
/// The only version.
pub(crate) const VERSION: u64 = 2;
pub(crate) const INDEX: &str = "index.json";
pub(crate) const ZSTD: &str = "zstd";
/// Streaming's default level for `zstd`.
pub(crate) const ZSTD_LEVEL: i32 = 3;
/// Offsets have 32 bits.
pub(crate) const MAX_SHARD_BYTES: u64 = u32::MAX as u64;

/// Description of a shard in the shard itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) column_encodings: Vec<String>,
    pub(crate) column_names: Vec<String>,
    pub(crate) column_sizes: Vec<Option<u64>>,
    pub(crate) compression: Option<String>,
    pub(crate) format: String,
    pub(crate) hashes: Vec<String>,
    pub(crate) size_limit: Option<serde_json::Value>,
    pub(crate) version: u64,
}

/// Description of a shard in the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) column_encodings: Vec<String>,
    pub(crate) column_names: Vec<String>,
    pub(crate) column_sizes: Vec<Option<u64>>,
    pub(crate) compression: Option<String>,
    pub(crate) format: String,
    pub(crate) hashes: Vec<String>,
    pub(crate) raw_data: FileInfo,
    pub(crate) samples: u64,
    pub(crate) size_limit: Option<serde_json::Value>,
    pub(crate) version: u64,
    pub(crate) zip_data: Option<FileInfo>,
}

/// Description of a file in the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileInfo {
    pub(crate) basename: String,
    pub(crate) bytes: u64,
    pub(crate) hashes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Index {
    pub(crate) shards: Vec<Entry>,
    pub(crate) version: u64,
}

impl Config {
    pub(crate) fn into_entry(
        self,
        samples: u64,
        raw_data: FileInfo,
        zip_data: Option<FileInfo>,
    ) -> Entry {
        Entry {
            column_encodings: self.column_encodings,
            column_names: self.column_names,
            column_sizes: self.column_sizes,
            compression: self.compression,
            format: self.format,
            hashes: self.hashes,
            raw_data,
            samples,
            size_limit: self.size_limit,
            version: self.version,
            zip_data,
        }
    }
}

impl Entry {
    pub(crate) fn same_columns(&self, other: &Self) -> bool {
        self.column_names == other.column_names
            && self.column_encodings == other.column_encodings
            && self.column_sizes == other.column_sizes
    }

    /// Returns the config that the shard itself should contain.
    pub(crate) fn config(&self) -> Config {
        Config {
            column_encodings: self.column_encodings.clone(),
            column_names: self.column_names.clone(),
            column_sizes: self.column_sizes.clone(),
            compression: self.compression.clone(),
            format: self.format.clone(),
            hashes: self.hashes.clone(),
            size_limit: self.size_limit.clone(),
            version: self.version,
        }
    }
}

/// Offset of the config in a shard of that many samples.
pub(crate) fn config_offset(n_samples: u64) -> Option<u64> {
    n_samples.checked_add(2)?.checked_mul(4)
}

pub(crate) fn split_folder(out: &Path, split: &str) -> Result<PathBuf> {
    let within = within_split(split)?;
    Ok(if within.is_empty() { out.to_path_buf() } else { out.join(split) })
}

/// Path of a split's folder within the dataset, with a slash behind it, or nothing.
pub(crate) fn within_split(split: &str) -> Result<String> {
    if split == Shard::DEFAULT_SPLIT {
        return Ok(String::new());
    }
    let mut parts = Path::new(split).components();
    let is_name = matches!(parts.next(), Some(Component::Normal(name)) if name == split)
        && !split.starts_with('.');
    if !is_name {
        return Err(Error::usage("split", format!("`{split}` is not a name for a folder")));
    }
    Ok(format!("{split}/"))
}
