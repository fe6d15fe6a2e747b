//! Room in front of what a scratch file holds already.
use super::Scratch;
use crate::fault;
use fdconvert_core::{Error, Result};
use std::{fs::File, io, sync::atomic::Ordering};

/// Bytes that are copied at a time where the file system cannot move them.
const COPIED: u64 = 8 << 20;

impl Scratch {
    /// Moves all that the file holds from `at` on towards its end, by `len` bytes, and leaves zeros in
    /// front of it. Where both are multiples of its blocks, ext4 and XFS do so without touching the
    /// data; elsewhere it is copied.
    ///
    /// # Errors
    /// `Io`, e.g. when the disk is full; what lies behind `at` is any of both then.
    pub fn insert_zeros(&self, at: u64, len: u64) -> Result<()> {
        let end = self.size()?;
        if len == 0 || at >= end {
            return Ok(());
        }
        self.is_ours.store(true, Ordering::Relaxed);
        match fault::on_write(&self.path, 0).and_then(|()| insert_range(&self.file, at, len)) {
            Ok(()) => Ok(()),
            Err(_) => self.copy_behind(at, end, len),
        }
    }

    /// The same by reading and writing what lies between `at` and the `end`.
    pub(super) fn copy_behind(&self, at: u64, end: u64, len: u64) -> Result<()> {
        let what = "the file would be larger than 2^64 bytes";
        let to = end.checked_add(len).ok_or_else(|| Error::usage("output", what))?;
        self.set_len(to)?;
        let mut buffer = vec![0; usize::try_from(COPIED.min(end - at)).unwrap_or_default()];
        // From the end on, as both may overlap.
        let mut left = end - at;
        while left > 0 {
            let n = COPIED.min(left);
            left -= n;
            let part = &mut buffer[..n as usize];
            self.read_exact_at(part, at + left)?;
            self.write_all_at(part, at + left + len)?;
        }
        buffer.fill(0);
        // Behind the end the file has zeros of its own.
        let stale = (at + len).min(end);
        let mut at = at;
        while at < stale {
            let n = (buffer.len() as u64).min(stale - at);
            self.write_all_at(&buffer[..n as usize], at)?;
            at += n;
        }
        Ok(())
    }
}

/// Lets the file system move what lies from `at` on.
#[cfg(target_os = "linux")]
fn insert_range(file: &File, at: u64, len: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    fallocate(file, FallocateFlags::INSERT_RANGE, at, len)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn insert_range(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
