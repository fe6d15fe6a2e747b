//! The unfinished file that the library writes to.
use fdconvert_core::{Error, Result};
use fdconvert_storage::Scratch;
use std::{
    io,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use xxhash_rust::xxh3::Xxh3;

/// Bytes per read.
const READ_BYTES: u64 = 1 << 16;

/// The unfinished file, written sequentially. Shared, because the library keeps one handle for
/// writing, and loses the cause of an error.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<State>>);

struct State {
    /// `None` once it was taken.
    file: Option<Scratch>,
    at: u64,
    failed: Option<Error>,
}

impl Sink {
    pub(crate) fn new(file: Scratch) -> Self {
        Self(Arc::new(Mutex::new(State { file: Some(file), at: 0, failed: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of bytes written so far.
    pub(crate) fn len(&self) -> u64 {
        self.state().at
    }

    /// Reads back at most `len` bytes from `offset`.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let state = self.state();
        let len = len.min(state.at.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        if let Some(file) = &state.file {
            file.read_exact_at(&mut bytes, offset)?;
        }
        Ok(bytes)
    }

    /// Overwrites bytes at `offset`.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let state = self.state();
        state.file.as_ref().map_or(Ok(()), |file| file.write_all_at(bytes, offset))
    }

    /// Reads back a range and passes it to `take`, piece by piece.
    pub(crate) fn read_range(&self, range: Range<u64>, mut take: impl FnMut(&[u8])) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            let piece = self.read(at, READ_BYTES.min(range.end - at))?;
            if piece.is_empty() {
                break;
            }
            take(&piece);
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Checksum of a written range except `without`, which is sorted.
    pub(crate) fn hash(&self, range: Range<u64>, without: &[Range<u64>]) -> Result<u64> {
        let mut hash = Xxh3::new();
        let mut at = range.start;
        for piece in without {
            self.read_range(at..piece.start, |bytes| hash.update(bytes))?;
            at = piece.end;
        }
        self.read_range(at..range.end, |bytes| hash.update(bytes))?;
        Ok(hash.digest())
    }

    /// Returns the error of the last failed write.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.state().failed.take()
    }

    /// Takes the file, after the last write.
    pub(crate) fn take(&self) -> Option<Scratch> {
        self.state().file.take()
    }
}

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        let Some(file) = &state.file else {
            return Err(io::Error::other("the file is complete"));
        };
        if let Err(error) = file.write_all_at(bytes, state.at) {
            state.failed = Some(error);
            return Err(io::Error::other("the file cannot be written"));
        }
        state.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
