//! Where the library writes to: the unfinished file.
use fdconvert_core::{Error, Result};
use fdconvert_storage::Scratch;
use sha2::{Digest, Sha256};
use std::{io, mem};
use xxhash_rust::xxh3::Xxh3;

/// The unfinished file, written from its start to its end.
pub(crate) struct Sink {
    /// None once it was taken.
    file: Option<Scratch>,
    /// Bytes so far.
    pub(crate) at: u64,
    /// Of the bytes since [`start_hash`](Self::start_hash).
    hash: Xxh3,
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

/// Where the next bytes lie.
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
        Self { file: Some(file), at: 0, hash: Xxh3::new(), failed: None, whole }
    }

    /// Says that the next bytes stand for the index block.
    pub(crate) fn start_block(&mut self) {
        if let Some(whole) = &mut self.whole {
            whole.place = Place::Block;
        }
    }

    /// Says that the block ends, and begins a checksum with the next byte.
    pub(crate) fn end_block(&mut self) {
        self.hash = Xxh3::new();
        if let Some(whole) = &mut self.whole {
            whole.place = Place::Behind(Vec::new());
        }
    }

    /// The hash of the whole file, which lacks the index block; none if it was not asked for.
    pub(crate) fn take_whole(&mut self) -> Option<Whole> {
        self.whole.take()
    }

    /// The checksum of what was written since.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.digest()
    }

    /// Why the last write failed.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        mem::take(&mut self.failed)
    }

    /// The file, which nothing is written to any more.
    pub(crate) fn take(&mut self) -> Option<Scratch> {
        self.file.take()
    }

    /// What was written at a place.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.read_exact_at(bytes, offset))
    }
}

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &self.file else {
            return Err(io::Error::other("the file is complete"));
        };
        if let Err(error) = file.write_all_at(bytes, self.at) {
            self.failed = Some(error);
            return Err(io::Error::other("the file cannot be written"));
        }
        self.hash.update(bytes);
        if let Some(whole) = &mut self.whole {
            whole.write(bytes);
        }
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
