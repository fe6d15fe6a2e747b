//! Renames a file to its final name.
use crate::{place::is_url, store};
use fdconvert_core::{Error, Result};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{fs, io, os::unix::fs::FileTypeExt, path::Path};

/// Replaces an existing file or link, but nothing else.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<()> {
    refuse_unwritable(to)?;
    fs::rename(from, to).map_err(Error::io("rename into place", to))
}

/// Fails if something has the name.
pub(crate) fn keep(from: &Path, to: &Path) -> Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Error::exists("output", to)),
        // A file system that cannot do both atomically: check, then rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(Error::exists("output", to)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => replace(from, to),
            Err(cause) => Err(Error::io("access", to)(cause)),
        },
        Err(cause) => Err(Error::io("rename into place", to)(cause.into())),
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
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    let what = format!("{} is {what}, which is not replaced; name another output", path.display());
    Err(Error::usage("output", what))
}
