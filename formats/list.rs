use crate::formats;
use fdconvert_core::{Error, MaxDecompressed, Reader, Result};
use fdconvert_storage::place::{self, Kind};
use std::path::Path;

/// Returns whether a text is a path in the file system, which another process may need in full: URLs
/// and recipes are the same everywhere.
#[must_use]
pub fn is_path(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    !place::is_url(path) && !formats().iter().any(|format| format.is_recipe(path))
}

/// Opens a dataset with the first format that recognises its content, or the recipe that stands in
/// the place of a path.
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
    open_without(path, limit, &[])
}

/// As [`open_within`], without the fields of these names where the format can
/// [leave them out](fdconvert_core::Format::open_without).
///
/// # Errors
/// As for [`open_within`].
pub fn open_without(
    path: impl AsRef<Path>,
    limit: MaxDecompressed,
    dropped: &[String],
) -> Result<Box<dyn Reader>> {
    let path = path.as_ref();
    let formats = formats();
    if let Some(format) = formats.iter().find(|format| format.is_recipe(path)) {
        return format.open_within(path, limit);
    }
    let kind = place::look_at(path)?;
    let recognised = formats.iter().find(|format| format.detect(path));
    // A file too damaged to be recognised gets the error of the format that its name claims.
    let is_file = matches!(kind, Kind::File);
    let has_extension = is_file && path.extension().is_some();
    let claimed = || formats.iter().find(|format| has_extension && format.suits(path));
    match recognised.or_else(claimed) {
        Some(format) => format.open_without(path, limit, dropped),
        None => {
            let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
            let (shown, names) = (path.display(), names.join(", "));
            let what = match compressed_by(path) {
                Some((program, undo)) => format!(
                    "{shown} is compressed by {program}, which is not read here: decompress it, e.g. \
                     by `{undo} -d`; a tar may then be compressed again by zstd or gzip"
                ),
                None => format!("{shown} is none of: {names}"),
            };
            Err(Error::usage("dataset", what))
        }
    }
}

/// The program that has compressed a file and the one that undoes it, where no format reads that.
fn compressed_by(path: &Path) -> Option<(&'static str, &'static str)> {
    let start = place::read_start(path, 6).unwrap_or_default();
    match &*start {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xz")),
        [b'B', b'Z', b'h', ..] => Some(("bzip2", "bzip2")),
        _ => None,
    }
}
