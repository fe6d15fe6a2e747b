//! Blocks of source files that a scratch file shares instead of holding a copy.
use super::Scratch;
use crate::{fault, read::state_of, reflink};
use fdconvert_core::Origin;
use rustix::fs::OFlags;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    sync::{MutexGuard, PoisonError, atomic::Ordering},
};

/// Devices, with true for those whose files are asked for their blocks.
pub(super) type Devices = BTreeMap<u64, bool>;

impl Scratch {
    /// Lets the `len` bytes at `offset` share the blocks of the first `len` bytes of the file of
    /// `origin`, and returns whether they do: both numbers are multiples of the block size of the
    /// file system. If not, what lies there is any of both and has to be written: the file was
    /// changed since it was read, or the file system cannot, and then files of its device are not
    /// asked again.
    ///
    /// That the blocks are those that were read is known by what the system says of the file, before
    /// it was read and after its blocks are shared. So only file systems count whose times are this
    /// machine's own, btrfs and XFS.
    #[must_use]
    pub fn share(&self, origin: &Origin, len: u64, offset: u64) -> bool {
        let device = origin.state.device;
        let known = self.devices().get(&device).copied();
        if self.away.is_some() || known == Some(false) || len > origin.state.len {
            return false;
        }
        let Ok(source) = open(origin) else { return false };
        if !is_unchanged(&source, origin) {
            return false;
        }
        self.is_ours.store(true, Ordering::Relaxed);
        let shared = match fault::share(&self.path, &source, &self.file, len, offset) {
            Some(played) => played,
            None if known.is_none() && !has_local_times(&source) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            None => reflink::clone_range(&source, &self.file, len, offset),
        };
        if known != Some(shared.is_ok()) {
            self.devices().insert(device, shared.is_ok());
        }
        // Nor was it changed while its blocks were taken.
        shared.is_ok() && is_unchanged(&source, origin)
    }

    fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something else may have the name by now, and a pipe would block.
fn open(origin: &Origin) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(&origin.path)
}

fn is_unchanged(source: &File, origin: &Origin) -> bool {
    source.metadata().is_ok_and(|found| found.is_file() && state_of(&found) == origin.state)
}

/// Returns whether the times of the file are those of this machine's clock. Those of a network's
/// file system are not, and may be old when they are asked for.
#[cfg(target_os = "linux")]
fn has_local_times(source: &File) -> bool {
    const BTRFS: u64 = 0x9123_683e;
    const XFS: u64 = 0x5846_5342;
    let found = rustix::fs::fstatfs(source);
    // The numbers have 32 bits, and a sign where a word has no more.
    found.is_ok_and(|found| [BTRFS, XFS].contains(&(found.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn has_local_times(_: &File) -> bool {
    false
}
