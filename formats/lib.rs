//! The layouts on disk: one folder each, with a `SPEC.md`, a reader and a writer.
//!
//! [`open`] finds by its content which format a dataset has; [`formats`] is the list, and the one
//! place where a format is registered. What formats share lies beside them: [`index`], the block
//! of keys, checksums and entry points that several of them store, what all datasets of shards do
//! alike, in `shards`, tar archives, in `tar`, and files for other readers that several have, in
//! `sidecars`.
//!
//! ```no_run
//! let dataset = fdconvert_formats::open("train.beton")?;
//! for index in 0..dataset.len() {
//!     println!("{}", dataset.get(index)?.key);
//! }
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! Deliberately absent: pixels. A format stores what it is given, and refuses what does not fit.
#![forbid(unsafe_code)]
// What only writers need is left out in builds that only read: to mark every helper would say no more.
#![cfg_attr(not(feature = "write"), allow(dead_code, unused_imports))]

mod list;
#[cfg(any(feature = "wds", feature = "folder"))]
mod members;
mod of_splits;
mod shards;
#[cfg(any(feature = "wds", feature = "parquet"))]
mod sidecars;
#[cfg(any(feature = "wds", feature = "zip"))]
mod tar;
#[cfg(any(feature = "wds", feature = "zip"))]
mod tarball;

pub mod index;

pub use list::{is_image_folder, is_path, names_of, open, open_with, recognise};

/// One line for each format: the module below this folder, and a value of its type. They are asked
/// in this order whether a path is theirs.
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
    // Last: any folder is one.
    #[cfg(feature = "folder")] folder: folder::Folder::default(),
}
