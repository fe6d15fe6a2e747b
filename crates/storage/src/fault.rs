//! Fault injection for tests, with the feature `fault`.
//!
//! A fault is armed for the paths below one folder, so that tests of one process do not disturb
//! each other, and lasts until its guard is dropped.
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The operation that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reading.
    Read,
    /// Writing, growing and syncing.
    Write,
}

struct Fault {
    id: u64,
    below: PathBuf,
    operation: Operation,
    bytes_left: u64,
    kind: io::ErrorKind,
    is_once: bool,
}

static FAULTS: Mutex<(u64, Vec<Fault>)> = Mutex::new((0, Vec::new()));

/// Disarms its fault when dropped.
#[derive(Debug)]
#[must_use]
pub struct Armed(u64);

impl Drop for Armed {
    fn drop(&mut self) {
        faults().1.retain(|fault| fault.id != self.0);
    }
}

/// Makes `operation` on files below `below` fail with `kind` after `after_bytes` have been
/// processed.
pub fn arm(below: &Path, operation: Operation, after_bytes: u64, kind: io::ErrorKind) -> Armed {
    let below = below.to_path_buf();
    let is_once = false;
    push(Fault { id: 0, below, operation, bytes_left: after_bytes, kind, is_once })
}

/// Like [`arm`], but only one operation fails.
pub fn arm_once(
    below: &Path,
    operation: Operation,
    after_bytes: u64,
    kind: io::ErrorKind,
) -> Armed {
    let (below, is_once) = (below.to_path_buf(), true);
    push(Fault { id: 0, below, operation, bytes_left: after_bytes, kind, is_once })
}

fn push(fault: Fault) -> Armed {
    let mut guard = faults();
    guard.0 += 1;
    let id = guard.0;
    guard.1.push(Fault { id, ..fault });
    Armed(id)
}

pub(crate) fn on_read(path: &Path, bytes: u64) -> io::Result<()> {
    check(path, Operation::Read, bytes)
}

pub(crate) fn on_write(path: &Path, bytes: u64) -> io::Result<()> {
    check(path, Operation::Write, bytes)
}

fn check(path: &Path, operation: Operation, bytes: u64) -> io::Result<()> {
    for fault in &mut faults().1 {
        if fault.operation == operation && path.starts_with(&fault.below) {
            match fault.bytes_left.checked_sub(bytes) {
                Some(left) => fault.bytes_left = left,
                None => {
                    if fault.is_once {
                        fault.bytes_left = u64::MAX;
                    }
                    return Err(io::Error::from(fault.kind));
                }
            }
        }
    }
    Ok(())
}

fn faults() -> MutexGuard<'static, (u64, Vec<Fault>)> {
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}
