//! Giving a file its final name.
use fdconvert_core::{Error, Result};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{fs, io, path::Path};

/// Replaces what has the name.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io("rename into place", to))
}

/// Keeps what has the name, which is then an error.
pub(crate) fn keep(from: &Path, to: &Path) -> Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(exists(to)),
        // A file system that cannot do both in one step: look, then rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(exists(to)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => replace(from, to),
            Err(cause) => Err(Error::io("look at", to)(cause)),
        },
        Err(cause) => Err(Error::io("rename into place", to)(cause.into())),
    }
}

/// The refusal of a name that is taken.
pub(crate) fn exists(path: &Path) -> Error {
    Error::exists("output", path)
}
