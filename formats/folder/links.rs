//! What symbolic links lead to.
use fdconvert_core::{Error, Result};
use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// ELOOP: links lead in a circle.
const TOO_MANY_LINKS: i32 = 40;

/// Target of a link, with all links on the way followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Nothing, or nothing within reach.
    Nowhere,
    /// No folder.
    File {
        /// Its resolved path.
        path: Vec<u8>,
        /// True if it is a regular file.
        is_regular: bool,
    },
    /// A folder, and where it really is.
    Folder(Vec<u8>),
}

impl Target {
    /// Returns what a link leads to, if that lies in `within`.
    pub(crate) fn of(link: &Path, within: Option<&Path>) -> Result<Self> {
        let is_reachable =
            |target: &PathBuf| within.is_none_or(|within| target.starts_with(within));
        let target = look(link, fs::canonicalize(link))?.filter(is_reachable);
        let Some(target) = target else { return Ok(Self::Nowhere) };
        let Some(metadata) = look(&target, fs::metadata(&target))? else {
            return Ok(Self::Nowhere);
        };
        let path = target.into_os_string().as_bytes().to_vec();
        Ok(match metadata.is_dir() {
            true => Self::Folder(path),
            false => Self::File { path, is_regular: metadata.is_file() },
        })
    }
}

/// Returns what a link leads to, `None` where that is nothing. Any other failure would change what
/// is packed without a word, so it is an error.
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
