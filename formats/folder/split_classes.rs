//! Classes of a folder whose first-level folders are splits: the folders in these.
use crate::folder::{
    Folder,
    layout::key_of_path,
    levels::Levels,
    listing::{Listing, UNLABELLED},
    roles::is_mask_file,
    split_folders::{Division, split_of},
    walk::Found,
};
use fdconvert_core::{Error, Result, Style, message, named, shell_word};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// One file in so many that is called as a mask is told.
const MASKS_TOLD: u64 = 10;

/// Finds out which folders are splits and which are classes, and makes these the classes.
///
/// # Errors
/// `Usage` for folders that can be neither, and where some splits have classes and others none.
pub(crate) fn divide(root: &Path, how: &Folder, found: &mut Found) -> Result<Division> {
    let remarks: Vec<String> = found.listing.masks_among_images().into_iter().collect();
    if !found.listing.parts_images() || !how.split_folders {
        let labels = match found.class_names.is_empty() {
            true => "the images lie in one folder",
            false => "from folders",
        };
        return Ok(Division { remarks, labels: Some(labels.into()), ..Division::default() });
    }
    let (levels, mut division) = found.listing.division(root)?;
    division.remarks.extend(remarks);
    found.keep_empty(&key_of_path(&levels.above), levels.class_depth());
    if !levels.are_plain() {
        found.class_names = found.listing.relabel_by(root, &levels, &how.selected_splits)?;
    }
    division.labels = Some(origin(&levels, !found.class_names.is_empty()));
    Ok(division)
}

/// Where the labels come from, or why there are none.
pub(crate) fn origin(levels: &Levels, has_classes: bool) -> String {
    let above = || key_of_path(levels.above.strip_suffix(b"/").unwrap_or(&levels.above));
    match (levels.has_splits, has_classes, levels.above.is_empty()) {
        (true, true, _) => "from the folders in the splits".into(),
        (true, false, _) => "the images lie right in the splits".into(),
        (false, true, true) => "from folders".into(),
        (false, true, false) => format!("from the folders in {}", above()),
        (false, false, true) => "the folders are no classes".into(),
        (false, false, false) => format!("the images lie in {}", above()),
    }
}

impl Listing {
    /// That many files are called as masks of those beside them, and would be samples like these.
    fn masks_among_images(&self) -> Option<String> {
        let masks = || self.files().filter(|(_, name)| is_mask_file(name));
        let (n_masks, n_files) = (masks().count() as u64, self.len());
        let first = masks().next().map(|(_, name)| key_of_path(name))?;
        (n_masks >= n_files.div_ceil(MASKS_TOLD)).then(|| {
            format!(
                "{n_masks} of {n_files} images are called as masks of others, such as {first}, and \
                 are samples of their own here: move them elsewhere, or list the images in a table"
            )
        })
    }

    /// Makes the folders below the splits the classes, the same ones in every split, and gives
    /// their names; none where images lie right in the splits. With `selected` splits only these
    /// have to be alike: images right in others have no class, and are not to be read.
    fn relabel_by(
        &mut self,
        root: &Path,
        levels: &Levels,
        selected: &[String],
    ) -> Result<Vec<String>> {
        let is_taken = |split: &[u8]| {
            let name = split_of(split).unwrap_or_default();
            selected.is_empty() || selected.contains(&name)
        };
        let (mut flat, mut deep) = (BTreeSet::new(), BTreeMap::new());
        for (path, _) in self.folders() {
            let split = levels.split(path).unwrap_or_default();
            if !is_taken(split) {
                continue;
            }
            if levels.class(path).is_empty() {
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
        let classes = self.folders().map(|(path, _)| levels.class(path).to_vec());
        let classes: BTreeSet<Vec<u8>> = classes.filter(|class| !class.is_empty()).collect();
        let numbers: BTreeMap<Vec<u8>, u32> = classes.iter().cloned().zip(0..).collect();
        self.relabel(|path| numbers.get(levels.class(path)).copied().unwrap_or(UNLABELLED));
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
            let splits: Vec<String> = folders.filter_map(split_of).collect();
            let source = shell_word(&root.display().to_string());
            // A whole line for a shell has flags wherever it is read.
            let select = message!("{}", named::SELECT_SPLITS.with(splits.join(",")));
            format!("fdconvert pack {source} OUT {}", select.in_style(Style::Command))
        };
        message!(
            "pack them as two datasets, `{}` and, without labels, `{}`; what opens the folder itself \
             takes the one or the other with {}",
            command(&mut deep.keys().copied()),
            command(&mut flat.iter().copied()),
            named::SPLIT
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

    fn relabelled(listing: &mut Listing, selected: &[String]) -> Result<Vec<String>> {
        let (levels, _) = listing.division(Path::new("r"))?;
        listing.relabel_by(Path::new("r"), &levels, selected)
    }

    fn labels(listing: &Listing) -> Vec<u32> {
        listing.folders().map(|(_, label)| label).collect()
    }

    #[test]
    fn classes_have_one_number_in_all_splits() {
        let mut listing = listing(&["train/b", "train/c/x", "val/a", "val/b"]);
        let names = relabelled(&mut listing, &[]).unwrap();
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
            let (levels, _) = listing.division(Path::new("my r"))?;
            let names = listing.relabel_by(Path::new("my r"), &levels, &selected)?;
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
        let mixed = relabelled(&mut listing(&["train", "train/a", "val/a"]), &[]).unwrap_err();
        assert!(mixed.to_string().contains("into class folders"), "{mixed}");
    }
}
