//! Objects behind URLs, with a blocking interface.
//!
//! An [`Object`] is read by ranges; [`look`] returns the kind of a URL's target, [`list`] lists a
//! folder, [`read`] reads a small object as a whole. [`put`] writes a small object, an [`Upload`] a
//! growing one; [`abort_unfinished`] aborts uploads that killed processes have started. The URL
//! determines the store and the origin of its credentials:
//!
//! | URL | store | credentials |
//! |---|---|---|
//! | `s3://BUCKET/KEY` | Amazon S3 and compatible services | `AWS_*`, `~/.aws` (`AWS_PROFILE`), the machine's role |
//! | `gs://BUCKET/KEY` | Google Cloud Storage | `GOOGLE_*`, `gcloud auth application-default login`, the machine's account |
//! | `az://CONTAINER/KEY` | Azure Blob Storage | `AZURE_*`, the machine's identity |
//! | `https://HOST/PATH` | any server with range requests; read only | none |
//! | `hf://datasets/OWNER/NAME[@REVISION]/PATH` | Hugging Face; read only | `HF_TOKEN`, `hf auth login` |
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

/// Forgets the remembered answers for a path and the folders above it, after this process changed
/// it.
fn forget(path: &Path) {
    object::STARTS.forget(path);
    for path in path.ancestors() {
        find::LOOKS.forget(path);
    }
}
