//! The common part of all datasets of shards, whatever a shard contains.
//!
//! A shard is finished if and only if it has a done-record: a small JSON file below [`RECORDS`],
//! which begins with the fingerprint of the run, ends with a checksum of itself, and has the
//! shard's length and hash ([`record`]). The claim of `fdconvert_storage` is its unfinished form. A
//! dataset is finished when it has a manifest, a JSON file that begins with a checksum of itself
//! and is written last ([`manifest`]). The rules for replacing, removing and refusing are the same
//! for all formats ([`existing`]). With many shards, one file has all indexes ([`combined`]).
//! Foreign shards in a folder of images are no dataset ([`among`]). An edit makes the next version of
//! a finished dataset ([`versions`]).

pub(crate) mod among;
pub(crate) mod combined;
#[cfg(feature = "write")]
pub(crate) mod existing;
pub(crate) mod manifest;
pub(crate) mod record;
pub(crate) mod versions;

use std::path::{Path, PathBuf};

/// The folder of done-records and claims, next to the shards.
pub(crate) const RECORDS: &str = ".fdconvert";

/// Returns the path of the done-record for the shard in `folder` with files called `stem`.
pub(crate) fn record_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(RECORDS).join(format!("{stem}.json"))
}
