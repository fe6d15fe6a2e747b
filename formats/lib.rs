//! On-disk formats: one folder each, with a `SPEC.md`, a reader and a writer.
//!
//! [`open`] detects the format of a dataset from its content; [`formats`] is the list, and the only
//! place where a format is registered. Shared code has its own folders: [`index`] is the block of
//! keys, checksums and entry points that several formats store; `shards` has what all sharded
//! datasets have in common; `tar` reads and writes tar archives; `sidecars` has files for other
//! readers that several formats write.
//!
//! ```no_run
//! let dataset = fdconvert_formats::open("train.beton")?;
//! for index in 0..dataset.len() {
//!     println!("{}", dataset.get(index)?.key);
//! }
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! Deliberately absent: pixels. A format stores the values it gets, and refuses those that do not
//! fit.
#![forbid(unsafe_code)]
// A build without `write` leaves helpers of the writers unused; marking each one would say no more.
#![cfg_attr(not(feature = "write"), allow(dead_code, unused_imports))]

#[cfg(all(feature = "write", any(feature = "wds", feature = "mds")))]
pub mod edits;
mod list;
#[cfg(any(feature = "wds", feature = "folder"))]
mod members;
mod shards;
#[cfg(any(feature = "wds", feature = "parquet"))]
mod sidecars;
#[cfg(any(feature = "wds", feature = "parquet", feature = "zip"))]
mod tar;
#[cfg(any(feature = "wds", feature = "zip"))]
mod tarball;

pub mod index;

pub use list::{
    is_image_folder, is_path, names_of, open, open_with, recognise, version_of, without_version,
};

/// One line per format: its module below this folder, and a value of its type. [`open`] tries them
/// in this order.
macro_rules! formats {
    ($($(#[$when:meta])* $module:ident: $format:expr,)*) => {
        $($(#[$when])* pub mod $module;)*

        /// Every format of this build, with its default options.
        #[must_use]
        pub fn formats() -> Vec<Box<dyn fdconvert_core::Format>> {
            vec![$($(#[$when])* Box::new($format)),*]
        }
    };
}

formats! {
    #[cfg(feature = "beton")] beton: beton::Beton::default(),
    #[cfg(feature = "wds")] wds: wds::Wds::default(),
    #[cfg(feature = "mixed")] mixed: mixed::Mixed::default(),
    #[cfg(feature = "mds")] mds: mds::Mds::default(),
    #[cfg(feature = "parquet")] parquet: parquet::Parquet::default(),
    #[cfg(feature = "formula")] formula: formula::FormulaFormat,
    // Last, because it accepts any folder.
    #[cfg(feature = "folder")] folder: folder::Folder::default(),
}
