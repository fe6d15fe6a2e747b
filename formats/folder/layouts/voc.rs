//! Pascal VOC: `Annotations` next to `JPEGImages`, with lists of images for splits.
use super::{
    Opened, Recognised,
    files::{division, lines, refuse, text_of},
    names::Names,
};
use crate::folder::{
    Folder, FolderReader,
    annotations::{self, Annotated, Made, files::stem},
    layout::{MACOSX, key_of_path},
    names::listed,
    table::Column,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use std::{collections::BTreeMap, path::Path};
use xxhash_rust::xxh3::xxh3_128;

const ANNOTATIONS: &str = "Annotations";
const IMAGES: &str = "JPEGImages";
/// Lists of images, each without its extension. Others, such as `cat_train.txt`, are of one class.
const LISTS: &str = "ImageSets/Main";

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let is_one = |below: &str| {
        let has = |folder: &str| names.has_folder(&format!("{below}{folder}"));
        has(ANNOTATIONS) && has(IMAGES)
    };
    let inner = || {
        let folders = names.folders().filter(|name| name.as_bytes() != MACOSX);
        folders.map(|folder| format!("{folder}/")).filter(|below| is_one(below)).collect::<Vec<_>>()
    };
    let below = if is_one("") { vec![String::new()] } else { inner() };
    Ok(match &below[..] {
        [only] => {
            let root = names.root().join(only);
            Some(Recognised::new(format!("{only}{ANNOTATIONS}"), &root, Vec::new()))
        }
        // Several years of VOC are several datasets.
        _ => None,
    })
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let images = root.join(IMAGES);
    let mut annotated = annotations::voc(&images, &root.join(ANNOTATIONS), how)?;
    let splits = lists(root, how)?;
    if splits.is_empty() {
        annotated.division.get_or_insert_default();
    } else {
        divide(&mut annotated, &splits, how)?;
    }
    Ok(Opened::Folders(vec![FolderReader::open_annotated(&images, annotated, how.clone())?]))
}

/// A list of images: its split, its text, and its names.
type Lists = Vec<(Option<&'static str>, String)>;

/// The lists that give splits; that of all images in their place.
fn lists(root: &Path, how: &Folder) -> Result<Lists> {
    let read = |name: &str| -> Result<Option<String>> {
        let file = root.join(LISTS).join(format!("{name}.txt"));
        file.is_file().then(|| text_of(&file, how)).transpose()
    };
    let mut lists = Vec::new();
    for split in ["train", "val", "test"] {
        lists.extend(read(split)?.map(|text| (Some(split), text)));
    }
    let has_both = lists.iter().any(|(split, _)| *split != Some("test"));
    match read("trainval")? {
        Some(text) if !has_both => {
            let split = if lists.is_empty() { None } else { Some("train") };
            lists.insert(0, (split, text));
        }
        _ => {}
    }
    Ok(lists)
}

/// Orders the images as the lists have them.
fn divide(annotated: &mut Annotated, lists: &Lists, how: &Folder) -> Result<()> {
    let table = &mut annotated.table;
    let by_stem: BTreeMap<&[u8], usize> =
        table.paths.iter().enumerate().map(|(at, path)| (stem(path), at)).collect();
    let (mut order, mut paths, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut taken: BTreeMap<Box<[u8]>, &str> = BTreeMap::new();
    let mut identity = annotated.identity.to_vec();
    for (split, text) in lists {
        let name = split.unwrap_or("trainval");
        let file = Path::new(LISTS).join(format!("{name}.txt"));
        let before = order.len();
        let (mut own_order, mut own_paths) = (Vec::new(), Vec::new());
        for (line, text) in lines(text) {
            let id = text.split_whitespace().next().unwrap_or_default();
            let id =
                listed(id).map_err(|why| refuse(&file, format!("line {line}: `{id}` {why}")))?;
            if let Some(other) = taken.insert(id.clone(), name) {
                let id = key_of_path(&id);
                let what = format!(
                    "line {line}: `{id}` is in {other} already; an image belongs to one split"
                );
                return Err(refuse(&file, what));
            }
            let at = by_stem.get(&*id).copied();
            let path = at.and_then(|at| table.paths.get(at)).cloned();
            own_order.push(at);
            own_paths.push(path.unwrap_or_else(|| [&id, &b".jpg"[..]].concat().into()));
        }
        if own_order.iter().all(Option::is_none) {
            if !own_order.is_empty() {
                let n = own_order.len();
                annotated.remarks.push(format!(
                    "{name} is left out: not one of the {n} images that {} lists is there",
                    file.display()
                ));
            }
            continue;
        }
        identity.extend_from_slice(text.as_bytes());
        order.append(&mut own_order);
        paths.append(&mut own_paths);
        runs.push((*split, (order.len() - before) as u64));
    }
    if order.is_empty() {
        return Err(Error::usage(
            "source",
            format!("the lists in {LISTS} name no image that is there"),
        ));
    }
    let n_unlisted = table.paths.len() - order.iter().flatten().count();
    if n_unlisted > 0 {
        let are = if n_unlisted == 1 { "image is" } else { "images are" };
        annotated
            .remarks
            .push(format!("{n_unlisted} {are} in none of the lists in {LISTS}, and left out"));
    }
    drop(by_stem);
    table.paths = paths;
    for column in &mut table.columns {
        if let Column::Made(Made::Voc(voc)) = column {
            voc.select(&order);
        }
    }
    annotated.identity = Bytes::copy_from_slice(&xxh3_128(&identity).to_le_bytes());
    let named = runs.iter().all(|(split, _)| split.is_some());
    let runs = runs.iter().filter(|_| named).map(|(split, n)| (split.unwrap_or_default(), *n));
    annotated.division = Some(division(runs, how));
    Ok(())
}
