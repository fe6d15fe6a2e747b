//! Objects behind URLs, for threads that wait for them.
//!
//! An [`Object`] is read by ranges; [`look`] tells what a URL leads to, [`list`] what lies below
//! one, [`read`] gives a small object as a whole. [`put`] writes a small object, an [`Upload`] one
//! that grows; [`abort_unfinished`] gives up what killed processes have begun. Which store a URL
//! means, and where its credentials come from:
//!
//! | URL | store | credentials |
//! |---|---|---|
//! | `s3://BUCKET/KEY` | Amazon S3 and what speaks its protocol | `AWS_*`, `~/.aws` (`AWS_PROFILE`), the machine's role |
//! | `gs://BUCKET/KEY` | Google Cloud Storage | `GOOGLE_*`, `gcloud auth application-default login`, the machine's account |
//! | `az://CONTAINER/KEY` | Azure Blob Storage | `AZURE_*`, the machine's identity |
//! | `https://HOST/PATH` | any server that answers ranges; read only | none |
//! | `hf://datasets/OWNER/NAME[@REVISION]/PATH` | Hugging Face; read only | `HF_TOKEN`, `hf auth login` |
//!
//! Further options of a store are given to [`set_options`], for the process as a whole.
//!
//! Requests are made by the crate `object_store` on a small runtime of its own threads; the thread
//! that asks waits. As many requests are in flight as threads ask, and beside them those for ranges
//! and objects that were announced ([`Object::announce`], [`Wholes`]). All belong to the process
//! that made them: a forked child makes its own.
//!
//! Deliberately absent: what the bytes mean, and caches of them.
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
mod unfinished;
mod whole;
mod write;

pub use ahead::Announcement;
pub use count::{Totals, totals};
pub use find::{Below, Entry, Found, list, list_below, look};
pub use object::{Object, read, read_if_there, read_start};
pub use odd::left_out;
pub use options::set_options;
pub use patience::{ReadingStopped, stop_reading};
use std::path::Path;
pub use unfinished::abort_unfinished;
pub use whole::{Expected, Wholes, WholesAhead};
pub use write::{Stat, Upload, delete, put, put_new, refuse_read_only, stat};

/// Forgets what was found at a path and at the folders above it, which this process has changed.
fn forget(path: &Path) {
    object::STARTS.forget(path);
    for path in path.ancestors() {
        find::LOOKS.forget(path);
    }
}
