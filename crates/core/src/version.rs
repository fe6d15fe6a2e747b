//! Versions of datasets of shards: what one holds, and the step from one to the next.
use crate::{Common, Provenance, Schema, Shard};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A version of a dataset of shards, by its manifest alone: no shard is opened.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// Fingerprint of the manifest, in hexadecimal.
    pub fingerprint: String,
    /// Identity of the edit that made it; `None` for a dataset as it was packed.
    pub edit: Option<String>,
    /// Fields of every sample.
    pub schema: Schema,
    /// Properties that all samples share.
    pub common: Common,
    /// Provenance of the dataset as it was packed.
    pub provenance: Provenance,
    /// Its shards in the order of the dataset: their numbers in the names of their files, and their
    /// ranges among the samples of the dataset.
    pub shards: Vec<Shard>,
}

impl Version {
    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.shards.last().map_or(0, |shard| shard.samples.end)
    }
}

/// A shard of the next version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextShard {
    /// A shard of the current version, by its position there.
    Kept(usize),
    /// A shard of the staged dataset, by split and number. It may be missing there, if all of its
    /// samples were skipped.
    New(Shard),
}

/// All parameters for making the next version of a dataset.
#[derive(Debug, Clone)]
pub struct Edit<'a> {
    /// Path of the dataset.
    pub out: &'a Path,
    /// Folder of the staged shards: a dataset of their own, packed like any other. It may be
    /// missing if there are none.
    pub stage: &'a Path,
    /// Fingerprint of the version that the edit was planned for.
    pub base: &'a str,
    /// Identity of the edit: equal for the same edit of any version.
    pub id: [u8; 16],
    /// The shards of the next version, in order.
    pub shards: &'a [NextShard],
    /// Properties that all samples of the next version share.
    pub common: &'a Common,
    /// Number of versions that can be read afterwards, the new one included; at least 1.
    pub keep_versions: u64,
    /// Its entry in the log, without what the format adds: number, samples and root.
    pub entry: LogEntry,
}

/// Entry of a version in the log of its dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the version.
    pub version: u64,
    /// Time of the edit in UTC, `2026-01-31T23:59:59Z`. Stored in the log alone; empty for a
    /// dataset as it was packed.
    pub time: String,
    /// The command: `pack`, `append`, `remove` or `update`, and what it was about.
    pub command: String,
    /// Number of samples of the version.
    pub samples: u64,
    /// Number of samples that the previous version did not have.
    pub added: u64,
    /// Number of samples of the previous version that this one does not have.
    pub removed: u64,
    /// Number of samples with other values than in the previous version.
    pub changed: u64,
    /// Checksum (XXH3, 128 bits) of the manifest, which has those of all shards.
    pub root: String,
}
