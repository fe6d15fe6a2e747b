//! Turns unreadable pages of mapped files into errors, where they would kill the process.
//!
//! A load from a map beyond the end of a truncated file, or from a page that the disk or the
//! network cannot deliver, raises SIGBUS. Work that runs in [`caught`] gets an `Io` error instead:
//!
//! ```text
//! handler    for a load of such work from a registered map: replaces the rest of that map by
//!            zeros, so that the load and the work continue; passes on everything else
//! caught     after the work: maps the file again, and discards results made from zeros
//! others     concurrent work on other threads may have seen zeros, too: it is repeated
//! ```
//!
//! So results need not declare the bytes they depend on: tables, labels and images are covered
//! alike. Loads outside [`caught`] still kill the process, which is better than unnoticed zeros;
//! code that returns bytes of a map for later reading leaves that to its caller.
//!
//! `FDCONVERT_SIGBUS=off` in the environment leaves signals alone. All this exists on Linux only.
//!
//! Special cases:
//! - Two libraries in one process each have a handler and maps of their own, and the later one
//!   passes on the signals of others. So does a host's handler that calls the previous one.
//! - A map that is unmapped while its thread has yet to map it again is kept forever: nothing else
//!   may get its addresses.
//! - A process forked while a map is zeros maps it again before reading from it.
//! - No lock is taken: a child forked while a thread held one would wait forever.

#[cfg(target_os = "linux")]
mod registry;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod system;

pub(crate) use system::Mapping;
pub use system::populate;

use fdconvert_core::{Error, Result};
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// Number of loads that raised SIGBUS and got zeros, since the start of the process.
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// Number of attempts at work that other threads disturb.
const TRIES: u32 = 200;

/// Runs work that reads mapped files, and turns unreadable pages into errors. The work may run
/// several times, and should be short: it is repeated when other work was hit meanwhile. Nested
/// work is part of the outer one.
///
/// # Errors
/// Those of the work; `Io` when a page of a mapped file could not be read.
pub fn caught<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for tries in 0..TRIES {
        if let Some(result) = caught_once(&mut work) {
            return result;
        }
        thread::sleep(Duration::from_micros(10 << tries.min(10)));
    }
    let what = "reads of other threads kept failing meanwhile";
    let cause = io::Error::new(io::ErrorKind::Interrupted, what);
    Err(Error::io("read", "the mapped files")(cause))
}

/// Like [`caught`], for work that must not be repeated: `None` when other work was hit meanwhile,
/// and the result may be made of zeros. For long work it is better to run [`caught`] on a copy of
/// the bytes.
pub fn caught_once<T>(work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
    system::caught_once(work)
}

/// Runs work that reads mapped files, and returns whether none of them contained zeros meanwhile.
/// Only then may the result be kept for later work: [`caught`] discards the result of its own work,
/// not values that the work stored elsewhere.
pub fn watched<T>(work: impl FnOnce() -> T) -> (T, bool) {
    system::watched(work)
}

/// Returns true if any page was unreadable since the start of the process. If so, copy the bytes of
/// maps before long work.
#[must_use]
pub fn happened() -> bool {
    FAULTS.load(SeqCst) > 0
}
