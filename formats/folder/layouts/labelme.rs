//! LabelMe: a JSON file of shapes beside each image.
use super::{Opened, Recognised, files::starts_with_one, names::Names};
use crate::folder::{
    Folder, FolderReader,
    annotations::{self, Annotated, LabelMe, LeftOut, Made, Shapes, files::stem, parse_labelme},
    layout::{check_relative, is_hidden, key_of_path, promised},
    split_folders::folder,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{Error, FieldSpec, Ignored, Kind, Result, Schema, objects::FIELD};
use fdconvert_storage::read_file;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3Default;

/// Files and folders to look into before a folder is something else.
const LOOKED_INTO: usize = 8;
/// Limit of nested folders.
const MAX_DEPTH: usize = 32;

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    if let Some(file) = sign(names) {
        return Ok(Some(Recognised::new(file, names.root(), Vec::new())));
    }
    for folder in names.folders().take(LOOKED_INTO) {
        let below = names.below(folder)?;
        if let Some(file) = below.as_ref().and_then(sign) {
            return Ok(Some(Recognised::new(format!("{folder}/{file}"), names.root(), Vec::new())));
        }
    }
    Ok(None)
}

/// A file of shapes directly in a folder.
fn sign(names: &Names) -> Option<String> {
    let mut files = names.files("json").take(LOOKED_INTO);
    let is_one = |name: &&str| {
        let file = names.root().join(name);
        starts_with_one(&file, &["\"shapes\""])
            && starts_with_one(&file, &["\"imagePath\"", "\"label\"", "\"version\""])
    };
    files.find(is_one).map(str::to_owned)
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let root = &recognised.root;
    let mut found = BTreeMap::new();
    descend(root, root, &[], 0, &mut found)?;
    let annotated = read(root, found, how)?;
    Ok(Opened::Folders(vec![FolderReader::open_annotated(root, annotated, how.clone())?]))
}

/// Finds the JSON files at any depth, by their paths without extension.
fn descend(
    root: &Path,
    at: &Path,
    below: &[u8],
    depth: usize,
    found: &mut BTreeMap<Vec<u8>, PathBuf>,
) -> Result<()> {
    if depth > MAX_DEPTH {
        let what = format!("{} has folders more than {MAX_DEPTH} deep", root.display());
        return Err(Error::usage("source", what));
    }
    for entry in fs::read_dir(at).map_err(Error::io("list", at))? {
        let entry = entry.map_err(Error::io("list", at))?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
        if is_hidden(name) {
            continue;
        }
        if kind.is_dir() {
            descend(root, &entry.path(), &[below, name, b"/"].concat(), depth + 1, found)?;
        } else if name.to_ascii_lowercase().ends_with(b".json") {
            found.insert([below, stem(name)].concat(), entry.path());
        }
    }
    Ok(())
}

/// The annotations of each image, and what there is to tell.
#[derive(Default)]
struct Gathered {
    paths: Vec<Box<[u8]>>,
    images: Vec<Result<LabelMe, String>>,
    left_out: LeftOut,
    n_masks: u64,
    n_without: u64,
    n_others: u64,
    unpacked: BTreeSet<String>,
}

fn read(root: &Path, found: BTreeMap<Vec<u8>, PathBuf>, how: &Folder) -> Result<Annotated> {
    let (images, mut ignored) = match annotations::files::images(root, how) {
        Ok(found) => found,
        // Each file says which image it lacks.
        Err(Error::Usage { .. }) => (Vec::new(), Ignored::default()),
        Err(error) => return Err(error),
    };
    let known: BTreeSet<&[u8]> = images.iter().map(|it| &**it).collect();
    let by_stem: BTreeMap<&[u8], &[u8]> = images.iter().map(|it| (stem(it), &**it)).collect();
    let mut of_image: BTreeMap<Box<[u8]>, Result<LabelMe, String>> = BTreeMap::new();
    let mut gathered = Gathered::default();
    let mut hash = Xxh3Default::new();
    for (path, file) in &found {
        let bytes = read_file(file, how.limits.max_file_bytes)?;
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
        let name = format!("{}.json", key_of_path(path));
        let read = parse_labelme(&bytes);
        let own = by_stem.get(path.as_slice()).copied();
        let written = read.as_ref().ok().and_then(|it| it.image_path.as_deref());
        let written = written.and_then(|written| inside(folder(path), written));
        let named = written.as_deref().filter(|path| known.contains(path));
        let read = match (own.or(named), read) {
            // A file of another tool, without an image.
            (None, Err(_)) => {
                gathered.n_others += 1;
                continue;
            }
            (Some(image), read) => {
                let read = read.map_err(|what| format!("{name}: {what}"));
                (image.into(), read)
            }
            (None, Ok(_)) => {
                let image = written.filter(|path| promised(path).is_some());
                let image = image.unwrap_or_else(|| [path, &b".jpg"[..]].concat());
                let what = format!(
                    "{name}: its image {} is missing; `imageData`, if the file has it, is not read: \
                     `labelme_export_json` writes the image",
                    key_of_path(&image)
                );
                (image.into_boxed_slice(), Err(what))
            }
        };
        let (image, read): (Box<[u8]>, _) = read;
        if let Ok(read) = &read {
            gathered.left_out.add(&read.left_out);
            gathered.n_masks += read.n_masks;
            gathered.unpacked.extend(read.unpacked.iter().cloned());
        }
        if of_image.contains_key(&image) {
            let what = format!("{name} and another file are of the image {}", key_of_path(&image));
            return Err(Error::usage("source", what));
        }
        of_image.insert(image, read);
    }
    ignored.uncount(".json", found.len() as u64 - gathered.n_others);
    let mut all: BTreeSet<Box<[u8]>> = images.iter().cloned().collect();
    all.extend(of_image.keys().cloned());
    for path in all {
        let read = of_image.remove(&path);
        gathered.n_without += u64::from(read.is_none());
        gathered.images.push(read.unwrap_or_else(|| Ok(LabelMe::default())));
        gathered.paths.push(path);
    }
    gathered.finish(&hash, ignored)
}

impl Gathered {
    fn finish(self, hash: &Xxh3Default, ignored: Ignored) -> Result<Annotated> {
        let mut remarks = self.remarks();
        let labels = self.images.iter().flatten().flat_map(|image| &image.labels);
        let names: BTreeSet<String> = labels.cloned().collect();
        let names: Vec<String> = names.into_iter().collect();
        let number = |name: &str| {
            let at = names.binary_search_by(|it| it.as_str().cmp(name)).unwrap_or_default();
            u32::try_from(at).unwrap_or_default()
        };
        let images = self.images.into_iter().map(|image| Ok(image?.numbered(number))).collect();
        let shapes = Shapes::new(images, names.clone());
        let objects = FieldSpec::objects(FIELD, shapes.categories());
        let fields = vec![FieldSpec::new("image", Kind::Image), objects];
        let made = Made::Shapes(shapes);
        if names.is_empty() {
            remarks.push("no file has an object".to_owned());
        }
        Ok(Annotated {
            schema: Schema::new(fields)?,
            table: Table {
                paths: self.paths,
                columns: vec![Column::FirstImage, Column::Made(made)],
            },
            identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
            division: None,
            remarks,
            ignored,
            lists: false,
        })
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.n_without > 0 {
            let have = if self.n_without == 1 { "image has" } else { "images have" };
            remarks.push(format!("{} {have} no annotations, so no objects", self.n_without));
        }
        if self.n_others > 0 {
            let are = if self.n_others == 1 { ".json file is" } else { ".json files are" };
            remarks.push(format!("{} {are} no annotation of LabelMe", self.n_others));
        }
        if let Some(listed) = self.left_out.listed() {
            remarks.push(format!("shapes that are left out: {listed}"));
        }
        if self.n_masks > 0 {
            let are = if self.n_masks == 1 { "mask is" } else { "masks are" };
            remarks
                .push(format!("{} {are} taken as boxes: their pixels are not read", self.n_masks));
        }
        if !self.unpacked.is_empty() {
            let keys: Vec<&str> = self.unpacked.iter().map(String::as_str).take(8).collect();
            remarks.push(format!("the keys {} of the shapes are not packed", keys.join(", ")));
        }
        remarks
    }
}

/// The path below the root that a file in `folder` names; `None` if it leads out of it.
fn inside(folder: &[u8], written: &str) -> Option<Vec<u8>> {
    let written = written.replace('\\', "/");
    let mut parts: Vec<&[u8]> =
        folder.split(|byte| *byte == b'/').filter(|it| !it.is_empty()).collect();
    for part in written.as_bytes().split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    let path = parts.join(&b'/');
    let is_absolute = Path::new(&written).has_root();
    (!is_absolute && check_relative(&path).is_ok()).then_some(path)
}
