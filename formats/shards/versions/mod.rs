//! Versions of a dataset of shards. A version is a manifest; an edit makes the next one.
//!
//! ```text
//! OUT/
//!   train-000000.tar ...           the files of the current version, under the names that other
//!   fdconvert.json                 readers know, and its manifest, with the member `edit`
//!   .fdconvert/
//!     edit-FINGERPRINT/            files of a version that have not come to their names yet
//!     versions/3/                  manifest of version 3, and what version 4 has replaced or removed
//!     log.json                     what made each version, and when
//! ```
//!
//! An edit is packed into its own folder, the stage, by the writers of any dataset, and carried out
//! in this order:
//!
//! 1. What a kept version would lose gets a second name below `versions`.
//! 2. The manifest is replaced: from here on the dataset is the next version. Files that the stage
//!    has are read there ([`Files`]).
//! 3. The staged files are renamed, each to its name in the dataset; those that the version no
//!    longer has are removed. What ends here unfinished is completed by the next edit
//!    ([`recover`]), from the description in the stage.
//!
//! So foreign readers, which know names alone, see a part of the shards of either version during
//! the last step, and never one twice.
#[cfg(feature = "write")]
mod commit;
mod files;
#[cfg(feature = "write")]
mod log;

#[cfg(feature = "write")]
pub(crate) use commit::{Commit, faster, recover, remove_stages, stage_file, without_manifest};
#[cfg(feature = "write")]
pub(crate) use files::current;
pub(crate) use files::{Files, OpenVersion, kept_numbers, open};
#[cfg(feature = "write")]
pub(crate) use log::{forget, read as read_log};

use crate::shards::RECORDS;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// The member `edit` of a manifest: absent for a dataset as it was packed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EditFacts {
    /// Number of the version.
    pub(crate) version: u64,
    /// Identity of the edit that made it.
    pub(crate) id: String,
}

/// Number of the version of a manifest with this member.
pub(crate) fn number(edit: Option<&EditFacts>) -> u64 {
    edit.map_or(1, |edit| edit.version)
}

/// Returns the number of an edited version among the facts of an open dataset.
pub(crate) fn detail(edit: Option<&EditFacts>) -> Option<(String, Json)> {
    edit.map(|edit| ("dataset_version".to_owned(), edit.version.into()))
}

/// Returns the fingerprint of the version that an edit makes of another one.
pub(crate) fn fingerprint(base: &str, id: [u8; 16]) -> [u8; 16] {
    let mut hash = Xxh3::new();
    hash.update(b"fdconvert edit 1\n");
    hash.update(base.as_bytes());
    hash.update(&id);
    hash.digest128().to_be_bytes()
}

/// The folder with files of the version of that fingerprint that have not come to their names.
pub(crate) fn stage(out: &Path, fingerprint: &str) -> PathBuf {
    out.join(RECORDS).join(format!("{STAGE}{fingerprint}"))
}

/// The folder of a version that is no longer the current one.
fn kept(out: &Path, version: u64) -> PathBuf {
    out.join(RECORDS).join(KEPT).join(version.to_string())
}

const STAGE: &str = "edit-";
const KEPT: &str = "versions";
/// In a stage: what is left to do after the commit.
const TODO: &str = "edit.json";
