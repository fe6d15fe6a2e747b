use crate::{opening, os::FileExt as _, place::is_url, read_file, sigbus::Mapping};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use memmap2::Mmap;
use std::{
    fmt,
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use xxhash_rust::xxh3::Xxh3Default;

/// Maps a whole file for reading. Slices of the result are free and keep the map alive; an empty
/// file gives empty bytes. The file is opened read-only.
///
/// No program can rule out that another process truncates a file while it is mapped, so that is the
/// operator's duty: access beyond the new end then raises SIGBUS, as in every program that maps
/// files; so does an unreadable page. Within [`sigbus::caught`](crate::sigbus::caught) that is an
/// error. fdconvert itself never truncates a mapped file: it writes datasets once, under another
/// name, and renames them when complete (see [`Scratch`](crate::Scratch)).
///
/// # Errors
/// `Io` when the file cannot be opened or mapped, or is not a regular file.
pub fn map(path: &Path) -> Result<Bytes> {
    crate::fault::on_read(path, 0).map_err(Error::io("map", path))?;
    map_open(&opening::open(path).map_err(Error::io("open", path))?, path)
}

/// Maps an open file, such as an unnamed one; messages call it `path`. See [`map`].
///
/// # Errors
/// `Io` when the file cannot be mapped, or is not a regular file.
pub fn map_open(file: &File, path: &Path) -> Result<Bytes> {
    let metadata = file.metadata().map_err(Error::io("access", path))?;
    if !metadata.is_file() {
        let cause = io::Error::other("it is not a regular file");
        return Err(Error::io("map", path)(cause));
    }
    if metadata.len() == 0 {
        return Ok(Bytes::new());
    }
    Ok(Bytes::from_owner(mapping_of(file, path)?))
}

/// Maps an open regular file that is not empty.
fn mapping_of(file: &File, path: &Path) -> Result<Mapping> {
    // SAFETY: the mapping is private to its `Bytes`, read-only, and lives as long as any slice of
    // it. Its contents can change only if another process writes to the file in place, which the
    // function's contract makes the operator's duty (as `memmap2` documents it); no code of this
    // workspace writes to a file under its final name, or to one that it has mapped.
    #[allow(unsafe_code)]
    let mapping = unsafe { Mmap::map(file) }.map_err(Error::io("map", path))?;
    Mapping::new(mapping, file, path).map_err(Error::io("map", path))
}

/// A large text that is read from its start to its end, or in pieces: a mapped file whose pages are
/// given back to the system while they are used, so that it takes little memory.
#[derive(Clone)]
pub struct LargeText {
    bytes: Bytes,
    /// The map, and its file: pieces at random places are read from that, because each page of a
    /// map that is touched brings its neighbours with it.
    mapping: Option<Arc<(Mapping, File)>>,
    used: Arc<AtomicUsize>,
}

/// Bytes after whose use pages are given back.
const GIVE_BACK: usize = 32 << 20;

impl LargeText {
    /// Maps a file of at most `max_bytes`; an object is read. See [`map`].
    ///
    /// # Errors
    /// As for [`read_file`] and [`map`].
    pub fn open(path: &Path, max_bytes: u64) -> Result<Self> {
        if is_url(path) {
            return read_file(path, max_bytes).map(Self::from);
        }
        let file = opening::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("access", path))?;
        if !metadata.is_file() || metadata.len() <= GIVE_BACK as u64 || metadata.len() > max_bytes {
            return read_file(path, max_bytes).map(Self::from);
        }
        let mapping = Arc::new((mapping_of(&file, path)?, file));
        let bytes = Bytes::from_owner(Owner(Arc::clone(&mapping)));
        Ok(Self { bytes, mapping: Some(mapping), used: Arc::default() })
    }

    /// Returns the whole text.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns a piece of the text, perhaps in `buffer`; `None` beyond its end.
    ///
    /// # Errors
    /// The system's error.
    pub fn piece<'a>(
        &'a self,
        start: u64,
        len: usize,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<Option<&'a [u8]>> {
        let at = usize::try_from(start).unwrap_or(usize::MAX);
        let Some(end) = at.checked_add(len).filter(|end| *end <= self.bytes.len()) else {
            return Ok(None);
        };
        let Some(mapping) = &self.mapping else {
            return Ok(self.bytes.get(at..end));
        };
        buffer.resize(len, 0);
        mapping.1.read_exact_at(buffer, start)?;
        Ok(Some(buffer))
    }

    /// Hashes the text.
    #[must_use]
    pub fn hash(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        for piece in self.bytes.chunks(1 << 20) {
            hash.update(piece);
            self.used(piece.len());
        }
        hash.digest128()
    }

    /// Counts bytes that were read and are not needed soon.
    pub fn used(&self, n_bytes: usize) {
        let Some(mapping) = &self.mapping else { return };
        if self.used.fetch_add(n_bytes, Ordering::Relaxed) % GIVE_BACK + n_bytes >= GIVE_BACK {
            mapping.0.release();
        }
    }
}

impl From<Bytes> for LargeText {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, mapping: None, used: Arc::default() }
    }
}

impl fmt::Debug for LargeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LargeText of {} bytes", self.bytes.len())
    }
}

impl PartialEq for LargeText {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

struct Owner(Arc<(Mapping, File)>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.0.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_files_and_refuses_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(map(&path).unwrap().slice(1..), &b"bc"[..]);
        std::fs::write(&path, b"").unwrap();
        assert!(map(&path).unwrap().is_empty());
        assert!(map(folder.path()).is_err());
        assert!(map(&folder.path().join("missing")).is_err());
    }
}
