use crate::formats;
use fdconvert_core::{Error, MaxDecompressed, Reader, Result};
use fdconvert_storage::place::{self, Kind};
use std::path::Path;

/// Opens a dataset with the first format that recognises its content.
///
/// # Errors
/// `Io` when there is nothing there, `Usage` when no format recognises it, else what the format
/// says.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Reader>> {
    open_within(path, MaxDecompressed::default())
}

/// As [`open`], with this limit for what is compressed.
///
/// # Errors
/// As for [`open`]; `Limit`.
pub fn open_within(path: impl AsRef<Path>, limit: MaxDecompressed) -> Result<Box<dyn Reader>> {
    let path = path.as_ref();
    let kind = place::look_at(path)?;
    let formats = formats();
    let recognised = formats.iter().find(|format| format.detect(path));
    // A file too damaged to be recognised gets the error of the format that its name claims.
    let is_file = matches!(kind, Kind::File);
    let has_extension = is_file && path.extension().is_some();
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
