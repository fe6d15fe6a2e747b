//! Resolves paths to files and folders, local or in a store.
//!
//! A path that begins like a URL (`s3://`) means an object. Only this module knows: formats call
//! it, and join paths as usual. The URL determines the store and the origin of its credentials:
//!
//! | URL | store | credentials |
//! |---|---|---|
//! | `s3://BUCKET/KEY` | Amazon S3 and compatible services | `AWS_*`, `~/.aws` (`AWS_PROFILE`), the machine's role |
//! | `gs://BUCKET/KEY` | Google Cloud Storage | `GOOGLE_*`, `gcloud auth application-default login`, the machine's account |
//! | `az://CONTAINER/KEY` | Azure Blob Storage | `AZURE_*`, the machine's identity |
//! | `https://HOST/PATH` | any server with range requests; read only | none |
//! | `hf://datasets/OWNER/NAME[@REVISION]/PATH` | Hugging Face; read only | `HF_TOKEN`, `hf auth login` |
#[cfg(feature = "write")]
mod change;

use crate::store;
pub use crate::store::{
    RequestsStopped, set_options as set_store_options, stop_requests, totals as store_totals,
};
use bytes::Bytes;
#[cfg(feature = "write")]
pub use change::{abort_unfinished, exists, keep_as, put_new, remove, rename_to, swap};
use fdconvert_core::{Error, Result};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Kind of a path's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, or an object.
    File,
    /// A folder.
    Folder,
    /// Something without data: a pipe, a device.
    Other,
}

/// Returns true if a path is a URL. A folder with a name like one can be given with a leading `./`.
#[must_use]
pub fn is_url(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let scheme = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    scheme > 0 && bytes.get(scheme..).is_some_and(|rest| rest.starts_with(b"://"))
}

/// Returns the kind of a path's target, following links; `None` if nothing exists.
///
/// # Errors
/// `Io` when that cannot be determined.
pub fn look(path: &Path) -> Result<Option<Kind>> {
    if is_url(path) {
        return store::look(path);
    }
    match fs::metadata(path) {
        Ok(found) => Ok(Some(kind_of(found.file_type()))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::io("open", path)(cause)),
    }
}

/// Returns the kind of a path's target, which must exist.
///
/// # Errors
/// `Io`, also when nothing exists.
pub fn look_at(path: &Path) -> Result<Kind> {
    if !is_url(path) {
        // With the system's error message and number.
        let found = fs::metadata(path).map_err(Error::io("open", path))?;
        return Ok(kind_of(found.file_type()));
    }
    let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no such file or folder");
    look(path)?.ok_or_else(|| Error::io("open", path)(missing()))
}

/// Returns true if a path leads to a file; false if that cannot be determined.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    matches!(look(path), Ok(Some(Kind::File)))
}

/// Returns true if a path leads to a folder; false if that cannot be determined.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    matches!(look(path), Ok(Some(Kind::Folder)))
}

/// Lists the paths in a folder, sorted, with the kind of each target. Links that cannot be followed
/// are omitted.
///
/// # Errors
/// `Io`.
pub fn list(folder: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    if is_url(folder) {
        return store::list(folder);
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let path = entry.path();
        // The listing has the type of most entries, which saves a million `stat` calls in a folder
        // of a million images.
        let kind = match entry.file_type() {
            Ok(found) if !found.is_symlink() => Some(kind_of(found)),
            _ => fs::metadata(&path).ok().map(|found| kind_of(found.file_type())),
        };
        entries.extend(kind.map(|kind| (path, kind)));
    }
    // By bytes: all have the same parent, and comparing paths would split them each time.
    entries.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    Ok(entries)
}

/// Lists the folders in a folder, sorted by name.
///
/// # Errors
/// Those of [`list`].
pub fn list_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = list(folder)?.into_iter().filter(|(_, kind)| *kind == Kind::Folder);
    Ok(entries.map(|(path, _)| path).collect())
}

/// An object below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Relative to the folder.
    pub path: Vec<u8>,
    /// The number of the direct subfolder that contains it, at any depth; `None` if it is directly
    /// in the folder. Objects with the same number arrive sorted by path bytes.
    pub within: Option<u32>,
    /// Bytes.
    pub len: u64,
    /// Changes when the object is written again.
    pub tag: u64,
}

/// Passes all objects at any depth below a folder of a store to `take`, in no order.
///
/// # Errors
/// `Usage` for a path without a store; `Io`, also for servers that cannot list; those of `take`.
pub fn list_below(folder: &Path, take: &mut dyn FnMut(Below) -> Result<()>) -> Result<()> {
    if is_url(folder) {
        return store::list_below(folder, take);
    }
    Err(Error::usage("location", format!("{} is not in a store", folder.display())))
}

/// Lists the files at any depth below a folder, sorted: their paths in it, with `/` between folders.
/// Empty if the folder does not exist. Links, and names that are not UTF-8, are left out.
///
/// # Errors
/// `Io`, also for servers that cannot list.
pub fn files_below(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    if is_url(folder) {
        list_below(folder, &mut |found| {
            files.extend(String::from_utf8(found.path));
            Ok(())
        })?;
    } else {
        add_files_below(folder, "", &mut files)?;
    }
    files.sort_unstable();
    Ok(files)
}

fn add_files_below(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if is_missing(&cause) => return Ok(()),
        Err(cause) => return Err(Error::io("list", folder)(cause)),
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("list", folder))?;
        let kind = entry.file_type().map_err(Error::io("list", folder))?;
        let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
            continue;
        };
        if kind.is_dir() {
            add_files_below(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.push(name);
        }
    }
    Ok(())
}

/// Describes the objects with unreadable names that were omitted from the lists of a store, at or
/// below a URL; `None` if there were none.
#[must_use]
pub fn left_out(path: &Path) -> Option<String> {
    if is_url(path) { store::left_out(path) } else { None }
}

/// Returns the length of a file, following links, or of an object; `None` if it does not exist.
///
/// # Errors
/// `Io` when that cannot be determined.
pub fn file_len(path: &Path) -> Result<Option<u64>> {
    if is_url(path) {
        return Ok(store::stat(path)?.map(|found| found.len));
    }
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file().then_some(found.len())),
        Err(cause) if is_missing(&cause) => Ok(None),
        Err(cause) => Err(Error::io("access", path)(cause)),
    }
}

/// Reads the first bytes of a file, at most `n_bytes`: fewer if it is shorter.
///
/// # Errors
/// `Io`, also when it is not a regular file.
pub fn read_start(path: &Path, n_bytes: usize) -> Result<Bytes> {
    if is_url(path) {
        return store::read_start(path, n_bytes as u64);
    }
    let file = crate::opening::open(path).map_err(Error::io("open", path))?;
    if !file.metadata().map_err(Error::io("access", path))?.is_file() {
        let cause = io::Error::other("it is not a regular file");
        return Err(Error::io("read", path)(cause));
    }
    let mut start = Vec::with_capacity(n_bytes);
    let read = file.take(n_bytes as u64).read_to_end(&mut start);
    read.map_err(Error::io("read", path))?;
    Ok(start.into())
}

/// Reads a whole file: mapped, or copied from its store into memory. For files that are needed as a
/// whole, such as an index.
///
/// # Errors
/// `Io`.
pub fn whole(path: &Path) -> Result<Bytes> {
    if is_url(path) { store::read(path, u64::MAX) } else { crate::map(path) }
}

/// Returns true if an object has the length `len`, if given, and the mark of the run of that
/// fingerprint: then it is complete, because stores have no half-written objects, and has the bytes
/// that this run writes. `None` for files, which have no marks.
///
/// # Errors
/// `Io`.
pub fn is_object_of_run(path: &Path, len: Option<u64>, fingerprint: &str) -> Result<Option<bool>> {
    if !is_url(path) {
        return Ok(None);
    }
    Ok(Some(store::stat(path)?.is_some_and(|found| {
        len.is_none_or(|len| found.len == len) && found.mark.as_deref() == Some(fingerprint)
    })))
}

/// Returns true if something has the name that is not an object of the run of that fingerprint. A
/// file always is foreign: a record or a claim decides whose it is.
///
/// # Errors
/// `Io`.
#[cfg(feature = "write")]
pub fn is_foreign(path: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    if !is_url(path) {
        return exists(path);
    }
    let mark = crate::fingerprint_hex(fingerprint);
    Ok(store::stat(path)?.is_some_and(|found| found.mark != Some(mark)))
}

/// Totals of all requests to stores since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreTotals {
    /// Number of requests; retries are not counted.
    pub requests: u64,
    /// Bytes of objects received.
    pub bytes: u64,
    /// Bytes among them from gaps between ranges that were fetched together.
    pub over_fetched_bytes: u64,
}

fn is_missing(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn kind_of(found: fs::FileType) -> Kind {
    match (found.is_dir(), found.is_file()) {
        (true, _) => Kind::Folder,
        (_, true) => Kind::File,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("b"), b"xyz").unwrap();
        fs::create_dir(path("a")).unwrap();
        crate::os::symlink("nowhere", path("c")).unwrap();
        crate::os::symlink("b", path("d")).unwrap();
        crate::os::symlink("e", path("e")).unwrap();
        let file = Kind::File;
        let entries = [(path("a"), Kind::Folder), (path("b"), file), (path("d"), file)];
        assert_eq!(list(folder.path()).unwrap(), entries);
        assert_eq!(list_folders(folder.path()).unwrap(), [path("a")]);
        assert_eq!(look(&path("b")).unwrap(), Some(file));
        assert_eq!(look(&path("c")).unwrap(), None);
        assert!(is_folder(&path("a")) && !is_file(&path("a")) && is_file(&path("b")));
        assert!(look_at(&path("c")).unwrap_err().chain().contains("No such file"));
        assert_eq!(read_start(&path("b"), 2).unwrap(), &b"xy"[..]);
        assert_eq!(read_start(&path("b"), 9).unwrap(), &b"xyz"[..]);
        assert!(read_start(folder.path(), 1).is_err());
        assert_eq!(whole(&path("b")).unwrap(), &b"xyz"[..]);
    }

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["s3://b/k", "https://h", "hf://datasets/o/n"] {
            assert!(is_url(Path::new(url)), "{url}");
        }
        for path in ["./s3://b", "s3:/b", "://x", "a b://c", "/s3://b", "fractal:ofdb?classes=3"] {
            assert!(!is_url(Path::new(path)), "{path}");
        }
    }
}
