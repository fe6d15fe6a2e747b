//! Classes of a folder whose first-level folders are splits: the folders in these.
use crate::folder::{
    Folder,
    layout::key_of_path,
    listing::{Listing, UNLABELLED},
    split_folders::{Division, parts, split_of},
    walk::Found,
};
use fdconvert_core::{Error, Result, Style, message, named, shell_word};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Finds the splits; with them, the folders in them are the classes.
pub(crate) fn divide(root: &Path, how: &Folder, found: &mut Found) -> Result<Division> {
    if !how.split_folders {
        return Ok(Division::default());
    }
    let division = found.listing.division(root)?;
    if !division.splits.is_empty() {
        found.class_names = found.listing.relabel_below_splits(root, &how.selected_splits)?;
    }
    Ok(division)
}

impl Listing {
    /// Makes the folders below the splits the classes, the same ones in every split, and gives
    /// their names; none where images lie right in the splits. With `selected` splits only these
    /// have to be alike: images right in others have no class, and are not to be read.
    fn relabel_below_splits(&mut self, root: &Path, selected: &[String]) -> Result<Vec<String>> {
        let is_taken = |split: &[u8]| {
            let name = split_of(split).unwrap_or_default();
            selected.is_empty() || selected.iter().any(|selected| selected == name)
        };
        let (mut flat, mut deep) = (BTreeSet::new(), BTreeMap::new());
        for (path, _) in self.folders() {
            let (split, below) = parts(path);
            if !is_taken(split) {
                continue;
            }
            if below.is_empty() {
                flat.insert(split);
            } else {
                deep.entry(split).or_insert(path);
            }
        }
        if !flat.is_empty() && !deep.is_empty() {
            return Err(unlike(root, &flat, &deep));
        }
        if deep.is_empty() {
            return Ok(Vec::new());
        }
        // Of all splits, so that numbers do not depend on which ones are taken.
        let classes = self.folders().map(|(path, _)| parts(parts(path).1).0.to_vec());
        let classes: BTreeSet<Vec<u8>> = classes.filter(|class| !class.is_empty()).collect();
        let numbers: BTreeMap<Vec<u8>, u32> = classes.iter().cloned().zip(0..).collect();
        self.relabel(|path| numbers.get(parts(parts(path).1).0).copied().unwrap_or(UNLABELLED));
        Ok(classes.iter().map(|name| key_of_path(name)).collect())
    }
}

/// Splits that have classes and splits that have none are two datasets. Labels are never invented.
fn unlike(root: &Path, flat: &BTreeSet<&[u8]>, deep: &BTreeMap<&[u8], &[u8]>) -> Error {
    let quoted = |folders: &mut dyn Iterator<Item = &[u8]>| {
        folders.map(|folder| format!("`{}`", key_of_path(folder))).collect::<Vec<_>>().join(", ")
    };
    let example = deep.values().next().map_or_else(String::new, |path| key_of_path(path));
    let why = format!(
        "{}: images lie right in the split {} {} and have no class, those in {} have that of their \
         folder, such as {example}",
        root.display(),
        if flat.len() == 1 { "folder" } else { "folders" },
        quoted(&mut flat.iter().copied()),
        quoted(&mut deep.keys().copied()),
    );
    let both: Vec<&[u8]> = flat.iter().copied().filter(|it| deep.contains_key(it)).collect();
    let cure = if both.is_empty() {
        let command = |folders: &mut dyn Iterator<Item = &[u8]>| {
            let splits: Vec<&str> = folders.filter_map(split_of).collect();
            let source = shell_word(&root.display().to_string());
            // A whole line for a shell has flags wherever it is read.
            let select = message!("{}", named::SELECT_SPLITS.with(splits.join(",")));
            format!("fdconvert pack {source} OUT {}", select.in_style(Style::Command))
        };
        message!(
            "pack them as two datasets, `{}` and, without labels, `{}`",
            command(&mut deep.keys().copied()),
            command(&mut flat.iter().copied())
        )
    } else {
        message!(
            "move the images right in {} into class folders, or list files and labels in a table \
             and give it with {}",
            quoted(&mut both.into_iter()),
            named::LABELS
        )
    };
    Error::usage("source", message!("{why}; {cure}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::listing::ListingBuilder;

    fn listing(folders: &[&str]) -> Listing {
        let mut listing = ListingBuilder::default();
        for path in folders {
            let folder = listing.add_folder(path.as_bytes(), 7).unwrap();
            listing.add_file(folder, b"1.jpg").unwrap();
        }
        listing.finish().unwrap()
    }

    fn labels(listing: &Listing) -> Vec<u32> {
        listing.folders().map(|(_, label)| label).collect()
    }

    #[test]
    fn classes_have_one_number_in_all_splits() {
        let mut listing = listing(&["train/b", "train/c/x", "val/a", "val/b"]);
        let names = listing.relabel_below_splits(Path::new("r"), &[]).unwrap();
        assert_eq!(
            (names, labels(&listing)),
            (["a", "b", "c"].map(Into::into).into(), vec![1, 2, 0, 1])
        );
    }

    #[test]
    fn splits_with_and_without_classes_are_refused_unless_one_kind_is_selected() {
        let folders = ["Test", "train/a", "val/b"];
        let relabel = |selected: &[&str]| {
            let selected: Vec<String> = selected.iter().map(ToString::to_string).collect();
            let mut listing = listing(&folders);
            let names = listing.relabel_below_splits(Path::new("my r"), &selected)?;
            Ok::<_, Error>((names, labels(&listing)))
        };
        let error = relabel(&[]).unwrap_err().to_string();
        for part in [
            "`Test`",
            "train/a",
            "`fdconvert pack 'my r' OUT --select-splits train,val`",
            "`fdconvert pack 'my r' OUT --select-splits test`",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(relabel(&["val"]).unwrap().1, [UNLABELLED, 0, 1]);
        assert_eq!(relabel(&["test"]).unwrap().0, [""; 0]);
        let mixed = listing(&["train", "train/a", "val/a"])
            .relabel_below_splits(Path::new("r"), &[])
            .unwrap_err();
        assert!(mixed.to_string().contains("into class folders"), "{mixed}");
    }
}
