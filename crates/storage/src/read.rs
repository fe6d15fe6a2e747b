use crate::{opening, place::is_url, store};
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
#[cfg(all(unix, feature = "write"))]
use rustix::buffer::spare_capacity;
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::Path,
};
use xxhash_rust::xxh3::Xxh3Default;

/// Reads a whole file or object of at most `max_bytes`.
///
/// The buffer is sized by `fstat` after opening: if the file grows meanwhile only that part is
/// read, if it shrinks the rest is returned.
///
/// # Errors
/// `Io` when it cannot be opened or read, or is not a regular file; `Limit` when it is larger than
/// `max_bytes` (the option `max_file_bytes`).
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Bytes> {
    if is_url(path) {
        return store::read(path, max_bytes);
    }
    let file = opening::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("access", path))?;
    if !metadata.is_file() {
        let cause = io::Error::other("it is not a regular file");
        return Err(Error::io("read", path)(cause));
    }
    let len = metadata.len();
    if len > max_bytes {
        return Err(Error::Limit {
            what: format!("the size of {}", path.display()),
            asked: len,
            most: max_bytes,
            option: option::MAX_FILE_BYTES,
        });
    }
    crate::fault::on_read(path, len).map_err(Error::io("read", path))?;
    let bytes = first_bytes(file, len).map_err(Error::io("read", path))?;
    Ok(bytes.into())
}

/// Reads at most the first `n_bytes` of a file on this machine; `None` if no file has that name.
///
/// # Errors
/// `Io` when it cannot be opened or read, or is not a regular file.
pub fn read_start(path: &Path, n_bytes: u64) -> Result<Option<Bytes>> {
    let file = match opening::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io("open", path)(cause)),
    };
    let metadata = file.metadata().map_err(Error::io("access", path))?;
    if !metadata.is_file() {
        let cause = io::Error::other("it is not a regular file");
        return Err(Error::io("read", path)(cause));
    }
    let len = metadata.len().min(n_bytes);
    crate::fault::on_read(path, len).map_err(Error::io("read", path))?;
    let bytes = first_bytes(file, len).map_err(Error::io("read", path))?;
    Ok(Some(bytes.into()))
}

/// Reads the first `len` bytes of a file, or all, into uninitialised memory: for images that saves
/// one of three writes to memory.
fn first_bytes(file: File, len: u64) -> io::Result<Vec<u8>> {
    let n_bytes = usize::try_from(len).unwrap_or(0);
    let mut bytes = Vec::with_capacity(n_bytes);
    // Usually everything in one read: the loop below starts with 8 KiB.
    #[cfg(all(unix, feature = "write"))]
    if n_bytes > 0 {
        rustix::io::retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut bytes)))?;
        bytes.truncate(n_bytes);
    }
    let left = len - bytes.len() as u64;
    file.take(left).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Like [`read_file`]; `None` if no file has that name.
///
/// # Errors
/// Those of [`read_file`].
pub fn read_if_there(path: &Path, max_bytes: u64) -> Result<Option<Bytes>> {
    if is_url(path) {
        return store::read_if_there(path, max_bytes);
    }
    match read_file(path, max_bytes) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Returns the name of a file or folder; `None` for the root.
///
/// # Errors
/// `Io` when a path without a name, such as `.`, does not exist.
pub fn name_of(path: &Path) -> Result<Option<String>> {
    let name = match path.file_name() {
        Some(name) => Some(name.to_owned()),
        // `.` and `..` have names only after resolution.
        None => {
            let real = path.canonicalize().map_err(Error::io("open", path))?;
            real.file_name().map(ToOwned::to_owned)
        }
    };
    Ok(name.map(|name| name.to_string_lossy().into_owned()))
}

const HASH_BLOCK: usize = 4 << 20;

/// Returns length and XXH3 (64 bits, seed 0) of a whole file, in one pass.
///
/// # Errors
/// `Io`, also when it is not a regular file.
pub fn hash_file(path: &Path) -> Result<(u64, u64)> {
    let mut file = opening::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("access", path))?;
    if !metadata.is_file() {
        let cause = io::Error::other("it is not a regular file");
        return Err(Error::io("read", path)(cause));
    }
    crate::fault::on_read(path, metadata.len()).map_err(Error::io("read", path))?;
    let size = usize::try_from(metadata.len()).unwrap_or(HASH_BLOCK).clamp(1, HASH_BLOCK);
    let (mut block, mut hash, mut len) = (vec![0; size], Xxh3Default::new(), 0);
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok((len, hash.digest())),
            Ok(n) => {
                hash.update(block.get(..n).unwrap_or_default());
                len += n as u64;
            }
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(Error::io("read", path)(cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{self, Operation};

    #[test]
    fn reads_up_to_the_limit_and_reports_failures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read_file(&path, 3).unwrap(), &b"abc"[..]);
        assert!(matches!(read_file(&path, 2), Err(Error::Limit { asked: 3, .. })));
        let _armed = fault::arm(folder.path(), Operation::Read, 2, ErrorKind::Other);
        assert!(matches!(read_file(&path, 3), Err(Error::Io { action: "read", .. })));
    }
}
