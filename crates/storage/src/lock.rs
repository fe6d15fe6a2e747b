//! Locks that keep two runs from writing the same file.
use crate::os::is_not_offered;
use fdconvert_core::{Error, Result};
use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

static UNLOCKED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of files that this process wrote without a lock, because their file system
/// has none: a second run could write them at the same time.
pub fn unlocked_files() -> u64 {
    UNLOCKED.load(Ordering::Relaxed)
}

/// Locks an open file; counts it if the file system has no locks.
pub(crate) fn hold(file: &File, path: &Path) -> Result<()> {
    loop {
        return match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                let what = format!("{} is being written by another run", path.display());
                Err(Error::usage("output", what))
            }
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Interrupted => {
                continue;
            }
            Err(TryLockError::Error(cause)) if is_not_offered(&cause) => {
                UNLOCKED.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(TryLockError::Error(cause)) => Err(Error::io("lock", path)(cause)),
        };
    }
}
