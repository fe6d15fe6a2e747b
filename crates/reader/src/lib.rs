//! What a program links to open any dataset that fdconvert knows.
//!
//! ```no_run
//! let dataset = fdconvert_reader::open("train.beton".as_ref())?;
//! for index in 0..dataset.len() {
//!     let sample = dataset.get(index)?;
//!     println!("{}: {:?}", sample.key, sample.values);
//! }
//! # Ok::<(), fdconvert_reader::Error>(())
//! ```
//!
//! [`open`] looks at the content, not at the name. The result is a [`Reader`]: `Send + Sync`, to
//! be shared by any number of threads; the bytes it hands out view the memory map and may
//! outlive it. Deliberately absent: decoding (`fdconvert-codec`), orders and batches.
#![forbid(unsafe_code)]

/// Errors instead of the end of the process where a mapped file cannot be read.
pub use fdconvert_storage::sigbus;

pub use fdconvert_core::{
    Codec, Encoded, Error, FieldSpec, Format, Kind, MaxDecompressed, Provenance, Reader, Result,
    Sample, Schema, Skipped, Source, Value,
};
use std::path::Path;

/// Every format of this build, in the order in which they are asked whether a path is theirs.
/// The one place where a new format is registered.
#[must_use]
pub fn formats() -> Vec<Box<dyn Format>> {
    vec![
        Box::new(fdconvert_beton::Beton::default()),
        Box::new(fdconvert_wds::Wds::default()),
        Box::new(fdconvert_mixed::Mixed::default()),
        Box::new(fdconvert_mds::Mds::default()),
        Box::new(fdconvert_formula::FormulaFormat),
        // Last: any folder is one.
        Box::new(fdconvert_folder::Folder::default()),
    ]
}

/// Opens `path` with the first format that recognises its content.
///
/// # Errors
/// `Io` when there is nothing there, `Usage` when no format recognises it, else what the format
/// says.
pub fn open(path: &Path) -> Result<Box<dyn Reader>> {
    open_within(path, MaxDecompressed::default())
}

/// As [`open`], with this limit for what is compressed.
///
/// # Errors
/// As for [`open`]; `Limit`.
pub fn open_within(path: &Path, limit: MaxDecompressed) -> Result<Box<dyn Reader>> {
    std::fs::metadata(path).map_err(Error::io("open", path))?;
    let formats = formats();
    let recognised = formats.iter().find(|format| format.detect(path));
    // A file too damaged to be recognised gets the error of the format that its name claims.
    let has_extension = path.is_file() && path.extension().is_some();
    let claimed = || formats.iter().find(|format| has_extension && format.suits(path));
    match recognised.or_else(claimed) {
        Some(format) => format.open_within(path, limit),
        None => {
            let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
            let what = format!("{} is none of: {}", path.display(), names.join(", "));
            Err(Error::usage("dataset", what))
        }
    }
}
