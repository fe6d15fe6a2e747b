//! Folders of splits, such as `train` and `val`, above the folders of classes.
use crate::{layout::key_of_path, listing::Listing};
use fdconvert_core::{Error, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
};

/// Names that first-level folders of a divided dataset have.
const NAMES: [&[u8]; 5] = [b"train", b"val", b"valid", b"validation", b"test"];

/// The split that a folder of that name is by itself.
#[must_use]
pub fn split_named(folder: &str) -> Option<&'static str> {
    let name = NAMES.into_iter().find(|name| *name == folder.as_bytes())?;
    std::str::from_utf8(name).ok()
}

/// Whether these first-level folders, all that hold images, are splits: they have the names of
/// splits, and there are two of them, or one that holds folders itself. A single folder `train`
/// with images right in it may be a class of vehicles.
pub(crate) fn are_splits<'a>(
    names: impl Iterator<Item = &'a [u8]>,
    hold_folders: impl FnOnce() -> bool,
) -> bool {
    let names: BTreeSet<&[u8]> = names.collect();
    let named = names.iter().all(|name| NAMES.contains(name));
    named && (names.len() > 1 || (names.len() == 1 && hold_folders()))
}

impl Listing {
    /// The splits that the first-level folders are, with the files in each; empty where they are
    /// classes.
    pub(crate) fn splits(&self) -> Vec<(String, Range<u64>)> {
        let paths = || self.folders().map(|(path, _)| parts(path));
        let is_deep = || paths().all(|(_, rest)| !rest.is_empty());
        if !are_splits(paths().map(|(first, _)| first), is_deep) {
            return Vec::new();
        }
        let firsts: Vec<&[u8]> = paths().map(|(first, _)| first).collect();
        let mut splits: Vec<(String, Range<u64>)> = Vec::new();
        let mut last = None;
        for (index, (folder, _)) in (0_u64..).zip(self.files()) {
            let first = firsts.get(folder as usize).copied().unwrap_or_default();
            match splits.last_mut() {
                Some((_, range)) if last == Some(first) => range.end = index + 1,
                _ => splits.push((key_of_path(first), index..index + 1)),
            }
            last = Some(first);
        }
        splits
    }

    /// Makes the folders below the splits the classes, the same ones in every split, and gives
    /// their names; none where images lie right in the splits.
    pub(crate) fn relabel_below_splits(&mut self, root: &Path) -> Result<Vec<String>> {
        let has_class = |path: &[u8]| !parts(path).1.is_empty();
        let flat = self.folders().find(|(path, _)| !has_class(path));
        let deep = self.folders().find(|(path, _)| has_class(path));
        if let (Some((flat, _)), Some((deep, _))) = (flat, deep) {
            let what = format!(
                "{}: images lie right in {}, and others in a class folder, {}; give one split as \
                 the source, or list samples and labels in a file and give it with --labels, or \
                 take the splits for classes with --no-split-folders",
                root.display(),
                key_of_path(flat),
                key_of_path(deep),
            );
            return Err(Error::usage("source", what));
        }
        if deep.is_none() {
            return Ok(Vec::new());
        }
        let classes: BTreeSet<Vec<u8>> =
            self.folders().map(|(path, _)| parts(parts(path).1).0.to_vec()).collect();
        let numbers: BTreeMap<Vec<u8>, u32> = classes.iter().cloned().zip(0..).collect();
        self.relabel(|path| numbers.get(parts(parts(path).1).0).copied().unwrap_or(0));
        Ok(classes.iter().map(|name| key_of_path(name)).collect())
    }
}

/// The first part of a path, and what follows its slash.
fn parts(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
    (path.get(..slash).unwrap_or(path), path.get(slash + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(folders: &[&str]) -> Listing {
        let mut listing = Listing::default();
        for (path, label) in folders.iter().zip(0..) {
            let folder = listing.add_folder(path.as_bytes(), label).unwrap();
            listing.add_file(folder, b"1.jpg");
            listing.add_file(folder, b"2.jpg");
        }
        listing
    }

    fn names(folders: &[&str]) -> Vec<(String, Range<u64>)> {
        listing(folders).splits()
    }

    #[test]
    fn only_names_of_splits_beyond_chance_make_splits() {
        let expected = [("test".to_owned(), 0..2), ("train".to_owned(), 2..6)];
        assert_eq!(names(&["test/a", "train/a", "train/b"]), expected);
        assert_eq!(names(&["train", "val"]).len(), 2);
        assert_eq!(names(&["train/a"]), [("train".to_owned(), 0..2)]);
        for classes in [&["train"][..], &["bus", "train"], &["train/a", "valley"], &["Train", "x"]]
        {
            assert!(names(classes).is_empty(), "{classes:?}");
        }
    }

    #[test]
    fn classes_have_one_number_in_all_splits() {
        let mut listing = listing(&["train/b", "train/c/x", "val/a", "val/b"]);
        assert_eq!(listing.relabel_below_splits(Path::new("r")).unwrap(), ["a", "b", "c"]);
        let labels: Vec<u32> = listing.folders().map(|(_, label)| label).collect();
        assert_eq!(labels, [1, 2, 0, 1]);
    }

    #[test]
    fn splits_with_and_without_classes_are_refused() {
        let error = listing(&["test", "train/a"]).relabel_below_splits(Path::new("r")).unwrap_err();
        assert!(error.to_string().contains("--no-split-folders"), "{error}");
    }
}
