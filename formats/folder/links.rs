//! Resolution of symbolic links.
use fdconvert_core::{Error, Result};
use fdconvert_storage::os::{TOO_MANY_LINKS, slashed};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Target of a link, after following all links on the way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Nothing, or nothing within reach.
    Nowhere,
    /// Not a folder.
    File {
        /// Its resolved path.
        path: Vec<u8>,
        is_regular: bool,
    },
    /// A folder, with its resolved path.
    Folder(Vec<u8>),
}

impl Target {
    /// Resolves a link, if the target is inside `within`.
    pub(crate) fn of(link: &Path, within: Option<&Path>) -> Result<Self> {
        let is_reachable =
            |target: &PathBuf| within.is_none_or(|within| target.starts_with(within));
        let target = look(link, fs::canonicalize(link))?.filter(is_reachable);
        let Some(target) = target else { return Ok(Self::Nowhere) };
        let Some(metadata) = look(&target, fs::metadata(&target))? else {
            return Ok(Self::Nowhere);
        };
        let path = slashed(&target).into_owned();
        Ok(match metadata.is_dir() {
            true => Self::Folder(path),
            false => Self::File { path, is_regular: metadata.is_file() },
        })
    }
}

/// Returns the result of resolving a link; `None` if the target is missing. Any other failure would
/// silently change the packed dataset, so it is an error.
fn look<T>(link: &Path, looked: io::Result<T>) -> Result<Option<T>> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(cause) => match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ if cause.raw_os_error() == Some(TOO_MANY_LINKS) => Ok(None),
            _ => Err(Error::io("access", link)(cause)),
        },
    }
}
