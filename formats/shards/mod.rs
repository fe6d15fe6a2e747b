//! What all datasets of shards do alike, whatever lies in a shard.
//!
//! A shard is finished when, and only when, its done-record says so: a small JSON file below
//! [`RECORDS`], which begins with the fingerprint of the run, ends with its own checksum, and has
//! the shard's length and hash ([`record`]). The claim of `fdconvert_storage` is its unfinished
//! form. A dataset is finished when its manifest is there, a JSON file that begins with its own
//! checksum and is written last ([`manifest`]). What may be replaced or removed, and what is
//! refused, is decided here for all formats alike ([`existing`]). Of many shards one file has all
//! indexes ([`combined`]). Shards that others left beside images are no dataset ([`among`]).

pub(crate) mod among;
pub(crate) mod combined;
#[cfg(feature = "write")]
pub(crate) mod existing;
pub(crate) mod manifest;
pub(crate) mod record;

use std::path::{Path, PathBuf};

/// The folder of done-records and claims, beside the shards.
pub(crate) const RECORDS: &str = ".fdconvert";

/// Returns where the done-record lies of the shard in `folder` whose files are called `stem`.
pub(crate) fn record_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(RECORDS).join(format!("{stem}.json"))
}
