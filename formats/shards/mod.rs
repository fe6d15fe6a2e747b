//! The common part of all datasets of shards, whatever a shard contains.
//!
//! A shard is finished if and only if it has a done-record: a small JSON file below [`RECORDS`],
//! which begins with the fingerprint of the run, ends with a checksum of itself, and has the
//! shard's length and hash ([`record`]); a Parquet file is its own proof. The claim of `fdconvert_storage` is its unfinished form. A
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

use fdconvert_core::{Error, Result, Shard};
use std::path::{Path, PathBuf};

/// The folder of done-records and claims, next to the shards.
pub(crate) const RECORDS: &str = ".fdconvert";

/// Returns the path of the done-record for the shard in `folder` with files called `stem`.
pub(crate) fn record_path(folder: &Path, stem: &str) -> PathBuf {
    folder.join(RECORDS).join(format!("{stem}.json"))
}

/// Returns the split of a shard, for the name of its file.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn split_in_names(shard: &Shard) -> Result<&str> {
    let split = &shard.split;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if split.is_empty() || split.len() > 200 || !split.bytes().all(legal) {
        let what = format!(
            "the split `{split}` is not part of a file name: use letters, digits, `_` and `-`"
        );
        return Err(Error::usage("split", what));
    }
    Ok(split)
}
