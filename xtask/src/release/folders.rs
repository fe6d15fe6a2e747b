//! Folders and the files in them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::failure::{Context, Result, fail};

pub(super) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))
}

pub(super) fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).context(format_args!("cannot copy {}", from.display()))
}

/// The names of the files in a folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).context(format_args!("{}", folder.display()))?;
    let entries = entries.collect::<std::result::Result<Vec<_>, _>>();
    let entries = entries.context(format_args!("{}", folder.display()))?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// The one file in a folder.
pub(super) fn only_file(folder: &Path) -> Result<PathBuf> {
    match &names(folder)?[..] {
        [name] => Ok(folder.join(name)),
        other => fail(format!("{} holds {} files, not one", folder.display(), other.len())),
    }
}
