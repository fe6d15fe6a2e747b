//! What layouts share: the text of lists, splits of lists, and the folder in which listed images are.
use crate::folder::{Folder, layout::join, split_folders::Division};
use fdconvert_core::{Error, Result, Splits, split_ranges};
use fdconvert_storage::{place::read_start, read_file};
use std::path::{Path, PathBuf};

/// Images to look for before a folder counts as another one's.
const LOOKED_FOR: usize = 16;
/// Bytes at the start of a file that show what it is.
const START_BYTES: usize = 1 << 16;

/// An error about a file of the source.
pub(super) fn refuse(file: &Path, what: impl std::fmt::Display) -> Error {
    Error::usage("source", format!("{}: {what}", file.display()))
}

/// The text of a file, and its bytes for the identity of the dataset.
pub(super) fn text_of(file: &Path, how: &Folder) -> Result<String> {
    let bytes = read_file(file, how.limits.max_file_bytes)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| refuse(file, format!("not UTF-8 from byte {} on", error.valid_up_to())))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
}

/// Returns true if the first bytes of a file contain one of these texts.
pub(super) fn starts_with_one(file: &Path, texts: &[&str]) -> bool {
    let start = read_start(file, START_BYTES).unwrap_or_default();
    let has = |text: &&str| start.windows(text.len()).any(|window| window == text.as_bytes());
    texts.iter().any(has)
}

/// Lines with something on them, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines()).map(|(line, text)| (line, text.trim()));
    lines.filter(|(_, text)| !text.is_empty())
}

/// Splits in the order of their runs, unless splits are mixed.
pub(super) fn division<'a>(
    runs: impl IntoIterator<Item = (&'a str, u64)>,
    how: &Folder,
) -> Division {
    let splits = if how.split_folders { split_ranges(runs) } else { Splits::new() };
    Division { splits, ..Division::default() }
}

/// The first of these folders that has one of the first listed images.
pub(super) fn folder_with(folders: &[PathBuf], paths: &[Box<[u8]>]) -> Option<PathBuf> {
    let looked_for = || paths.iter().take(LOOKED_FOR);
    let has = |folder: &&PathBuf| looked_for().any(|path| join(folder, path).is_file());
    folders.iter().find(has).cloned()
}
