//! Pages of mapped files that cannot be read: errors instead of the end of the process.
//!
//! A load from a map beyond the end of a file that was cut, or from a page that the disk or the
//! network cannot deliver, raises SIGBUS. Work that runs in [`caught`] gets an `Io` error instead:
//!
//! ```text
//! handler    a load of such work from one of our maps: the rest of that map becomes zeros, so that
//!            the load and the work go on; everything else goes to the handler that was there before
//! caught     after the work: maps the file again, and throws away what the work has made of zeros
//! others     work on other threads meanwhile may have seen zeros, too: it is done again
//! ```
//!
//! So no one has to say which bytes a result depends on: tables, labels and images are covered
//! alike. Loads outside of [`caught`] end the process as ever, which is better than zeros that
//! no one notices; who hands out bytes of a map to be read later leaves that to their reader.
//!
//! `FDCONVERT_SIGBUS=off` in the environment leaves signals alone. Other systems than Linux are
//! without all this.
//!
//! What was thought of:
//! - Two libraries in one process each have a handler and maps of their own, and the one that came
//!   later passes on what is not its own. So does a host's handler that calls the one before it.
//! - A map that is unmapped while its thread is still to map it again is kept for ever instead: its
//!   addresses must not belong to anything else by then.
//! - A process that is forked off while a map is zeros maps it again before it reads from it.
//! - No lock is taken: a child of a process whose thread held one would wait for ever.

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

/// Loads that raised SIGBUS and were answered with zeros, since the start of the process.
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// Number of attempts at work that others disturb.
const TRIES: u32 = 200;

/// Runs work that reads mapped files; what cannot be read is an error. It may be run several
/// times, and should be short: it is tried again when other work was hit meanwhile. Work within
/// such work is part of it.
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

/// The same for work that is not to be repeated: `None` when other work was hit meanwhile, and
/// the result may be made of zeros. Long work is better repeated with a copy of the bytes, which
/// [`caught`] makes.
pub fn caught_once<T>(work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
    system::caught_once(work)
}

/// Does something that reads mapped files, and tells whether none of them held zeros meanwhile.
/// Only then may the result be kept for later work: [`caught`] throws away what its own work has
/// made of zeros, not what that has left elsewhere.
pub fn watched<T>(work: impl FnOnce() -> T) -> (T, bool) {
    system::watched(work)
}

/// Returns whether a page could not be read since the start of the process. Then bytes of maps are
/// better copied before long work.
#[must_use]
pub fn happened() -> bool {
    FAULTS.load(SeqCst) > 0
}
