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
/// The folder with the files, as on the Hub.
pub(crate) const DATA: &str = "data";

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
        record_name(&self.name)
    }
}

/// Returns the name of a file's record within the dataset.
pub(crate) fn record_name(name: &str) -> String {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    let stem = name.strip_suffix(".parquet").unwrap_or(name);
    format!("{RECORDS}/{stem}.json")
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

/// Name of a shard's file within the dataset, as `datasets` names it on the Hub:
/// `data/train-00000-of-00003.parquet`. The total is 0 where the run did not know it.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn name(shard: &Shard) -> Result<String> {
    let split = split_in_names(shard)?;
    Ok(format!("{DATA}/{split}-{:05}-of-{:05}.{FORMAT}", shard.number, shard.of))
}

/// What the name of a shard's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) split: &'a str,
    pub(crate) number: usize,
    /// 0 in a name without a total, as files of earlier versions have it.
    pub(crate) of: usize,
}

/// Parses the name of a shard's file, with or without its folder.
pub(crate) fn parsed(name: &str) -> Option<Named<'_>> {
    let stem = name.strip_prefix("data/").unwrap_or(name).strip_suffix(".parquet")?;
    let (rest, of) = match stem.rsplit_once("-of-") {
        Some((rest, of)) if counted(of).is_some() => (rest, counted(of)?),
        _ => (stem, 0),
    };
    let (split, number) = rest.rsplit_once('-')?;
    let number = counted(number).filter(|_| !split.is_empty())?;
    Some(Named { split, number, of })
}

/// Parses a number of five digits or more.
fn counted(digits: &str) -> Option<usize> {
    let is_number = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_they_are_made_and_as_earlier_versions_made_them() {
        let shard =
            |split: &str, number, of| Shard { number, of, samples: 0..1, split: split.to_owned() };
        for (split, number, of) in [("train", 2, 3), ("my-own", 0, 0), ("a-of-00001", 123_456, 7)] {
            let name = name(&shard(split, number, of)).unwrap();
            assert_eq!(parsed(&name), Some(Named { split, number, of }), "{name}");
        }
        let earlier = Named { split: "train", number: 12, of: 0 };
        assert_eq!(parsed("train-00012.parquet"), Some(earlier));
        for other in ["train.parquet", "train-1.parquet", "-00001.parquet", "train-00001.pq"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
