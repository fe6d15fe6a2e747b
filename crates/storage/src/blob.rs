//! Random access to the bytes of a file or of an object.
use crate::{place::is_url, store::Object};
use bytes::Bytes;
use fdconvert_core::{Ahead, Error, Result};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// Bytes to read by ranges: of a mapped file, which costs nothing, or of an object in a store,
/// where each range is a request. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Blob(Place);

#[derive(Debug, Clone)]
enum Place {
    Here(Bytes),
    Away(Arc<Object>),
    /// An object that may be replaced, and then has its bytes elsewhere.
    Kept(Arc<Kept>),
}

#[derive(Debug)]
struct Kept {
    object: Arc<Object>,
    elsewhere: Vec<PathBuf>,
    /// The other object, once the first one was replaced.
    moved: OnceLock<Arc<Object>>,
}

impl Kept {
    fn object(&self) -> &Arc<Object> {
        self.moved.get().unwrap_or(&self.object)
    }

    fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let error = match self.object().read(offset, len) {
            Err(error) if self.moved.get().is_none() && is_replaced(&error) => error,
            read => return read,
        };
        for path in &self.elsewhere {
            let Ok(object) = Object::with_len(path, self.object.len()) else { continue };
            if let Ok(bytes) = object.read(offset, len) {
                let _ = self.moved.set(Arc::new(object));
                return Ok(bytes);
            }
        }
        Err(error)
    }
}

/// Returns true if an object is gone, or is another one.
fn is_replaced(error: &Error) -> bool {
    let kinds = [ErrorKind::NotFound, ErrorKind::Other];
    matches!(error, Error::Io { source, .. } if kinds.contains(&source.kind()))
}

impl Blob {
    /// Maps a file, or requests the length of an object.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: &Path) -> Result<Self> {
        if is_url(path) {
            return Ok(Self(Place::Away(Arc::new(Object::open(path)?))));
        }
        Ok(Self(Place::Here(crate::map(path)?)))
    }

    /// Like [`open`](Self::open), for an object with a length known from a manifest: the first read
    /// is the first request. A file is mapped, whatever `len` says.
    ///
    /// # Errors
    /// `Io`.
    pub fn open_with_len(path: &Path, len: u64) -> Result<Self> {
        if is_url(path) {
            return Ok(Self(Place::Away(Arc::new(Object::with_len(path, len)?))));
        }
        Self::open(path)
    }

    /// Reads an object that was replaced since it was opened from the first of these that has its
    /// length, instead of failing. Files need that not: their map stays.
    #[must_use]
    pub fn or_elsewhere(self, elsewhere: Vec<PathBuf>) -> Self {
        match self.0 {
            Place::Away(object) if !elsewhere.is_empty() => {
                let moved = OnceLock::new();
                Self(Place::Kept(Arc::new(Kept { object, elsewhere, moved })))
            }
            _ => self,
        }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Place::Here(bytes) => bytes.len() as u64,
            Place::Away(object) => object.len(),
            Place::Kept(kept) => kept.object.len(),
        }
    }

    /// Returns true if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all bytes, if they are in memory or mapped.
    #[must_use]
    pub fn here(&self) -> Option<&Bytes> {
        match &self.0 {
            Place::Here(bytes) => Some(bytes),
            Place::Away(_) | Place::Kept(_) => None,
        }
    }

    /// Reads exactly `len` bytes from `offset` on; `None` if they are out of bounds.
    ///
    /// # Errors
    /// `Io`, from a store.
    #[inline]
    pub fn read(&self, offset: u64, len: u64) -> Result<Option<Bytes>> {
        match &self.0 {
            Place::Here(bytes) => Ok(slice(bytes, offset, len)),
            Place::Away(object) => match offset.checked_add(len) {
                Some(end) if end <= object.len() => object.read(offset, len).map(Some),
                _ => Ok(None),
            },
            Place::Kept(kept) => match offset.checked_add(len) {
                Some(end) if end <= kept.object.len() => kept.read(offset, len).map(Some),
                _ => Ok(None),
            },
        }
    }

    /// Announces ranges (offset and length) that will be read soon. For an object they are fetched,
    /// nearby ones together, and kept until the result is dropped; for a file nothing happens.
    pub fn read_ahead(&self, ranges: impl IntoIterator<Item = (u64, u64)>) -> Ahead {
        match &self.0 {
            Place::Here(_) => {
                drop(ranges);
                Ahead::default()
            }
            Place::Away(object) => held(object.announce(ranges)),
            Place::Kept(kept) => held(kept.object().announce(ranges)),
        }
    }

    /// Returns all bytes. An object is copied to an unnamed file, which is gone with the last slice
    /// of the result. For data that has to be read sequentially.
    ///
    /// # Errors
    /// `Io`.
    pub fn whole(&self) -> Result<Bytes> {
        match &self.0 {
            Place::Here(bytes) => Ok(bytes.clone()),
            Place::Away(object) => object.whole(),
            Place::Kept(kept) => kept.object().whole(),
        }
    }
}

impl From<Bytes> for Blob {
    fn from(bytes: Bytes) -> Self {
        Self(Place::Here(bytes))
    }
}

fn held(announced: impl Send + Sync + 'static) -> Ahead {
    let mut ahead = Ahead::default();
    ahead.hold(announced);
    ahead
}

#[inline]
fn slice(bytes: &Bytes, offset: u64, len: u64) -> Option<Bytes> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    (end <= bytes.len()).then(|| bytes.slice(start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_file_are_read_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abcd").unwrap();
        let blob = Blob::open(&path).unwrap();
        assert_eq!((blob.len(), blob.is_empty()), (4, false));
        assert_eq!(blob.read(1, 2).unwrap().unwrap(), &b"bc"[..]);
        assert_eq!(blob.read(4, 0).unwrap().unwrap(), &b""[..]);
        for (offset, len) in [(3, 2), (5, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert!(blob.read(offset, len).unwrap().is_none());
        }
        assert!(Blob::open(&folder.path().join("missing")).is_err());
    }
}
