//! OpenImages: a table of boxes for each split, and images anywhere below.
use super::{
    Opened, Recognised,
    files::{division, refuse},
    names::Names,
};
use crate::folder::{
    Folder, FolderReader,
    annotations::{
        Annotated, BoxRows, Made, Shape, ShapedImage, Shapes,
        files::{images, stem},
        openimages_classes,
    },
    objects::parts,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{
    Error, FieldSpec, Kind, Result, Schema, objects::FIELD, split_of_file, split_of_folder,
};
use fdconvert_storage::read_file;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3Default;

const ENDING: &str = "annotations-bbox.csv";
/// Beginnings of the table of the names of classes, behind the version (`oidv7-`).
const CLASSES: &str = "class-descriptions";
/// Folders that people put the tables into.
const FOLDERS: [&str; 5] = ["", "annotations", "labels", "metadata", "boxes"];

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    for folder in FOLDERS {
        let below = if folder.is_empty() { None } else { names.below(folder)? };
        let place = match (folder, &below) {
            ("", _) => names,
            (_, Some(below)) => below,
            _ => continue,
        };
        let files: Vec<&str> = place.files("csv").filter(|name| name.ends_with(ENDING)).collect();
        if let Some(first) = files.first() {
            let by =
                if folder.is_empty() { (*first).to_owned() } else { format!("{folder}/{first}") };
            let files = files.iter().map(|name| place.root().join(name)).collect();
            return Ok(Some(Recognised::new(by, names.root(), files)));
        }
    }
    Ok(None)
}

pub(super) fn of_file(file: &Path) -> Result<Option<Recognised>> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let root = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = || Recognised::new(&*name, root, vec![file.to_path_buf()]);
    Ok(name.ends_with(ENDING).then(found))
}

/// The images of a split, and their objects.
struct Rows {
    paths: Vec<Box<[u8]>>,
    images: Vec<Result<ShapedImage, String>>,
    n_missing: usize,
}

/// The classes, and the codes of those that no table names.
#[derive(Default)]
struct Classes {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    unnamed: BTreeSet<String>,
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let (all, mut ignored) = images(root, how)?;
    let mut by_id: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for path in &all {
        let id = parts(stem(path)).last().unwrap_or_default();
        by_id.entry(id).or_default().push(path);
    }
    let mut hash = Xxh3Default::new();
    let mut classes = classes(root, files, how, &mut hash)?;
    let mut texts = Vec::with_capacity(files.len());
    for file in files {
        let bytes = read_file(file, how.limits.max_file_bytes)?;
        hash.update(&bytes);
        texts.push((file, bytes));
    }
    let is_listed = !classes.numbers.is_empty();
    if !is_listed {
        classes.of_codes(&texts)?;
    }
    let (mut paths, mut annotations, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut remarks, mut unpacked, mut n_missing) = (Vec::new(), BTreeSet::new(), 0);
    for (file, bytes) in &texts {
        let rows = BoxRows::new(bytes).map_err(|what| refuse(file, what))?;
        unpacked.extend(rows.unpacked.iter().cloned());
        let split = split_of(file);
        let read = read(rows, &by_id, split.as_deref(), &mut classes);
        let mut read = read.map_err(|what| refuse(file, what))?;
        n_missing += read.n_missing;
        runs.push((split.unwrap_or_default(), read.paths.len() as u64));
        paths.append(&mut read.paths);
        annotations.append(&mut read.images);
    }
    check(root, &paths, files)?;
    let n_unlisted = all.len() - paths.len();
    if n_missing > 0 {
        let are = if n_missing == 1 { "image is" } else { "images are" };
        remarks.push(format!("{n_missing} {are} listed and not in the source, and left out"));
    }
    if n_unlisted > 0 {
        let are =
            if n_unlisted == 1 { "image of the source is" } else { "images of the source are" };
        remarks.push(format!("{n_unlisted} {are} not listed, and left out"));
    }
    if !is_listed {
        remarks.push(format!(
            "no table {CLASSES}*.csv names the classes, so their codes are the names"
        ));
    } else if !classes.unnamed.is_empty() {
        remarks.push(format!(
            "{} classes have no name in the table: their codes are it",
            classes.unnamed.len()
        ));
    }
    if !unpacked.is_empty() {
        let names: Vec<&str> = unpacked.iter().map(String::as_str).collect();
        remarks.push(format!("columns that are not packed with boxes: {}", names.join(", ")));
    }
    ignored.uncount(".csv", files.len() as u64 + u64::from(is_listed));
    let shapes = Shapes::new(annotations, classes.names);
    let objects = FieldSpec::objects(FIELD, shapes.categories());
    let fields = vec![FieldSpec::new("image", Kind::Image), objects];
    let made = Made::Shapes(shapes);
    let named = runs.iter().all(|(split, _)| !split.is_empty());
    let runs = runs.iter().filter(|_| named).map(|(split, n)| (split.as_str(), *n));
    let annotated = Annotated {
        schema: Schema::new(fields)?,
        table: Table { paths, columns: vec![Column::FirstImage, Column::Made(made)] },
        identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
        division: Some(division(runs, how)),
        remarks,
        ignored,
        lists: false,
    };
    Ok(Opened::Folders(vec![FolderReader::open_annotated(root, annotated, how.clone())?]))
}

/// Refuses tables none of whose images is there, and images of two tables.
fn check(root: &Path, paths: &[Box<[u8]>], files: &[PathBuf]) -> Result<()> {
    let mut sorted: Vec<&[u8]> = paths.iter().map(|path| &**path).collect();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair.first() == pair.last());
    let what = match (twice.and_then(<[_]>::first), files.first()) {
        (Some(path), _) => {
            format!("`{}` is in two tables", crate::folder::layout::key_of_path(path))
        }
        (None, Some(file)) if paths.is_empty() => {
            let file = file.display();
            format!(
                "not one of the images of {file} is in the source: they are called by `ImageID`"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::usage("source", format!("{}: {what}", root.display())))
}

/// The split in the name of a table.
fn split_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?.strip_suffix(ENDING)?;
    split_of_file(name.trim_end_matches('-')).map(|(split, _)| split.to_owned())
}

fn read(
    rows: BoxRows<'_>,
    by_id: &BTreeMap<&[u8], Vec<&[u8]>>,
    split: Option<&str>,
    classes: &mut Classes,
) -> Result<Rows, String> {
    let mut found = Rows { paths: Vec::new(), images: Vec::new(), n_missing: 0 };
    let (mut places, mut missing): (BTreeMap<&[u8], usize>, BTreeSet<String>) = Default::default();
    rows.read(|image, code, shape| {
        let Some((id, paths)) = by_id.get_key_value(image.as_bytes()) else {
            missing.insert(image.to_owned());
            return;
        };
        let at = *places.entry(id).or_insert_with(|| {
            found.paths.push(path_of(paths, split).into());
            found.images.push(Ok(ShapedImage { are_shares: true, ..ShapedImage::default() }));
            found.images.len() - 1
        });
        let Some(image) = found.images.get_mut(at) else { return };
        let numbered =
            shape.and_then(|shape| Ok(Shape { category: classes.number(code)?, ..shape }));
        match (image.as_mut(), numbered) {
            (Ok(own), Ok(shape)) => own.shapes.push(shape),
            (Ok(_), Err(what)) => *image = Err(what),
            _ => {}
        }
    })?;
    found.n_missing = missing.len();
    Ok(found)
}

/// The image of an id: in the folder of the split, if there are several.
fn path_of<'a>(paths: &[&'a [u8]], split: Option<&str>) -> &'a [u8] {
    let is_of_split = |path: &&&[u8]| {
        parts(path).any(|part| {
            let word = std::str::from_utf8(part).ok().and_then(split_of_folder);
            word.is_some() && word == split
        })
    };
    paths.iter().find(is_of_split).or(paths.first()).copied().unwrap_or_default()
}

impl Classes {
    /// Numbers the codes of tables, sorted.
    fn of_codes(&mut self, texts: &[(&PathBuf, Bytes)]) -> Result<()> {
        let mut codes = BTreeSet::new();
        for (file, bytes) in texts {
            let rows = BoxRows::new(bytes).map_err(|what| refuse(file, what))?;
            let read = rows.read(|_, code, _| {
                if !codes.contains(code) {
                    codes.insert(code.to_owned());
                }
            });
            read.map_err(|what| refuse(file, what))?;
        }
        for code in codes {
            self.number(&code).map_err(|what| Error::usage("source", what))?;
        }
        Ok(())
    }

    /// The number of a code; a new one comes last.
    fn number(&mut self, code: &str) -> Result<u32, String> {
        if let Some(number) = self.numbers.get(code) {
            return Ok(*number);
        }
        if code.is_empty() {
            return Err("its box has no class".to_owned());
        }
        let number =
            u32::try_from(self.names.len()).map_err(|_| "there are 2^32 classes".to_owned())?;
        self.names.push(code.to_owned());
        self.numbers.insert(code.to_owned(), number);
        self.unnamed.insert(code.to_owned());
        Ok(number)
    }
}

/// The names of classes: the table beside the others, or at the root.
fn classes(
    root: &Path,
    files: &[PathBuf],
    how: &Folder,
    hash: &mut Xxh3Default,
) -> Result<Classes> {
    let beside = files.first().and_then(|file| file.parent()).unwrap_or(root);
    let mut places = vec![beside.to_path_buf()];
    places.extend(FOLDERS.iter().map(|folder| root.join(folder)));
    for place in places.iter().filter(|place| place.is_dir()) {
        let names = Names::list(place)?;
        let mut tables: Vec<&str> =
            names.files("csv").filter(|name| name.contains(CLASSES)).collect();
        // The classes that have boxes, and no others.
        tables.sort_by_key(|name| !name.contains("boxable"));
        let Some(table) = tables.first().map(|name| place.join(name)) else { continue };
        let bytes = read_file(&table, how.limits.max_file_bytes)?;
        hash.update(&bytes);
        let (names, numbers) = openimages_classes(&bytes).map_err(|what| refuse(&table, what))?;
        return Ok(Classes { names, numbers, unnamed: BTreeSet::new() });
    }
    Ok(Classes::default())
}
