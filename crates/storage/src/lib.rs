//! Bytes from paths and to paths, for everything that must not tear, leak or lie.
//!
//! Reading: [`map`] gives a whole file as [`Bytes`](bytes::Bytes) over a memory map,
//! [`sigbus::caught`] makes pages that cannot be read errors,
//! [`read_file`] reads a small file under a limit, a [`DirectFile`] is read past the page cache,
//! [`spill`] gives bytes that are not a file a file without a name, and a [`Spool`] does so where
//! they are many. Writing: a [`Scratch`] file or a [`ScratchDir`] carries another name until it is complete, synced and renamed; dropped before
//! that it is removed, and after a kill it can be told apart and continued. A [`Claim`] says whose
//! the files of a shard are, from before the first of them is opened until its record is there.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let out = folder.path().join("data.bin");
//! use fdconvert_storage::{Scratch, map};
//!
//! let file = Scratch::open(&fdconvert_storage::partial_path(&out))?;
//! file.write_all_at(b"hello", 0)?;
//! file.commit(&out)?;
//! assert_eq!(&map(&out)?[..], b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A path may be a URL: [`place`] tells what it leads to, a [`Blob`] reads ranges of a file or of
//! an object in a store, which the feature `stores` brings, and [`Wholes`] are those that will be read
//! soon.
//!
//! [`seal_json`] and [`unseal_json`] protect small documents, such as manifests, by a checksum.
//!
//! Programs that only read leave out the features `write`, and `spill`, which brings temporary
//! files.
//!
//! Deliberately absent: what the bytes mean.
#![deny(unsafe_code)]

#[cfg(feature = "fault")]
pub mod fault;
#[cfg(not(feature = "fault"))]
mod fault {
    //! Nothing fails on purpose in a release build.
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
mod wholes;
#[cfg(feature = "write")]
mod writeback;

pub use blob::Blob;
pub use cache_folder::CacheFolder;
pub use direct::{AlignedBuffer, DIRECT_ALIGNMENT, DirectFile};
pub use map::{map, map_open};
pub use parallel::{any_of, open_all};
pub use read::{hash_file, name_of, read_file, read_if_there};
pub use record::{check_record, fingerprint_hex, is_of_run, seal_record};
pub use sealed::{SEALED_START, seal_json, unseal_json};
#[cfg(feature = "spill")]
pub use spill::spill;
pub use spool::Spool;
pub use wholes::Wholes;

#[cfg(feature = "write")]
pub use {
    appended::Appended,
    claim::Claim,
    folders::{Folders, make_folder, refuse_link, sync_folder_of},
    left::left_files,
    limit::fail_at_size_limit,
    lock::unlocked_files,
    rename::refuse_special,
    replace::{create_new, replace, write_new, write_partial},
    scratch::{Scratch, partial_path, refuse_foreign_partial, take_back},
    scratch_dir::ScratchDir,
    stamp::{SourceStamp, remove_source_stamp},
};
