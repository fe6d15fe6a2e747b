use crate::formats;
use fdconvert_core::{
    Error, Format, Layout, OpenOptions, Reader, Result, Subset, indices_of_splits,
};
use fdconvert_storage::place::{self, Kind};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// Returns true if a text is a path in the file system. Another process may need such a path made
/// absolute; URLs and recipes are the same everywhere.
#[must_use]
pub fn is_path(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    !place::is_url(path) && !formats().iter().any(|format| format.is_recipe(path))
}

/// Splits the path of a version, such as `photos.wds@3`, into that of the dataset and the number.
/// `None` for other paths, and where something has that very name.
#[must_use]
pub fn version_of(path: &Path) -> Option<(PathBuf, u64)> {
    let (dataset, number) = path.to_str()?.rsplit_once('@')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // There an `@` begins a revision.
    let is_other = dataset.is_empty() || dataset.ends_with('/') || path.starts_with("hf:/");
    let number = number.parse().ok().filter(|_| is_number && !is_other)?;
    matches!(place::look(path), Ok(None)).then(|| (PathBuf::from(dataset), number))
}

/// Returns the path of the dataset if a path is that of a version, else the path.
#[must_use]
pub fn without_version(path: &Path) -> Cow<'_, Path> {
    version_of(path).map_or(Cow::Borrowed(path), |(dataset, _)| Cow::Owned(dataset))
}

/// Opens a dataset with the first format that recognises its content, or opens a recipe given in
/// place of a path. Takes all splits. `PATH@3` opens the third version of an edited dataset.
///
/// # Errors
/// `Io` when nothing exists at the path, `Usage` when no format recognises it, otherwise the errors
/// of the format.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Reader>> {
    open_with(path, &OpenOptions::default())
}

/// Opens a dataset as [`open`] does, with these options.
///
/// # Errors
/// As for [`open`]; `Limit`; `Usage`, with a list of the existing splits, for an unknown split.
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Box<dyn Reader>> {
    let path = path.as_ref();
    let reader = match version_of(path) {
        Some((dataset, version)) => {
            open_whole(&dataset, &OpenOptions { version: Some(version), ..options.clone() })?
        }
        None => open_whole(path, options)?,
    };
    Ok(match indices_of_splits(&*reader, &options.splits)? {
        Some(indices) => Box::new(Subset::new(reader.into(), indices.into())?),
        None => reader,
    })
}

fn open_whole(path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>> {
    let formats = formats();
    if let Some(format) = formats.iter().find(|format| format.is_recipe(path)) {
        return format.open_with(path, options);
    }
    let kind = place::look_at(path)?;
    let recognised = formats.iter().find(|format| format.detect(path));
    // A file too damaged to be recognised gets the error of the format that its name claims.
    let is_file = matches!(kind, Kind::File);
    let has_extension = is_file && path.extension().is_some();
    let claimed = || formats.iter().find(|format| has_extension && format.suits(path));
    match recognised.or_else(claimed) {
        Some(format)
            if options.version.is_some()
                && !format.is_sharded()
                && format.in_shards().is_none() =>
        {
            let (shown, name) = (path.display(), format.name());
            let what = format!("{shown} is a {name}, which is written once and has no versions");
            Err(Error::usage("dataset", what))
        }
        Some(format) => format.open_with(path, options),
        #[cfg(feature = "folder")]
        None if is_file && crate::folder::is_image_name(path) => {
            let what = format!("{} is one image; give its folder", path.display());
            Err(Error::usage("source", what))
        }
        None => {
            let (shown, names) = (path.display(), names_of(&formats));
            let what = match compressed_by(path) {
                Some((program, undo)) => format!(
                    "{shown} is compressed by {program}, which is not read here: decompress it, e.g. \
                     by `{undo} -d`; a tar may then be compressed again by zstd or gzip"
                ),
                #[cfg(any(feature = "wds", feature = "zip"))]
                None if is_file && crate::tarball::starts_bare(path) => {
                    format!("{shown} is a tar that is not called one: let its name end in .tar")
                }
                None => format!("{shown} is not one of: {names}"),
            };
            Err(Error::usage("dataset", what))
        }
    }
}

/// Returns the format that recognises the content at `path`; `None` if no format does.
#[must_use]
pub fn recognise(path: impl AsRef<Path>) -> Option<Box<dyn Format>> {
    let path = &*without_version(path.as_ref());
    formats().into_iter().find(|format| format.is_recipe(path) || format.detect(path))
}

/// Returns true if a folder, or a zip of one, is a plain folder of images and no other format.
///
/// # Errors
/// `Io` if it cannot be read.
pub fn is_image_folder(path: impl AsRef<Path>) -> Result<bool> {
    let path = &*without_version(path.as_ref());
    let is_there = is_path(path) || place::is_url(path);
    let kind = if is_there { Some(place::look_at(path)?) } else { None };
    Ok(match recognise(path) {
        Some(format) => format.capabilities().layout == Layout::Images,
        // Every folder is recognised, unless reading it has failed in the meantime.
        None => kind == Some(Kind::Folder),
    })
}

/// The name of the program that compressed the file and of the one that decompresses it, if no
/// format reads such files.
fn compressed_by(path: &Path) -> Option<(&'static str, &'static str)> {
    let start = place::read_start(path, 6).unwrap_or_default();
    match &*start {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xz")),
        [b'B', b'Z', b'h', ..] => Some(("bzip2", "bzip2")),
        _ => None,
    }
}

/// Returns the names of formats for an error message, with a note if this build lacks Parquet.
#[must_use]
pub fn names_of(formats: &[Box<dyn Format>]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    let lacks =
        if cfg!(feature = "parquet") { "" } else { " (this build lacks the feature `parquet`)" };
    names.join(", ") + lacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whether_parquet_is_missing() {
        let has_parquet = formats().iter().any(|format| format.name() == "parquet");
        assert_eq!(names_of(&formats()).contains("lacks the feature `parquet`"), !has_parquet);
    }
}
