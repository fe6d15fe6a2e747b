//! Folders of splits, such as `train` and `val`, above the folders of classes: which they are, and
//! what a user should know about them.
use crate::folder::{
    layout::{join, key_of_path},
    listing::Listing,
};
use fdconvert_core::{Error, Result, Splits, message, named, split_named, split_ranges};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Names that a remark lists one by one.
const SHOWN: usize = 3;

/// Meaning of the first-level folders: splits, or classes where there are none.
#[derive(Debug, Default)]
pub(crate) struct Division {
    pub(crate) splits: Splits,
    /// Remarks on it for the user.
    pub(crate) remarks: Vec<String>,
}

/// The split that a first-level folder is by its name.
pub(crate) fn split_of(folder: &[u8]) -> Option<&'static str> {
    split_named(std::str::from_utf8(folder).ok()?)
}

/// Returns whether these first-level folders, all that hold images, are splits: they have the names
/// of splits, and there are two of them, or one that holds folders itself. A single folder `train`
/// with images right in it may be a class of vehicles.
pub(crate) fn are_splits<'a>(
    names: impl Iterator<Item = &'a [u8]>,
    hold_folders: impl FnOnce() -> bool,
) -> bool {
    let names: BTreeSet<&[u8]> = names.collect();
    let named = names.iter().all(|name| split_of(name).is_some());
    named && (names.len() > 1 || (names.len() == 1 && hold_folders()))
}

impl Listing {
    /// Returns what the first-level folders are.
    pub(crate) fn division(&self, root: &Path) -> Result<Division> {
        let paths = || self.folders().map(|(path, _)| parts(path));
        let firsts: Vec<&[u8]> = paths().map(|(first, _)| first).collect();
        let names: BTreeSet<&[u8]> = firsts.iter().copied().collect();
        let is_deep = || paths().all(|(_, rest)| !rest.is_empty());
        if !are_splits(names.iter().copied(), is_deep) {
            let remarks = why_classes(&names).or_else(|| self.why_not_below(root, &names));
            return Ok(Division { remarks: remarks.into_iter().collect(), ..Division::default() });
        }
        let first = |folder: u32| firsts.get(folder as usize).copied().unwrap_or_default();
        let runs = self.files().map(|(folder, _)| (split_of(first(folder)).unwrap_or_default(), 1));
        Ok(Division { splits: split_ranges(runs), remarks: renamed(root, &names)? })
    }

    /// That the only class holds folders which are called as splits are.
    fn why_not_below(&self, root: &Path, names: &BTreeSet<&[u8]>) -> Option<String> {
        let only = names.first().filter(|only| names.len() == 1 && !only.is_empty())?;
        let below = || self.folders().map(|(path, _)| parts(parts(path).1));
        let is_deep = || below().all(|(_, rest)| !rest.is_empty());
        are_splits(below().map(|(second, _)| second), is_deep).then(|| {
            let seconds: BTreeSet<&[u8]> = below().map(|(second, _)| second).collect();
            format!(
                "{} is the only class, and the folders in it are called as splits are ({}); give \
                 {} as the source to keep them",
                key_of_path(only),
                listed(seconds.iter().copied()),
                join(root, only).display()
            )
        })
    }
}

/// Returns what the first parts of the paths of a table are, whose columns say what the classes
/// are.
pub(crate) fn of_table(root: &Path, paths: &[Box<[u8]>]) -> Result<Division> {
    let names: BTreeSet<&[u8]> = paths.iter().map(|path| folder(path)).collect();
    if names.iter().any(|name| split_of(name).is_none()) {
        let remarks = why_classes(&names).into_iter().collect();
        return Ok(Division { remarks, ..Division::default() });
    }
    Ok(Division { splits: of_paths(paths)?, remarks: renamed(root, &names)? })
}

/// The splits that the first parts of paths name: runs of lines.
pub(crate) fn of_paths(paths: &[Box<[u8]>]) -> Result<Splits> {
    let named = paths.iter().map(|path| {
        split_of(folder(path)).map(|split| (split, 1)).ok_or_else(|| {
            let what = format!("`{}` is in none of the split folders", key_of_path(path));
            Error::usage(named::LABELS, what)
        })
    });
    Ok(split_ranges(named.collect::<Result<Vec<_>>>()?))
}

/// The first-level folder that a file lies in; empty where it lies right in the root.
fn folder(path: &[u8]) -> &[u8] {
    let (first, rest) = parts(path);
    if rest.is_empty() { b"" } else { first }
}

/// Why folders that are called as splits are no splits; nothing where none is called so.
fn why_classes(names: &BTreeSet<&[u8]>) -> Option<String> {
    let (named, others): (Vec<&[u8]>, Vec<&[u8]>) =
        names.iter().copied().partition(|name| split_of(name).is_some());
    let why = match (&named[..], &others[..]) {
        ([], _) => return None,
        (_, []) => "images lie right in it, and no other split lies beside it".to_owned(),
        (_, others) => format!("images also lie in {}", listed(others.iter().copied())),
    };
    let (are, named) =
        (if named.len() == 1 { "is not a split" } else { "are no splits" }, listed(named));
    Some(format!("{named} {are}: {why}"))
}

/// That splits are called by their names in lower case.
///
/// # Errors
/// `Usage` when two folders are the same split.
fn renamed(root: &Path, names: &BTreeSet<&[u8]>) -> Result<Vec<String>> {
    let mut known: BTreeMap<&str, &[u8]> = BTreeMap::new();
    let mut remarks = Vec::new();
    for name in names {
        let split = split_of(name).unwrap_or_default();
        if let Some(other) = known.insert(split, name) {
            let what = message!(
                "{}: the folders `{}` and `{}` are both the split `{split}`; rename one of them, or \
                 take them for classes with {}",
                root.display(),
                key_of_path(other),
                key_of_path(name),
                named::NO_SPLIT_FOLDERS
            );
            return Err(Error::usage("source", what));
        }
        if split.as_bytes() != *name {
            remarks.push(format!("the folder {} is the split {split}", key_of_path(name)));
        }
    }
    Ok(remarks)
}

fn listed<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> String {
    let shown = |name: &[u8]| match name {
        b"" => "the source itself".to_owned(),
        name => key_of_path(name),
    };
    let names: Vec<String> = names.into_iter().map(shown).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "))
}

/// The first part of a path, and what follows its slash.
pub(crate) fn parts(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
    (path.get(..slash).unwrap_or(path), path.get(slash + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::listing::ListingBuilder;

    fn division(folders: &[&str]) -> Result<Division> {
        let mut listing = ListingBuilder::default();
        for (path, label) in folders.iter().zip(0..) {
            let folder = listing.add_folder(path.as_bytes(), label).unwrap();
            listing.add_file(folder, b"1.jpg").unwrap();
            listing.add_file(folder, b"2.jpg").unwrap();
        }
        listing.finish()?.division(Path::new("r"))
    }

    fn splits(folders: &[&str]) -> Splits {
        division(folders).unwrap().splits
    }

    #[test]
    fn only_names_of_splits_beyond_chance_make_splits() {
        let expected = [("test".to_owned(), 0..2), ("train".to_owned(), 2..6)];
        assert_eq!(splits(&["test/a", "train/a", "train/b"]), expected);
        assert_eq!(splits(&["train", "val"]).len(), 2);
        assert_eq!(splits(&["train/a"]), [("train".to_owned(), 0..2)]);
        for classes in [&["train"][..], &["bus", "train"], &["train/a", "valley"], &["Train", "x"]]
        {
            let Division { splits, remarks } = division(classes).unwrap();
            assert!(splits.is_empty() && remarks[0].contains("is not a split: "), "{classes:?}");
        }
        assert!(division(&["a", "b"]).unwrap().remarks.is_empty());
    }

    #[test]
    fn case_is_no_matter_and_two_folders_are_no_split() {
        let Division { splits, remarks } = division(&["VAL/a", "train/a"]).unwrap();
        assert_eq!(splits, [("val".to_owned(), 0..2), ("train".to_owned(), 2..4)]);
        assert_eq!(remarks, ["the folder VAL is the split val"]);
        let error = division(&["Train/a", "train/a"]).unwrap_err().to_string();
        assert!(error.contains("`Train` and `train`"), "{error}");
    }

    #[test]
    fn splits_a_level_too_deep_are_told() {
        let remarks = division(&["set/train/a", "set/val/a"]).unwrap().remarks;
        assert!(remarks[0].contains("r/set as the source"), "{remarks:?}");
        assert!(division(&["cats/train", "dogs/val"]).unwrap().remarks.is_empty());
    }
}
