//! Renames a file to its final name.
use crate::{
    os::{is_pipe, is_socket, rename_new},
    place::is_url,
    store,
};
use fdconvert_core::{Error, Result};
use std::{fs, io, path::Path};

/// Replaces an existing file or link, but nothing else.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<()> {
    refuse_unwritable(to)?;
    fs::rename(from, to).map_err(Error::io("rename into place", to))
}

/// Fails if something has the name.
pub(crate) fn keep(from: &Path, to: &Path) -> Result<()> {
    match rename_new(from, to) {
        Some(Ok(())) => Ok(()),
        Some(Err(cause)) if cause.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::exists("output", to))
        }
        Some(Err(cause)) => Err(Error::io("rename into place", to)(cause)),
        // A file system that cannot do both atomically: check, then rename.
        None => match fs::symlink_metadata(to) {
            Ok(_) => Err(Error::exists("output", to)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => replace(from, to),
            Err(cause) => Err(Error::io("access", to)(cause)),
        },
    }
}

/// Refuses an output in a store that is only read, whatever the user's permissions, and special
/// files: a device or a pipe belongs to others, and may be `/dev/null`. The system refuses folders,
/// and replaces a link rather than its target.
///
/// # Errors
/// `Usage`.
pub fn refuse_unwritable(path: &Path) -> Result<()> {
    if is_url(path) {
        return store::refuse_read_only(path);
    }
    // If this fails, writing fails as well.
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let kind = found.file_type();
    if kind.is_file() || kind.is_symlink() || kind.is_dir() {
        return Ok(());
    }
    let what = match kind {
        _ if is_pipe(kind) => "a pipe",
        _ if is_socket(kind) => "a socket",
        _ => "a device",
    };
    let what = format!("{} is {what}, which is not replaced; name another output", path.display());
    Err(Error::usage("output", what))
}
