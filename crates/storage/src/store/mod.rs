//! Objects behind URLs, with a blocking interface.
//!
//! An [`Object`] is read by ranges; [`look`] returns the kind of a URL's target, [`list`] lists a
//! folder, [`read`] reads a small object as a whole. [`put`] writes a small object, an [`Upload`] a
//! growing one; [`abort_unfinished`] aborts uploads that killed processes have started.
//!
//! [`set_options`] sets further options of stores, for the whole process.
//!
//! The crate `object_store` sends the requests on a small runtime with its own threads; the calling
//! thread waits. There are as many concurrent requests as calling threads, plus those for announced
//! ranges and objects ([`Object::announce`], [`Wholes`]). All of them belong to the process that
//! created them: a forked child creates its own.
//!
//! Deliberately absent: the meaning of the bytes, and caches of them.
#![forbid(unsafe_code)]

mod address;
mod ahead;
mod answer;
mod client;
mod count;
mod error;
mod fetched;
mod find;
mod hugging_face;
mod lists;
mod location;
mod memo;
mod merge;
mod object;
mod odd;
mod options;
mod patience;
mod per_process;
mod profile;
mod stat;
mod unfinished;
mod whole;
mod write;

pub use count::totals;
pub(crate) use find::{list, list_below, look};
pub(crate) use object::{Object, read, read_if_there, read_start};
pub(crate) use odd::left_out;
pub use options::set_options;
pub use patience::{RequestsStopped, stop_requests};
pub(crate) use stat::stat;
use std::path::Path;
pub(crate) use unfinished::abort_unfinished;
pub use whole::Wholes;
pub(crate) use write::{Upload, copy, delete, put, put_new, refuse_read_only, staging_file, swap};

/// Forgets the remembered answers for a path and the folders above it, after this process changed
/// it.
fn forget(path: &Path) {
    object::STARTS.forget(path);
    for path in path.ancestors() {
        find::LOOKS.forget(path);
    }
}
