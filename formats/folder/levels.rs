//! The meaning of each folder level in a source: wrapping folders, splits, classes.
use crate::folder::{
    layout::key_of_path,
    masks::refuse_named,
    roles::{folders_in, is_container, is_part, listed, shown, unpacked},
    split_folders::{are_splits, split_of, split_word},
};
use fdconvert_core::{Error, Result, option};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    path::Path,
};

/// Meaning of the levels of the folders that hold images.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// Path of the wrapping folders: the only folder at the top, the only one in it, and so on.
    /// Ends in a slash unless empty.
    pub(crate) above: Vec<u8>,
    /// True if the folders inside are splits rather than classes.
    pub(crate) has_splits: bool,
    /// Folders that are no classes because they hold all images of a split, such as `images`, or
    /// only divide the images. Full paths with a final slash.
    inside: BTreeSet<Vec<u8>>,
    /// The subset with names that do not reveal this.
    told: BTreeSet<Vec<u8>>,
}

impl Levels {
    /// Determines the levels of these folders, which end in a slash except for the source itself.
    /// With labels from another source, folders need not be classes.
    ///
    /// # Errors
    /// `Usage` if folders would become classes although their names say otherwise.
    pub(crate) fn of(root: &Path, folders: &BTreeSet<&[u8]>, are_classes: bool) -> Result<Self> {
        let mut above = Vec::new();
        while let Some(only) = only_below(folders, &above)
            && split_of(only).is_none()
            && (is_deep(folders, &above) || (are_classes && holds_all(folders, &above, only)))
        {
            above.extend(only);
            above.push(b'/');
        }
        let names = names_in(folders, &above);
        if are_classes {
            refuse_named(root, folders)?;
        }
        let has_splits =
            are_splits(names.iter().copied(), || !are_classes || is_deep(folders, &above));
        let mut levels = Self { above, has_splits, ..Self::default() };
        if !are_classes {
            return Ok(levels);
        }
        if has_splits {
            levels.pass_in_splits(folders, &names);
            return Ok(levels);
        }
        refuse_splits_among_classes(root, folders, &levels.above, &names)?;
        refuse_splits_in_classes(root, folders, &levels.above, &names)?;
        if names.len() > 1 && names.iter().all(|name| is_part(name)) {
            levels.pass_parts(folders, &names);
        }
        Ok(levels)
    }

    /// Skips folders inside splits that hold all images of the split: those with names unlike
    /// classes, and those that are the only folder in every split and hold all images in
    /// subfolders.
    fn pass_in_splits(&mut self, folders: &BTreeSet<&[u8]>, splits: &BTreeSet<&[u8]>) {
        let start = |split: &&[u8]| [&self.above, *split, b"/"].concat();
        let mut places: Vec<(&[u8], Vec<u8>)> =
            splits.iter().map(|split| (*split, start(split))).collect();
        loop {
            let only = places.iter().map(|(_, place)| only_below(folders, place));
            let only: Vec<Option<&[u8]>> = only.collect();
            let is_of_all = only.windows(2).all(|two| two.first() == two.last())
                && places.iter().zip(&only).all(|((_, place), only)| {
                    only.is_some_and(|only| holds_classes(folders, place, only))
                });
            let mut passed = false;
            for ((split, place), only) in places.iter_mut().zip(only) {
                let Some(only) = only else { continue };
                let is_known = is_container(only) || is_same_split(only, split);
                if is_known || is_of_all {
                    place.extend(only);
                    place.push(b'/');
                    self.inside.insert(place.clone());
                    self.told.extend((!is_known).then(|| only.to_vec()));
                    passed = true;
                }
            }
            if !passed {
                return;
            }
        }
    }

    /// Skips folders such as `images_001` if all images are directly in them, or in one folder that
    /// is no class.
    fn pass_parts(&mut self, folders: &BTreeSet<&[u8]>, names: &BTreeSet<&[u8]>) {
        let mut inside = BTreeSet::new();
        for name in names {
            let mut place = [&self.above, *name, b"/"].concat();
            inside.insert(place.clone());
            while let Some(only) = only_below(folders, &place).filter(|only| is_container(only)) {
                place.extend(only);
                place.push(b'/');
                inside.insert(place.clone());
            }
            if names_in(folders, &place).iter().any(|name| !name.is_empty()) {
                return;
            }
        }
        self.inside = inside;
        self.told = names.iter().map(|name| name.to_vec()).collect();
    }

    /// The split folder that contains or is this folder; `None` without splits.
    pub(crate) fn split<'a>(&self, folder: &'a [u8]) -> Option<&'a [u8]> {
        let below = self.has_splits.then(|| folder.strip_prefix(&*self.above))??;
        Some(parts(below).0)
    }

    /// The class folder that contains or is this folder; empty if there is none.
    pub(crate) fn class<'a>(&self, folder: &'a [u8]) -> &'a [u8] {
        parts(self.below_splits(folder)).0
    }

    /// The path from the class on; empty if there is none.
    fn below_splits<'a>(&self, folder: &'a [u8]) -> &'a [u8] {
        let Some(mut below) = folder.strip_prefix(&*self.above) else { return b"" };
        if self.has_splits {
            below = parts(below).1;
        }
        while let (name, rest) = parts(below)
            && !name.is_empty()
            && let Some(path) = folder.get(..folder.len() - rest.len())
            && self.inside.contains(path)
        {
            below = rest;
        }
        below
    }

    /// The folders that contain class folders, each with more than one of them.
    pub(crate) fn places_of_classes<'a>(
        &self,
        folders: &BTreeSet<&'a [u8]>,
    ) -> BTreeMap<Vec<u8>, BTreeSet<&'a [u8]>> {
        let mut places: BTreeMap<Vec<u8>, BTreeSet<&[u8]>> = BTreeMap::new();
        for folder in folders {
            let below = self.below_splits(folder);
            let place = folder.get(..folder.len() - below.len()).unwrap_or_default();
            match places.get_mut(place) {
                Some(names) => _ = names.insert(parts(below).0),
                None => _ = places.insert(place.to_vec(), BTreeSet::from([parts(below).0])),
            }
        }
        places.retain(|_, names| names.len() > 1 && !names.contains(&b""[..]));
        places
    }

    /// Number of parts in the path of a class.
    pub(crate) fn class_depth(&self) -> usize {
        let depth = |path: &[u8]| path.iter().filter(|&&byte| byte == b'/').count();
        let above = depth(&self.above) + usize::from(self.has_splits);
        self.inside.iter().map(|path| depth(path)).max().unwrap_or(0).max(above) + 1
    }

    /// Returns true if the first-level folders are classes, as they would be without any rule.
    pub(crate) fn are_plain(&self) -> bool {
        self.above.is_empty() && !self.has_splits && self.inside.is_empty()
    }

    /// Warns about folders above the others, and about folders in classes.
    pub(crate) fn remarks(&self, root: &Path, folders: &BTreeSet<&[u8]>) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.above.is_empty() && names_in(folders, &self.above).iter().any(|it| !it.is_empty())
        {
            let what = if self.has_splits { "splits" } else { "classes" };
            remarks.push(format!(
                "all images are in {}, so the folders in it are the {what}",
                key_of_path(self.above.strip_suffix(b"/").unwrap_or(&self.above))
            ));
        }
        if !self.told.is_empty() {
            let names = listed(self.told.iter().map(Vec::as_slice));
            remarks.push(match self.has_splits {
                true => format!(
                    "all images of the splits are in {names}, so the folders in it are the classes"
                ),
                false => format!("the folders {names} only part the images: they are no classes"),
            });
        }
        remarks.extend(self.parts_of_split(root, folders));
        remarks.extend(self.below_classes(root, folders));
        remarks
    }

    /// Warns if all class names are words for splits, such as `train_HR` and `train_LR`.
    fn parts_of_split(&self, root: &Path, folders: &BTreeSet<&[u8]>) -> Option<String> {
        let classes = names_in(folders, &self.above);
        let are_called_so = classes.len() > 1 && classes.iter().all(|it| split_word(it).is_some());
        let first = classes.first().filter(|_| !self.has_splits && are_called_so)?;
        Some(format!(
            "the classes {} are all called by words for splits: where they are parts of one, give one \
             of them as the source, such as {}",
            listed(classes.iter().copied()),
            shown(root, &[&self.above, *first].concat())
        ))
    }

    /// Warns if all classes contain folders, since these may be the actual classes.
    fn below_classes(&self, root: &Path, folders: &BTreeSet<&[u8]>) -> Option<String> {
        let mut classes: BTreeMap<&[u8], BTreeSet<&[u8]>> = BTreeMap::new();
        for folder in folders {
            let (class, rest) = parts(self.below_splits(folder));
            let name = parts(rest).0;
            if name.is_empty() {
                return None;
            }
            classes.entry(class).or_default().insert(name);
        }
        if classes.len() < 2 {
            return None;
        }
        let mut in_classes: BTreeMap<&[u8], usize> = BTreeMap::new();
        for name in classes.values().flatten().filter(|name| !is_container(name)) {
            *in_classes.entry(name).or_default() += 1;
        }
        let all = listed(classes.keys().copied());
        let in_all = in_classes.iter().filter(|(_, n)| **n == classes.len());
        let in_all: Vec<&[u8]> = in_all.map(|(name, _)| *name).collect();
        if !in_all.is_empty() {
            let first = classes.keys().next().copied().unwrap_or_default();
            let cure = match (self.has_splits, unpacked(root)) {
                (true, _) => "list files and labels in a table".to_owned(),
                (false, folder) => format!(
                    "{}give {} and those next to it as sources",
                    if folder.is_some() { "unpack the source, and " } else { "" },
                    shown(folder.as_deref().unwrap_or(root), &[&self.above, first].concat())
                ),
            };
            return Some(format!(
                "the classes are {all}, and each of them has the folders {}: where these are the \
                 classes, {cure}",
                listed(in_all)
            ));
        }
        let lowest = listed(in_classes.keys().copied());
        (!lowest.is_empty()).then(|| {
            format!("the classes are {all}; folders in them, such as {lowest}, are no classes")
        })
    }
}

/// The first part of a path, and the rest after its slash.
pub(crate) fn parts(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
    (path.get(..slash).unwrap_or(path), path.get(slash + 1..).unwrap_or_default())
}

/// The paths below `place`, found by binary search: testing each folder for each class would take
/// too long.
pub(crate) fn below<'a>(
    folders: &BTreeSet<&'a [u8]>,
    place: &[u8],
) -> impl Iterator<Item = &'a [u8]> {
    let from = folders.range::<[u8], _>((Bound::Included(place), Bound::Unbounded));
    from.map_while(move |folder| folder.strip_prefix(place))
}

/// Names of the direct subfolders of `place` with images at any depth; an empty name if images are
/// directly in `place`.
pub(crate) fn names_in<'a>(folders: &BTreeSet<&'a [u8]>, place: &[u8]) -> BTreeSet<&'a [u8]> {
    below(folders, place).map(|rest| parts(rest).0).collect()
}

/// The only one of these names.
pub(crate) fn only_below<'a>(folders: &BTreeSet<&'a [u8]>, place: &[u8]) -> Option<&'a [u8]> {
    let names = names_in(folders, place);
    names.first().copied().filter(|only| names.len() == 1 && !only.is_empty())
}

/// Returns true if all images in `place` are at least two folders deep.
fn is_deep(folders: &BTreeSet<&[u8]>, place: &[u8]) -> bool {
    below(folders, place).all(|rest| !parts(rest).1.is_empty())
}

/// Returns true if all images in this folder, the only one in `place`, are in subfolders that may
/// be classes.
fn holds_classes(folders: &BTreeSet<&[u8]>, place: &[u8], only: &[u8]) -> bool {
    is_deep(folders, place) && folders_in(folders, place, only).iter().any(|it| !is_container(it))
}

/// Returns true if a folder in a split has the name of that split: `train_images` in `Training`.
fn is_same_split(only: &[u8], split: &[u8]) -> bool {
    let start = |name| split_word(name).and_then(|word| word.get(..2));
    only.eq_ignore_ascii_case(split) || (split_of(only).is_some() && start(only) == start(split))
}

/// Returns true if all images are directly in this folder, the only one in `place`, and its name
/// suggests no class.
fn holds_all(folders: &BTreeSet<&[u8]>, place: &[u8], only: &[u8]) -> bool {
    // Archives are often unpacked into a folder of their own name.
    let above = place.strip_suffix(b"/").unwrap_or(place).rsplit(|&byte| byte == b'/').next();
    (is_container(only) || above == Some(only)) && folders_in(folders, place, only).is_empty()
}

/// Refuses folders with names of splits, or similar ones, among classes.
fn refuse_splits_among_classes(
    root: &Path,
    folders: &BTreeSet<&[u8]>,
    above: &[u8],
    names: &BTreeSet<&[u8]>,
) -> Result<()> {
    let is_named = |name: &&[u8]| split_of(name).is_some();
    let (trains, others): (Vec<_>, Vec<_>) = names
        .iter()
        .filter_map(|name| Some((*name, split_word(name)?)))
        .partition(|(_, word)| word.starts_with("train"));
    let named: Vec<&[u8]> = names.iter().copied().filter(is_named).collect();
    // A single one with subfolders is no class of vehicles.
    let holds_folders = named.iter().any(|name| !folders_in(folders, above, name).is_empty());
    let are_parts = !trains.is_empty() && !others.is_empty();
    let like: BTreeSet<&[u8]> = trains.iter().chain(&others).map(|(name, _)| *name).collect();
    let are_splits = are_parts || named.len() > 1 || holds_folders;
    let Some(first) = like.first().filter(|_| are_splits) else { return Ok(()) };
    let rest: Vec<&[u8]> = names.difference(&like).copied().collect();
    let beside = match rest.is_empty() {
        true => String::new(),
        false => format!(", and images are also in {}", listed(rest)),
    };
    let folder = unpacked(root);
    let what = format!(
        "{}: {} have names of splits or similar ones{beside}: call splits `train`, `val` and \
         `test` and move all else out of their folder, or {}give one of the folders as the source, \
         such as {}",
        shown(root, above),
        listed(like.iter().copied()),
        if folder.is_some() { "unpack the source and " } else { "" },
        shown(folder.as_deref().unwrap_or(root), &[above, *first].concat())
    );
    Err(Error::usage("source", what).cure("to make a class of each", option::NO_SPLIT_FOLDERS.on()))
}

/// Refuses splits inside each class: any training would mix them.
fn refuse_splits_in_classes(
    root: &Path,
    folders: &BTreeSet<&[u8]>,
    above: &[u8],
    names: &BTreeSet<&[u8]>,
) -> Result<()> {
    let in_classes = names.iter().flat_map(|class| folders_in(folders, above, class));
    let splits: BTreeSet<&[u8]> = in_classes.filter(|name| split_of(name).is_some()).collect();
    let is_train = |name: &&&[u8]| split_word(name).is_some_and(|word| word.starts_with("train"));
    let n_train = splits.iter().filter(is_train).count();
    if n_train == 0 || n_train == splits.len() {
        return Ok(());
    }
    let what = format!(
        "{}: the classes {} hold folders with names of splits ({}), which would not be kept apart: \
         folders of splits are above those of classes; move them, or list files and labels in a \
         table",
        shown(root, above),
        listed(names.iter().copied()),
        listed(splits)
    );
    Err(Error::usage("source", what)
        .cure("to give the table", option::LABELS)
        .cure("to mix them", option::NO_SPLIT_FOLDERS.on()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits and classes of these folders.
    fn levels(paths: &[&str]) -> Result<Vec<String>> {
        let paths: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
        let folders: BTreeSet<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
        let levels = Levels::of(Path::new("r"), &folders, true)?;
        let shown = |folder: &[u8]| {
            let split = levels.split(folder).map(|split| format!("{}:", key_of_path(split)));
            split.unwrap_or_default() + &key_of_path(levels.class(folder))
        };
        Ok(folders.iter().map(|folder| shown(folder)).collect())
    }

    #[test]
    fn levels_of_well_known_layouts_are_found() {
        for (folders, expected) in [
            (&["a", "b/c"][..], &["a", "b"][..]),
            (&["brain/glioma", "brain/none"], &["glioma", "none"]),
            (&["images/001.A", "images/002.B"], &["001.A", "002.B"]),
            (&["2750/Forest", "2750/River"], &["Forest", "River"]),
            (&["images"], &[""]),
            (&["cat"], &["cat"]),
            (&["celeba/celeba"], &[""]),
            (&["train_station", "train_track"], &["train_station", "train_track"]),
            (&["Training/a", "Testing/a"], &["Testing:a", "Training:a"]),
            (&["train2017", "val2017"], &["train2017:", "val2017:"]),
            (&["trainval", "test"], &["test:", "trainval:"]),
            (&["x/y/train/a", "x/y/dev/a"], &["dev:a", "train:a"]),
            (&["train/images", "valid/images"], &["train:", "valid:"]),
            (
                &["train/n1/images", "train/n2/images", "val/images"],
                &["train:n1", "train:n2", "val:"],
            ),
            (&["train/images/a", "val/images/b"], &["train:a", "val:b"]),
            (&["train/train/a", "test/test/b"], &["test:b", "train:a"]),
            (&["train/train_images/a", "test/test_images/b"], &["test:b", "train:a"]),
            (&["train/brain/a", "test/brain/a", "test/brain/b"], &["test:a", "test:b", "train:a"]),
            (&["train/cat/images", "val/cat/images"], &["train:cat", "val:cat"]),
            (&["train/cat", "val/cat"], &["train:cat", "val:cat"]),
            (&["train/cat/x", "val/dog/x"], &["train:cat", "val:dog"]),
            (&["images_001/images", "images_002"], &["", ""]),
            (&["images_001/a", "images_002/b"], &["images_001", "images_002"]),
            (&["bus", "train"], &["bus", "train"]),
        ] {
            assert_eq!(levels(folders).unwrap(), expected, "{folders:?}");
        }
    }

    #[test]
    fn masks_and_what_lies_beside_splits_are_refused_with_a_cure() {
        for (folders, cure) in [
            (
                &["images", "masks"][..],
                "give r/images as the source; to pack both where the two files of a pair have one name: \
                 pair=mask=r/masks; ",
            ),
            (&["images", "annotations/trimaps"], "pair=mask=r/annotations/trimaps;"),
            (&["images/training", "annotations/training"], "pair=mask=r/annotations;"),
            (&["data/images", "data/masks"], "pair=mask=r/data/masks;"),
            (&["train/images", "train/masks", "val/images"], "mask=r/train/masks;"),
            (&["COVID/images", "COVID/masks", "Normal/images"], "mask=r/COVID/masks;"),
            (&["train", "trainannot", "val", "valannot"], "mask=r/trainannot;"),
            (&["imagesTr", "labelsTr", "imagesTs"], "give r/imagesTr as"),
            (&["train2017", "panoptic_train2017"], "mask=r/panoptic_train2017;"),
            (&["Train/Urban/images_png", "Train/Urban/masks_png"], "mask=r/Train/Urban/masks_png;"),
            (&["a/Data/Images/x", "a/Data/Masks/x", "b/Data/Images/x"], "mask=r/a/Data/Masks;"),
            (&["Train/0", "Test", "Meta"], "images are also in Meta"),
            (
                &["bottle/train/good", "bottle/test/bent", "cable/train/good"],
                "(test, train), which",
            ),
            (&["trainA", "trainB", "testA", "testB"], "testA, testB, trainA, ..."),
            (&["seg_train/seg_train/a", "seg_test/seg_test/a"], "such as r/seg_test"),
            (&["ImagesTrain", "ImagesTest"], "such as r/ImagesTest"),
            (&["bounding_box_train", "bounding_box_test", "query"], "images are also in query"),
        ] {
            let error = levels(folders).unwrap_err().to_string();
            assert!(error.contains(cure) && error.contains("no_split_folders"), "{error}");
        }
    }

    #[test]
    fn folders_of_the_same_names_in_all_classes_are_told() {
        let remark = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| format!("{path}/")).collect();
            let folders: BTreeSet<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
            let levels = Levels::of(Path::new("r"), &folders, true).unwrap();
            levels.remarks(Path::new("r"), &folders).join("; ")
        };
        let said = remark(&["art/dog", "art/cat", "sketch/dog", "sketch/cat"]);
        assert!(said.contains("has the folders cat, dog") && said.contains("give r/art"), "{said}");
        assert!(remark(&["a/abbey", "b/bar"]).contains("the classes are a, b; folders in them"));
        assert!(remark(&["set/a/1", "set/b"]).contains("all images are in set"));
        assert!(remark(&["train/a/abbey", "val/b/bar"]).contains("the classes are a, b; folders"));
        assert!(
            remark(&["train/x/a/y", "val/x/a/y", "val/x/b"]).contains("the splits are in x, so")
        );
        assert!(remark(&["images_1", "images_2"]).contains("only part the images"));
        assert!(remark(&["D_train_HR", "D_train_LR/X2"]).contains("such as r/D_train_HR"));
        assert_eq!(remark(&["a", "b/c"]), "");
        assert_eq!(remark(&["train/images/a", "val/images/a"]), "");
        assert_eq!(remark(&["a/images", "b/images"]), "");
    }
}
