//! Classes of a folder with splits at the first level: the folders in these.
use crate::folder::{
    Folder,
    layout::key_of_path,
    levels::Levels,
    listing::{Listing, UNLABELLED},
    mask_files::masks_among_images,
    names::normal,
    roles::{SHOWN, listed},
    split_folders::{Division, split_of},
    walk::Found,
};
use fdconvert_core::{Error, Result, option};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Determines which folders are splits and which are classes, and sets the classes.
///
/// # Errors
/// `Usage` for folders that can be neither, and if some splits have classes and others do not.
pub(crate) fn divide(root: &Path, how: &Folder, found: &mut Found) -> Result<Division> {
    let masks = masks_among_images(&found.listing);
    if !found.listing.parts_images() || !how.split_folders {
        if how.split_folders {
            found.keep_empty("", 1);
        }
        let labels = match found.class_names.is_empty() {
            true => "the images are in one folder",
            false => "from folders",
        };
        let mut division = Division { labels: Some(labels.into()), ..Division::default() };
        division.tell(masks);
        return Ok(division);
    }
    let (levels, mut division) = found.listing.division(root)?;
    division.tell(masks);
    found.keep_empty(&key_of_path(&levels.above), levels.class_depth());
    if !levels.are_plain() {
        found.class_names = found.listing.relabel_by(root, &levels, &how.selected_splits)?;
        division.tell(found.listing.partial_classes(&levels, &how.selected_splits));
    }
    division.labels = Some(origin(&levels, !found.class_names.is_empty()));
    Ok(division)
}

/// The origin of the labels, or why there are none.
pub(crate) fn origin(levels: &Levels, has_classes: bool) -> String {
    let above = || key_of_path(levels.above.strip_suffix(b"/").unwrap_or(&levels.above));
    match (levels.has_splits, has_classes, levels.above.is_empty()) {
        (true, true, _) => "from the folders in the splits".into(),
        (true, false, _) => "the images are directly in the splits".into(),
        (false, true, true) => "from folders".into(),
        (false, true, false) => format!("from the folders in {}", above()),
        (false, false, true) => "the folders are no classes".into(),
        (false, false, false) => format!("the images are in {}", above()),
    }
}

impl Listing {
    /// Makes the folders below the splits the classes, with the same numbers in every split, and
    /// returns their names; none if images are directly in the splits. With `selected` splits only
    /// these must agree: images directly in other splits have no class, and will not be read.
    fn relabel_by(
        &mut self,
        root: &Path,
        levels: &Levels,
        selected: &[String],
    ) -> Result<Vec<String>> {
        let (mut flat, mut deep) = (BTreeSet::new(), BTreeMap::new());
        for (path, _) in self.folders() {
            let split = levels.split(path).unwrap_or_default();
            if !is_taken(split, selected) {
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
        // From all splits, so that numbers do not depend on the selection.
        let classes = self.folders().map(|(path, _)| levels.class(path).to_vec());
        let classes: BTreeSet<Vec<u8>> = classes.filter(|class| !class.is_empty()).collect();
        let numbers: BTreeMap<Vec<u8>, u32> = classes.iter().cloned().zip(0..).collect();
        self.relabel(|path| numbers.get(levels.class(path)).copied().unwrap_or(UNLABELLED));
        Ok(classes.iter().map(|name| key_of_path(name)).collect())
    }

    /// Warns about classes with images in only some of the selected splits.
    fn partial_classes(&self, levels: &Levels, selected: &[String]) -> Option<String> {
        let mut splits_of: BTreeMap<&[u8], BTreeSet<&[u8]>> = BTreeMap::new();
        for (path, _) in self.folders() {
            let (split, class) = (levels.split(path)?, levels.class(path));
            if !class.is_empty() && is_taken(split, selected) {
                splits_of.entry(class).or_default().insert(split);
            }
        }
        let splits: BTreeSet<&[u8]> = splits_of.values().flatten().copied().collect();
        let partial = splits_of.iter().filter(|(_, own)| own.len() < splits.len());
        let partial: Vec<String> = partial
            .map(|(class, own)| {
                format!("{} in {} only", key_of_path(class), listed(own.iter().copied()))
            })
            .collect();
        let first = partial.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if partial.len() > SHOWN { ", ..." } else { "" };
        let are = if partial.len() == 1 { "is" } else { "are" };
        (!partial.is_empty()).then(|| {
            format!(
                "{} of {} classes {are} in some of the splits only: {first}{more}",
                partial.len(),
                splits_of.len()
            )
        })
    }
}

fn is_taken(split: &[u8], selected: &[String]) -> bool {
    selected.is_empty() || split_of(split).is_some_and(|name| selected.contains(&name))
}

/// Reports class names that people would read as the same; `None` if there are none.
#[must_use]
pub fn alike_classes(class_names: &[String]) -> Option<String> {
    let mut groups: BTreeMap<Vec<u8>, Vec<&str>> = BTreeMap::new();
    for name in class_names {
        let words: Vec<&str> = name.split_whitespace().collect();
        let lower = words.join(" ").to_lowercase();
        groups.entry(normal(lower.as_bytes()).into_owned()).or_default().push(name);
    }
    let groups: Vec<String> = groups
        .values()
        .filter(|group| group.len() > 1)
        .map(|group| group.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "))
        .collect();
    let first = groups.first()?;
    let others = match groups.len() - 1 {
        0 => String::new(),
        n => format!(", and so do those of {n} more names"),
    };
    Some(format!(
        "the classes {first} differ in nothing but case, blanks or the form of accented letters (NFC \
         and NFD){others}: where they are one class, give them one name"
    ))
}

/// Splits with classes and splits without are two datasets. Labels are never invented.
fn unlike(root: &Path, flat: &BTreeSet<&[u8]>, deep: &BTreeMap<&[u8], &[u8]>) -> Error {
    let quoted = |folders: &mut dyn Iterator<Item = &[u8]>| {
        folders.map(|folder| format!("`{}`", key_of_path(folder))).collect::<Vec<_>>().join(", ")
    };
    let example = deep.values().next().map_or_else(String::new, |path| key_of_path(path));
    let why = format!(
        "{}: images are directly in the split {} {} and have no class, those in {} have that of their \
         folder, such as {example}",
        root.display(),
        if flat.len() == 1 { "folder" } else { "folders" },
        quoted(&mut flat.iter().copied()),
        quoted(&mut deep.keys().copied()),
    );
    let both: Vec<&[u8]> = flat.iter().copied().filter(|it| deep.contains_key(it)).collect();
    if both.is_empty() {
        let only = |folders: &mut dyn Iterator<Item = &[u8]>| {
            let splits: Vec<String> = folders.filter_map(split_of).collect();
            option::WHERE.with(format_args!("split in [\"{}\"]", splits.join("\", \"")))
        };
        Error::usage("source", format!("{why}; pack them as two datasets"))
            .cure("to pack those with classes", only(&mut deep.keys().copied()))
            .cure("to pack those without labels", only(&mut flat.iter().copied()))
            .cure("to open the folder itself with the one or the other", option::SPLIT)
    } else {
        let both = quoted(&mut both.into_iter());
        let cure = "into class folders, or list files and labels in a table";
        Error::usage("source", format!("{why}; move the images right in {both} {cure}"))
            .cure("to give the table", option::LABELS)
    }
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

    #[test]
    fn classes_of_some_splits_only_are_told() {
        let said = |folders: &[&str], selected: &[String]| {
            let listing = listing(folders);
            let (levels, _) = listing.division(Path::new("r")).unwrap();
            listing.partial_classes(&levels, selected).unwrap_or_default()
        };
        let folders = ["train/cat", "train/dog", "val/cat", "val/dog", "val/wolf"];
        let expected = "1 of 3 classes is in some of the splits only: wolf in val only";
        assert_eq!(said(&folders, &[]), expected);
        assert_eq!(said(&folders, &["val".into()]), "");
        assert_eq!(said(&["a", "b"], &[]), "");
    }

    #[test]
    fn classes_that_look_like_one_are_told() {
        let said = |names: &[&str]| {
            alike_classes(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
                .unwrap_or_default()
        };
        assert!(said(&["Cat", "cat", "dog"]).starts_with("the classes `Cat` and `cat` differ in"));
        assert!(said(&["cat", "cat ", "dog"]).contains("`cat` and `cat `"));
        assert!(
            said(&["caf\u{e9}", "cafe\u{301}", "A", "a"]).contains(", and so do those of 1 more")
        );
        assert_eq!(said(&["cat", "cats", "c at"]), "");
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
            "to pack those with classes: where=split in [\"train\", \"val\"]; ",
            "to pack those without labels: where=split in [\"test\"]; ",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(relabel(&["val"]).unwrap().1, [UNLABELLED, 0, 1]);
        assert_eq!(relabel(&["test"]).unwrap().0, [""; 0]);
        let mixed = relabelled(&mut listing(&["train", "train/a", "val/a"]), &[]).unwrap_err();
        assert!(mixed.to_string().contains("into class folders"), "{mixed}");
    }
}
