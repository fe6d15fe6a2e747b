//! Edits of datasets of shards: what all formats have in common. [`Format::version`] and
//! [`Format::edit`] are the steps of one.
//!
//! [`Format::version`]: fdconvert_core::Format::version
//! [`Format::edit`]: fdconvert_core::Format::edit
use crate::shards::{
    manifest::NAME,
    versions::{self, recover, remove_stages},
};
use fdconvert_core::{LogEntry, Result};
use fdconvert_storage::{fingerprint_hex, place};
use std::path::{Path, PathBuf};

/// The manifests of datasets that can be edited.
const MANIFESTS: [&str; 3] = [NAME, "fdconvert-mixed.json", "_fdconvert.json"];

/// Returns the folder in which the new shards of an edit are staged: of the dataset `out`, with the
/// fingerprint `base`, by the edit of that identity.
#[must_use]
pub fn stage(out: &Path, base: &str, id: [u8; 16]) -> PathBuf {
    versions::stage(out, &fingerprint_hex(versions::fingerprint(base, id)))
}

/// Returns the log of a dataset, oldest version first; empty if it was never edited.
///
/// # Errors
/// `Corrupt`, `Io`.
pub fn log(out: &Path) -> Result<Vec<LogEntry>> {
    versions::read_log(out)
}

/// Returns the numbers of the versions of a dataset that can be opened, ascending, but for the
/// current one.
///
/// # Errors
/// `Io`.
pub fn kept(out: &Path) -> Result<Vec<u64>> {
    versions::kept_numbers(out)
}

/// Completes an edit that was interrupted behind its commit; returns true if there was one.
///
/// # Errors
/// `Corrupt`, `Io`.
pub fn complete(out: &Path) -> Result<bool> {
    match manifest_of(out)? {
        Some(manifest) => recover(out, manifest),
        None => Ok(false),
    }
}

/// Lists what interrupted edits of a dataset have left before their commits, without running ones;
/// unless `dry`, removes it. In a store all are listed: nothing there tells whether one is running.
///
/// # Errors
/// `Io`.
pub fn leftovers(out: &Path, dry: bool) -> Result<Vec<PathBuf>> {
    match manifest_of(out)? {
        Some(manifest) => remove_stages(out, manifest, dry),
        None => Ok(Vec::new()),
    }
}

fn manifest_of(out: &Path) -> Result<Option<&'static str>> {
    for manifest in MANIFESTS {
        if place::exists(&out.join(manifest))? {
            return Ok(Some(manifest));
        }
    }
    Ok(None)
}
