//! COCO: a file of annotations for each split, beside the folders of images.
use super::{
    Opened, Recognised,
    files::{division, folder_with, starts_with_one},
    names::Names,
};
use crate::folder::{
    Folder, FolderReader,
    annotations::{self, Annotated},
    names::{Files, settle},
};
use fdconvert_core::{Error, Result, split_of_file, split_of_folder};
use fdconvert_storage::os;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Beginnings of names, in the order of preference: other annotations of the same images are left
/// alone.
const BEGINNINGS: [&str; 4] = ["instances", "lvis_v", "person_keypoints_", "captions_"];
/// Roboflow's name, in the folder of each split.
const ROBOFLOW: &str = "_annotations.coco.json";
/// Names that other programs have, too: FiftyOne's, Label Studio's, and those of people.
const LOOSE: [&str; 4] = ["labels.json", "result.json", "annotations.json", "coco.json"];
/// Keys of COCO, in the order of most files.
const KEYS: [&str; 4] = ["\"images\"", "\"categories\"", "\"licenses\"", "\"annotations\""];

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let below = names.below("annotations")?;
    let places: Vec<(&str, &Names)> =
        below.iter().map(|below| ("annotations/", below)).chain([("", names)]).collect();
    for (folder, place) in &places {
        let all: Vec<&str> = place.files("json").collect();
        for beginning in BEGINNINGS {
            let (own, others): (Vec<&str>, Vec<&str>) =
                all.iter().partition(|name| name.starts_with(beginning));
            let Some(first) = own.first() else { continue };
            let files = own.iter().map(|name| place.root().join(name)).collect();
            let known = |name: &&&str| BEGINNINGS.iter().any(|it| name.starts_with(it));
            let unread = others.iter().filter(known).map(|name| format!("{folder}{name}"));
            let unread = unread.collect();
            let recognised = Recognised::new(format!("{folder}{first}"), names.root(), files);
            return Ok(Some(Recognised { unread, ..recognised }));
        }
    }
    let of_splits = names.folders().filter(|folder| split_of_folder(folder).is_some());
    let of_splits = of_splits.map(|folder| format!("{folder}/{ROBOFLOW}"));
    let roboflow = of_splits.filter(|file| names.has_file(file)).collect::<Vec<_>>();
    if let Some(first) = roboflow.first().cloned() {
        let files = roboflow.iter().map(|file| names.root().join(file)).collect();
        return Ok(Some(Recognised::new(first, names.root(), files)));
    }
    let mut loose: Vec<(String, PathBuf)> = Vec::new();
    for name in [ROBOFLOW].into_iter().chain(LOOSE).filter(|name| names.has_file(name)) {
        loose.push((name.to_owned(), names.root().join(name)));
    }
    for (folder, place) in &places {
        let of_splits = place.files("json").filter(|name| is_of_split(name) && !folder.is_empty());
        loose.extend(of_splits.map(|name| (format!("{folder}{name}"), place.root().join(name))));
    }
    loose.retain(|(_, file)| is_coco(file));
    let Some((by, first)) = loose.first().cloned() else { return Ok(None) };
    let is_split =
        |file: &Path| file.file_name().and_then(|it| it.to_str()).is_some_and(is_of_split);
    let files = match is_split(&first) {
        true => loose.into_iter().map(|(_, file)| file).filter(|file| is_split(file)).collect(),
        false => vec![first],
    };
    Ok(Some(Recognised::new(by, names.root(), files)))
}

/// A file of annotations that was given in place of its folder.
pub(super) fn of_file(file: &Path) -> Result<Option<Recognised>> {
    let is_json = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("json"));
    if !is_json || !is_coco(file) {
        return Ok(None);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The images tell the folder, and are looked for when the file is read.
    Ok(Some(Recognised::new(name, Path::new(""), vec![file.to_path_buf()])))
}

fn is_of_split(name: &str) -> bool {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    split_of_folder(stem).is_some()
}

fn is_coco(file: &Path) -> bool {
    starts_with_one(file, &KEYS)
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let is_folder = !root.as_os_str().is_empty();
    let splits = splits_of(files);
    let mut read: Vec<(PathBuf, Annotated)> = Vec::with_capacity(files.len());
    for (file, split) in files.iter().zip(&splits) {
        let mut annotated = annotations::coco(file, how)?;
        let folder = folder_with(&folders_of(file, split.as_deref()), &annotated.table.paths);
        // A folder of images inside the dataset is part of the names, so that splits differ.
        let inner = folder.as_ref().and_then(|it| it.strip_prefix(root).ok()).filter(|_| is_folder);
        let own_root = match (&folder, inner) {
            (_, Some(_)) => root.clone(),
            (Some(folder), None) => folder.clone(),
            (None, _) if is_folder => root.clone(),
            (None, _) => above(file),
        };
        if let Some(folder) = folder.as_ref().filter(|_| how.reads_files()) {
            let files = Files { root: folder, how, objects: None };
            annotated.remarks.extend(settle(&mut annotated.table.paths, &files)?);
        }
        if let Some(inner) = inner.filter(|inner| !inner.as_os_str().is_empty()) {
            let prefix = [&*os::slashed(inner), b"/"].concat();
            for path in &mut annotated.table.paths {
                *path = [&prefix, &**path].concat().into();
            }
        }
        if let (Some(split), true) = (split, files.len() > 1) {
            annotated.remarks.iter_mut().for_each(|what| *what = format!("{split}: {what}"));
        }
        if let (Some(split), true) = (split, is_folder) {
            let n_samples = annotated.table.len();
            annotated.division = Some(division([(split.as_str(), n_samples)], how));
        }
        annotated.lists = false;
        read.push((own_root, annotated));
    }
    if how.reads_files() {
        tell_unlisted(&mut read, how)?;
    }
    let readers =
        read.into_iter().map(|(root, it)| FolderReader::open_annotated(&root, it, how.clone()));
    Ok(Opened::Folders(readers.collect::<Result<_>>()?))
}

/// The folder above that of a file, or its own.
fn above(file: &Path) -> PathBuf {
    let own = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_annotations = own.file_name().is_some_and(|name| name == "annotations");
    own.parent().filter(|_| is_annotations).unwrap_or(own).to_path_buf()
}

/// The folders in which the images of a file may be.
fn folders_of(file: &Path, split: Option<&str>) -> Vec<PathBuf> {
    let own = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let after =
        BEGINNINGS.iter().find_map(|it| stem.strip_prefix(it)).map(|it| it.trim_start_matches('_'));
    let names: Vec<&str> = after.into_iter().chain(split).filter(|it| !it.is_empty()).collect();
    let mut folders = Vec::new();
    let upper = own.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    for folder in [Some(own), upper].into_iter().flatten() {
        folders.push(folder.to_path_buf());
        folders.extend(["images", "data"].map(|name| folder.join(name)));
        for name in &names {
            folders.push(folder.join(name));
            folders.push(folder.join("images").join(name));
        }
        for place in [folder.to_path_buf(), folder.join("images")] {
            folders.extend(split.into_iter().flat_map(|split| of_split(&place, split)));
        }
    }
    folders
}

/// The folders of a split, whatever follows the word in their names: `train2017`.
fn of_split(place: &Path, split: &str) -> Vec<PathBuf> {
    let names = Names::list(place).ok();
    let folders = names.iter().flat_map(Names::folders);
    let folders = folders.filter(|name| split_of_folder(name) == Some(split));
    folders.map(|name| place.join(name)).collect()
}

/// The split of each file, by the word in its name or that of its folder; `None` for a single file
/// without one.
fn splits_of(files: &[PathBuf]) -> Vec<Option<String>> {
    let stem = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = |file: &Path| {
        let name = file.parent()?.file_name()?.to_str()?;
        split_of_folder(name).map(|_| name.to_ascii_lowercase())
    };
    let word = |file: &PathBuf| match stem(file).as_str() {
        "_annotations.coco" => folder(file),
        name => split_of_file(name).map(|(split, _)| split.to_owned()),
    };
    let words: Vec<Option<String>> = files.iter().map(word).collect();
    let distinct: BTreeSet<&String> = words.iter().flatten().collect();
    if distinct.len() == files.len() || files.len() == 1 {
        return words;
    }
    // Two of one split, or some without one: their whole names are what tells them apart.
    let whole = |file: &PathBuf| {
        let stem = stem(file);
        let rest = BEGINNINGS.iter().find_map(|it| stem.strip_prefix(it));
        let rest = rest.map_or("", |it| it.trim_start_matches('_'));
        Some(if rest.is_empty() { stem.clone() } else { rest.to_owned() })
    };
    files.iter().map(whole).collect()
}

/// Counts the images of the source that no file lists.
fn tell_unlisted(read: &mut [(PathBuf, Annotated)], how: &Folder) -> Result<()> {
    let mut roots: Vec<PathBuf> = read.iter().map(|(root, _)| root.clone()).collect();
    roots.dedup();
    // With several roots, each has its own images.
    let [root] = &roots[..] else { return Ok(()) };
    let listed: BTreeSet<&[u8]> =
        read.iter().flat_map(|(_, it)| &it.table.paths).map(|path| &**path).collect();
    let n_others = match annotations::files::images(root, how) {
        Ok((images, _)) => images.iter().filter(|path| !listed.contains(&***path)).count(),
        Err(Error::Usage { .. }) => 0,
        Err(error) => return Err(error),
    };
    if let (1.., Some((_, first))) = (n_others, read.first_mut()) {
        let are = if n_others == 1 { "image of the source is" } else { "images of the source are" };
        first.remarks.push(format!("{n_others} {are} not listed, and left out"));
    }
    Ok(())
}
