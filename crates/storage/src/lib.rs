//! Bytes from paths and to paths, for everything that must not tear, leak or lie.
//!
//! Reading: [`map`] gives a whole file as [`Bytes`](bytes::Bytes) over a memory map,
//! [`read_file`] reads a small file under a limit, a [`DirectFile`] is read past the page cache,
//! and a [`Throttle`] slows readers down to a rate. Writing: a [`Scratch`] file or a
//! [`ScratchDir`] carries another name until it is complete, synced and renamed; dropped before
//! that it is removed, and after a kill it can be told apart and continued.
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

    pub(crate) fn on_write(_: &Path, _: u64) -> io::Result<()> {
        Ok(())
    }
}
mod direct;
mod map;
mod read;
mod scratch;
mod scratch_dir;
mod throttle;

pub use direct::{AlignedBuffer, DIRECT_ALIGNMENT, DirectFile};
pub use map::map;
pub use read::read_file;
pub use scratch::{Scratch, create_new, partial_path, replace, sync_folder_of};
pub use scratch_dir::ScratchDir;
pub use throttle::Throttle;
