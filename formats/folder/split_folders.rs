//! Detects split folders, such as `train` and `val`, above the folders of classes, and makes
//! remarks about them.
use crate::folder::{
    layout::key_of_path,
    levels::{Levels, below, parts},
    listing::Listing,
    masks,
    roles::listed,
};
use fdconvert_core::{Error, Remark, Result, Splits, option, split_of_folder, split_ranges};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Meaning of the folders: splits, or classes if there are no splits.
#[derive(Debug, Default)]
pub(crate) struct Division {
    pub(crate) splits: Splits,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) labels: Option<String>,
}

impl Division {
    /// Adds remarks.
    pub(crate) fn tell<R: Into<Remark>>(&mut self, remarks: impl IntoIterator<Item = R>) {
        self.remarks.extend(remarks.into_iter().map(Into::into));
    }
}

/// The split of a folder of that name: the name in lower case.
pub(crate) fn split_of(folder: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(folder).ok()?;
    split_of_folder(name).map(|_| name.to_ascii_lowercase())
}

/// The word that makes a folder a split, or suggests it.
pub(crate) fn split_word(folder: &[u8]) -> Option<&'static str> {
    fdconvert_core::split_word(std::str::from_utf8(folder).ok()?)
}

/// Returns true if these first-level folders, all that hold images, are splits: they have the names
/// of splits, and there are two of them, or one with subfolders. A single folder `train` with
/// images directly in it may be a class of vehicles.
pub(crate) fn are_splits<'a>(
    names: impl Iterator<Item = &'a [u8]>,
    hold_folders: impl FnOnce() -> bool,
) -> bool {
    let names: BTreeSet<&[u8]> = names.collect();
    let named = names.iter().all(|name| split_of(name).is_some());
    named && (names.len() > 1 || (names.len() == 1 && hold_folders()))
}

impl Levels {
    /// The splits of samples in these folders, in order.
    fn splits_of<'a>(&self, folders: impl Iterator<Item = &'a [u8]>) -> Splits {
        // Once per run of files in a folder.
        let (mut last, mut name): (Option<&[u8]>, String) = (None, String::new());
        let mut runs: Vec<(String, u64)> = Vec::new();
        for folder in folders {
            if last != Some(folder) {
                name = self.split(folder).and_then(split_of).unwrap_or_default();
                last = Some(folder);
            }
            match runs.last_mut() {
                Some((run, n)) if *run == name => *n += 1,
                _ => runs.push((name.clone(), 1)),
            }
        }
        split_ranges(runs.iter().map(|(name, n)| (&**name, *n)))
    }

    /// The folders of splits, or of classes if there are no splits.
    fn firsts<'a>(&self, folders: &BTreeSet<&'a [u8]>) -> BTreeSet<&'a [u8]> {
        below(folders, &self.above).map(|rest| parts(rest).0).collect()
    }
}

impl Listing {
    /// The levels of its folders, and the resulting division.
    pub(crate) fn division(&self, root: &Path) -> Result<(Levels, Division)> {
        let paths: Vec<&[u8]> = self.folders().map(|(path, _)| path).collect();
        let folders: BTreeSet<&[u8]> = paths.iter().copied().collect();
        let levels = Levels::of(root, &folders, true)?;
        let mut division = Division::default();
        division.tell(levels.remarks(root, &folders));
        division.tell(masks::by_files(root, self, &levels, &folders)?);
        let names = levels.firsts(&folders);
        if !levels.has_splits {
            division.tell(why_classes(&names));
            return Ok((levels, division));
        }
        let files = self.files().map(|(folder, _)| paths.get(folder as usize).copied());
        division.splits = levels.splits_of(files.map(Option::unwrap_or_default));
        division.tell(renamed(root, &names)?);
        Ok((levels, division))
    }
}

/// The division given by the paths of a table; its columns define the classes.
pub(crate) fn of_table(root: &Path, paths: &[Box<[u8]>]) -> Result<Division> {
    let folders: BTreeSet<&[u8]> = paths.iter().map(|path| folder(path)).collect();
    let levels = Levels::of(root, &folders, false)?;
    let names = levels.firsts(&folders);
    let mut division = Division::default();
    if !levels.has_splits {
        division.tell(why_classes(&names));
        return Ok(division);
    }
    division.splits = of_paths(&levels, paths)?;
    division.tell(renamed(root, &names)?);
    Ok(division)
}

/// The splits given by paths, as runs of lines.
pub(crate) fn of_paths(levels: &Levels, paths: &[Box<[u8]>]) -> Result<Splits> {
    let is_outside = |path: &[u8]| levels.split(folder(path)).and_then(split_of).is_none();
    if let Some(path) = paths.iter().find(|path| is_outside(path)) {
        let what = format!("`{}` is in none of the split folders", key_of_path(path));
        return Err(Error::usage(option::LABELS, what));
    }
    Ok(levels.splits_of(paths.iter().map(|path| folder(path))))
}

/// The folder of a file, with a final slash; empty if that is the root.
pub(crate) fn folder(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    path.get(..end).unwrap_or_default()
}

/// Why folders with names of splits are no splits; empty if there are none.
fn why_classes(names: &BTreeSet<&[u8]>) -> Option<String> {
    let (named, others): (Vec<&[u8]>, Vec<&[u8]>) =
        names.iter().copied().partition(|name| split_of(name).is_some());
    let why = match (&named[..], &others[..]) {
        ([], _) => return None,
        (_, []) => "it contains images directly, and has no other split next to it".to_owned(),
        (_, others) => format!("images are also in {}", listed(others.iter().copied())),
    };
    let (are, named) =
        (if named.len() == 1 { "is not a split" } else { "are no splits" }, listed(named));
    Some(format!("{named} {are}: {why}"))
}

/// Reports splits with names changed to lower case.
///
/// # Errors
/// `Usage` when two folders are the same split.
fn renamed(root: &Path, names: &BTreeSet<&[u8]>) -> Result<Vec<String>> {
    let mut known: BTreeMap<String, &[u8]> = BTreeMap::new();
    let mut remarks = Vec::new();
    for name in names {
        let split = split_of(name).unwrap_or_default();
        if let Some(other) = known.insert(split.clone(), name) {
            let what = format!(
                "{}: the folders `{}` and `{}` are both the split `{split}`; rename one of them",
                root.display(),
                key_of_path(other),
                key_of_path(name)
            );
            return Err(Error::usage("source", what)
                .cure("to take them for classes", option::NO_SPLIT_FOLDERS.on()));
        }
        if split.as_bytes() != *name {
            remarks.push(format!("the folder {} is the split {split}", key_of_path(name)));
        }
    }
    Ok(remarks)
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
        Ok(listing.finish()?.division(Path::new("r"))?.1)
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
        for classes in [&["train"][..], &["bus", "train"], &["Train", "x"]] {
            let Division { splits, remarks, .. } = division(classes).unwrap();
            assert!(
                splits.is_empty() && remarks[0].text.contains("is not a split: "),
                "{classes:?}"
            );
        }
        assert!(division(&["a", "b"]).unwrap().remarks.is_empty());
        for beside in ["valley", "holdout/a"] {
            let error = division(&["train/a", "train/b", beside]).unwrap_err().to_string();
            assert!(
                error.contains("images are also in") && error.contains("as r/train"),
                "{error}"
            );
        }
    }

    #[test]
    fn case_is_no_matter_and_two_folders_are_no_split() {
        let Division { splits, remarks, .. } = division(&["VAL/a", "train/a"]).unwrap();
        assert_eq!(splits, [("val".to_owned(), 0..2), ("train".to_owned(), 2..4)]);
        assert_eq!(remarks, ["the folder VAL is the split val".into()]);
        let error = division(&["Train/a", "train/a"]).unwrap_err().to_string();
        assert!(error.contains("`Train` and `train`"), "{error}");
    }

    #[test]
    fn splits_a_level_too_deep_are_found_and_told() {
        let Division { splits, remarks, .. } = division(&["set/train/a", "set/val/a"]).unwrap();
        assert_eq!(splits, [("train".to_owned(), 0..2), ("val".to_owned(), 2..4)]);
        assert!(remarks[0].text.contains("all images are in set"), "{remarks:?}");
    }

    #[test]
    fn names_of_splits_are_words_with_little_behind_them() {
        for name in [
            "train",
            "Training",
            "training_set",
            "TrainSet",
            "train2017",
            "train_images",
            "trainval",
            "val",
            "valid",
            "validation",
            "val_256",
            "dev",
            "eval",
            "test",
            "Testing",
            "test1",
            "Test set",
        ] {
            assert_eq!(split_of(name.as_bytes()), Some(name.to_lowercase()));
        }
        for name in
            ["trains", "tra", "ing", "set", "trainer", "testament", "train201755", "eve", ""]
        {
            assert_eq!(split_of(name.as_bytes()), None, "{name}");
        }
    }
}
