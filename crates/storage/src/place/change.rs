//! Checks, removal and creation of output names.
use super::{is_missing, is_url};
use crate::{create_new, store};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Returns true if anything has the name, even a broken link. For an object this always asks the
/// store, even if it was asked a moment ago.
///
/// # Errors
/// `Io` when that cannot be determined.
pub fn exists(path: &Path) -> Result<bool> {
    if is_url(path) {
        return Ok(store::stat(path)?.is_some());
    }
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(cause) if is_missing(&cause) => Ok(false),
        Err(cause) => Err(Error::io("access", path)(cause)),
    }
}

/// Removes a file or an object, if it exists.
///
/// # Errors
/// `Io`.
pub fn remove(path: &Path) -> Result<()> {
    if is_url(path) {
        return store::delete(path);
    }
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}

/// Aborts unfinished uploads of any tool to objects at or below a URL that started at least
/// `older_than` ago; with `dry` only lists them. Returns the objects' URLs.
///
/// # Errors
/// `Usage` for a path without a store, and for stores other than S3; `Io`.
pub fn abort_unfinished(path: &Path, older_than: Duration, dry: bool) -> Result<Vec<PathBuf>> {
    if is_url(path) {
        return store::abort_unfinished(path, older_than, dry);
    }
    let what = format!(
        "{} is not in a store: what a killed run has left of files ends in .partial",
        path.display()
    );
    Err(Error::usage("OUT", what))
}

/// Writes a small file or object with these bytes, unless something has the name; returns whether
/// it was written, or an object with these bytes existed.
///
/// # Errors
/// `Io`.
pub fn put_new(path: &Path, bytes: &[u8]) -> Result<bool> {
    if is_url(path) {
        return store::put_new(path, &Bytes::copy_from_slice(bytes));
    }
    match create_new(path, bytes) {
        Ok(()) => Ok(true),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
