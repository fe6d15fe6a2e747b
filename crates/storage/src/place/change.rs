//! Checks, removal and creation of output names.
use super::{is_missing, is_url};
use crate::{Scratch, create_new, fault, partial_path, read_if_there, rename, replace, store};
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

/// Gives a complete file another name in its file system, or an object another key in its store,
/// and replaces what has it; returns false if there is no such file. Not durable before the folder
/// is [synced](crate::sync_folder_of).
///
/// # Errors
/// `Usage` for a name that something other than a file has, `Io`.
pub fn rename_to(from: &Path, to: &Path) -> Result<bool> {
    if is_url(from) {
        let is_copied = store::copy(from, to)?;
        if is_copied {
            store::delete(from)?;
        }
        return Ok(is_copied);
    }
    fault::on_write(to, 0).map_err(Error::io("rename into place", to))?;
    if !exists(from)? {
        return Ok(false);
    }
    rename::replace(from, to).map(|()| true)
}

/// Gives the contents of a complete file a second name, which stays when the first one is replaced:
/// a hard link where the file system has them, else a copy. Does nothing if there is no such file,
/// or the name is taken.
///
/// # Errors
/// `Io`.
pub fn keep_as(from: &Path, to: &Path) -> Result<()> {
    if is_url(from) {
        return if exists(to)? { Ok(()) } else { store::copy(from, to).map(|_| ()) };
    }
    if exists(to)? || !exists(from)? {
        return Ok(());
    }
    fault::on_write(to, 0).map_err(Error::io("link", to))?;
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let scratch = Scratch::open(&partial_path(to))?;
    scratch.own();
    fs::copy(from, scratch.path()).map_err(Error::io("copy", from))?;
    scratch.commit(to, true)
}

/// Replaces a small file that has the bytes `old`; returns false if it has others by then, which
/// stay. A store compares by itself; of files the caller holds a lock that all writers take.
///
/// # Errors
/// As for [`replace`].
pub fn swap(path: &Path, old: &[u8], new: &[u8]) -> Result<bool> {
    if is_url(path) {
        return store::swap(path, old, Bytes::copy_from_slice(new));
    }
    if read_if_there(path, u64::MAX)?.is_none_or(|found| found != old) {
        return Ok(false);
    }
    replace(path, new).map(|()| true)
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
