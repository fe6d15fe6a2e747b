//! Where the library writes to: the unfinished file.
use fdconvert_core::{Error, Result};
use fdconvert_storage::Scratch;
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
}

impl Sink {
    pub(crate) fn new(file: Scratch) -> Self {
        Self { file: Some(file), at: 0, hash: Xxh3::new(), failed: None }
    }

    /// Begins a checksum with the next byte.
    pub(crate) fn start_hash(&mut self) {
        self.hash = Xxh3::new();
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
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
