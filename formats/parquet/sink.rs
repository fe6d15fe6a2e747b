//! Where the library writes to: the unfinished file.
use fdconvert_core::Error;
use fdconvert_storage::Scratch;
use sha2::{Digest, Sha256};
use std::{
    io, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use xxhash_rust::xxh3::Xxh3;

/// The unfinished file, written from its start to its end: the library keeps one handle to write to,
/// and does not give it back.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<State>>);

struct State {
    /// None once it was taken.
    file: Option<Scratch>,
    /// Bytes so far.
    at: u64,
    /// Of the bytes since the last hash was taken, without those of images.
    hash: Xxh3,
    is_image: bool,
    /// Why the last write failed: the library would tell less.
    failed: Option<Error>,
    /// Of all bytes, if a description of the file is written.
    whole: Option<Whole>,
}

/// A hash of a file whose index block is only known when all else is written.
pub(crate) struct Whole {
    sha256: Sha256,
    place: Place,
}

/// Place of the next bytes relative to the index block.
enum Place {
    Before,
    /// They stand for the block.
    Block,
    /// Behind it, and so far these.
    Behind(Vec<u8>),
}

impl Whole {
    /// Adds the next part of the block, when all else is written.
    pub(crate) fn add_block(&mut self, part: &[u8]) {
        self.sha256.update(part);
    }

    /// The hash, when the whole block was added.
    pub(crate) fn finish(mut self) -> [u8; 32] {
        if let Place::Behind(bytes) = self.place {
            self.sha256.update(bytes);
        }
        self.sha256.finalize().into()
    }

    fn write(&mut self, bytes: &[u8]) {
        match &mut self.place {
            Place::Before => self.sha256.update(bytes),
            Place::Block => {}
            Place::Behind(behind) => behind.extend_from_slice(bytes),
        }
    }
}

impl Sink {
    /// A file; with `is_hashed` all of it is hashed, for [`take_whole`](Self::take_whole).
    pub(crate) fn new(file: Scratch, is_hashed: bool) -> Self {
        let whole = is_hashed.then(|| Whole { sha256: Sha256::new(), place: Place::Before });
        let (file, hash) = (Some(file), Xxh3::new());
        let state = State { file, at: 0, hash, is_image: false, failed: None, whole };
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.state().at
    }

    /// Says that the next bytes are of an image, which has a checksum of its own.
    pub(crate) fn start_image(&self) {
        self.state().is_image = true;
    }

    /// Says that the image ends.
    pub(crate) fn end_image(&self) {
        self.state().is_image = false;
    }

    /// Says that the next bytes stand for the index block.
    pub(crate) fn start_block(&self) {
        if let Some(whole) = &mut self.state().whole {
            whole.place = Place::Block;
        }
    }

    /// Says that the block ends, and begins a checksum with the next byte.
    pub(crate) fn end_block(&self) {
        let mut state = self.state();
        state.hash = Xxh3::new();
        if let Some(whole) = &mut state.whole {
            whole.place = Place::Behind(Vec::new());
        }
    }

    /// The hash of the whole file, which lacks the index block; none if it was not asked for.
    pub(crate) fn take_whole(&self) -> Option<Whole> {
        self.state().whole.take()
    }

    /// The checksum of what was written since the last one was taken, without the images.
    pub(crate) fn take_hash(&self) -> u64 {
        mem::take(&mut self.state().hash).digest()
    }

    /// Why the last write failed.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.state().failed.take()
    }

    /// The file, which nothing is written to any more.
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
        if !state.is_image {
            state.hash.update(bytes);
        }
        if let Some(whole) = &mut state.whole {
            whole.write(bytes);
        }
        state.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
