//! The crate that a program links to open any dataset that fdconvert knows.
//!
//! ```no_run
//! let dataset = fdconvert_reader::open("train.beton")?;
//! for index in 0..dataset.len() {
//!     let sample = dataset.get(index)?;
//!     println!("{}: {:?}", sample.key, sample.values);
//! }
//! # Ok::<(), fdconvert_reader::Error>(())
//! ```
//!
//! [`open`] recognises a dataset by its contents, not by its name; with the feature `formula` it
//! also takes recipes with drawn images, such as `fractal:svd?classes=20`. The result is a
//! [`Reader`]: `Send + Sync`, to be shared by any number of threads; its bytes are views of the
//! memory map and may outlive it. Deliberately absent: decoding (`fdconvert-codec`), orders and
//! batches.
#![forbid(unsafe_code)]

pub use fdconvert_core::{
    Amount, Codec, Encoded, Error, FieldSpec, Format, Kind, Look, MaxDecompressed, OpenOptions,
    Provenance, Reader, Result, Sample, Schema, Skipped, Source, SourceFacts, SplitChoice, Value,
};
pub use fdconvert_formats::{
    formats, is_image_folder, is_path, names_of, open, open_with, recognise, version_of,
    without_version,
};
/// Errors instead of the end of the process if a mapped file cannot be read.
pub use fdconvert_storage::sigbus;
