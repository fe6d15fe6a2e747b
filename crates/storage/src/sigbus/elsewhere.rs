//! Other systems: signals are left alone.
use fdconvert_core::Result;
use memmap2::Mmap;
use std::{fs::File, io, path::Path};

/// A mapped file.
pub(crate) struct Mapping(Mmap);

impl Mapping {
    pub(crate) fn new(map: Mmap, _file: &File, _path: &Path) -> io::Result<Self> {
        Ok(Self(map))
    }

    pub(crate) fn release(&self) {}
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(super) fn caught_once<T>(work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
    Some(work())
}

pub(super) fn watched<T>(work: impl FnOnce() -> T) -> (T, bool) {
    (work(), true)
}

/// Does nothing on this system: pages are read on access.
///
/// # Errors
/// Never.
pub fn populate(_bytes: &[u8]) -> Result<()> {
    Ok(())
}
