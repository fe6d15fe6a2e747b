//! Locks that keep two runs from writing the same file.
use fdconvert_core::{Error, Result};
use rustix::io::Errno;
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

/// NFS without its lock daemon returns ENOLCK.
fn is_not_offered(cause: &io::Error) -> bool {
    let errno = Errno::from_io_error(cause);
    cause.kind() == io::ErrorKind::Unsupported
        || matches!(errno, Some(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_that_are_not_offered_are_done_without() {
        for errno in [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS] {
            assert!(is_not_offered(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::WOULDBLOCK, Errno::STALE] {
            assert!(!is_not_offered(&errno.into()), "{errno}");
        }
    }
}
