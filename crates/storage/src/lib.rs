//! Reads and writes files and objects, without torn, leaked or unnoticed data.
//!
//! Reading: [`map`] returns a whole file as [`Bytes`](bytes::Bytes) over a memory map,
//! [`sigbus::caught`] turns unreadable pages into errors, [`read_file`] reads a small file under a
//! limit, a [`DirectFile`] reads past the page cache, [`spill`] moves other bytes to an unnamed
//! file, and a [`Spool`] does so only for large amounts. Writing: a [`Scratch`] file or a
//! [`ScratchDir`] has another name until it is complete, synced and renamed. It is removed if
//! dropped before that; after a kill it can be identified and resumed. A [`Claim`] identifies the
//! run that the files of a shard belong to, from before the first of them is opened until its
//! record is written.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let out = folder.path().join("data.bin");
//! use fdconvert_storage::{Scratch, map};
//!
//! let file = Scratch::open(&fdconvert_storage::partial_path(&out))?;
//! file.write_all_at(b"hello", 0)?;
//! file.commit(&out, true)?;
//! assert_eq!(&map(&out)?[..], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A path may be a URL: [`place`] finds out what it refers to, a [`Blob`] reads ranges of a file
//! or, with the feature `stores`, of an object in a store, and [`Wholes`] prefetches whole files.
//!
//! [`seal_json`] and [`unseal_json`] protect small documents, manifests and records, by a checksum.
//!
//! Programs that only read can disable the features `write` and `spill` (temporary files).
//!
//! Deliberately absent: the meaning of the bytes.
#![deny(unsafe_code)]

#[cfg(feature = "fault")]
pub mod fault;
#[cfg(not(feature = "fault"))]
mod fault {
    //! No faults in a release build.
    use std::{io, path::Path};

    pub(crate) fn on_read(_: &Path, _: u64) -> io::Result<()> {
        Ok(())
    }

    #[cfg(feature = "write")]
    pub(crate) fn on_write(_: &Path, _: u64) -> io::Result<()> {
        Ok(())
    }
}
#[cfg(feature = "write")]
mod appended;
mod blob;
mod cache_folder;
#[cfg(feature = "write")]
mod claim;
mod direct;
#[cfg(feature = "write")]
mod folders;
#[cfg(feature = "write")]
mod left;
#[cfg(feature = "write")]
mod limit;
#[cfg(feature = "write")]
mod lock;
mod map;
mod opening;
pub mod os;
mod parallel;
pub mod place;
mod read;
mod record;
#[cfg(feature = "write")]
mod rename;
#[cfg(feature = "write")]
mod replace;
#[cfg(feature = "write")]
mod scratch;
#[cfg(feature = "write")]
mod scratch_dir;
mod sealed;
pub mod sigbus;
#[cfg(feature = "spill")]
mod spill;
mod spool;
#[cfg(feature = "write")]
mod stamp;
#[cfg_attr(not(feature = "stores"), path = "store/nowhere.rs")]
mod store;
#[cfg(any(feature = "spill", feature = "write"))]
mod unnamed;
#[cfg(feature = "write")]
mod writeback;

pub use blob::Blob;
pub use cache_folder::CacheFolder;
pub use direct::{AlignedBuffer, DIRECT_ALIGNMENT, DirectFile};
pub use map::{LargeText, map, map_open};
pub use parallel::{any_of, on_threads, open_all};
pub use read::{hash_file, name_of, read_file, read_if_there, read_start};
pub use record::{fingerprint_hex, is_of_run, mark};
pub use sealed::{SEALED_START, seal_json, unseal_json};
#[cfg(feature = "spill")]
pub use spill::spill;
pub use spool::Spool;
pub use store::Wholes;

#[cfg(feature = "write")]
pub use {
    appended::Appended,
    claim::Claim,
    folders::{Folders, make_folder, refuse_link, sync_folder_of},
    left::left_files,
    limit::fail_at_size_limit,
    lock::unlocked_files,
    rename::refuse_unwritable,
    replace::{create_new, replace, write_partial},
    scratch::{Scratch, has_partial, partial_path, refuse_foreign_partial, take_back},
    scratch_dir::ScratchDir,
    stamp::{SourceStamp, remove_source_stamp},
};
