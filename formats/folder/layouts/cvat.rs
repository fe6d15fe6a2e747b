//! CVAT: `annotations.xml` beside the images, or above their folders.
use super::{
    Opened, Recognised,
    files::{division, folder_with, refuse, starts_with_one},
    names::Names,
};
use crate::folder::{
    Folder, FolderReader,
    annotations::{Annotated, Cvat, CvatImage, Made, Shapes, parse_cvat},
    layout::key_of_path,
    names::listed,
    table::{Column, Table},
};
use bytes::Bytes;
use fdconvert_core::{FieldSpec, Ignored, Kind, Result, Schema, objects::FIELD, split_of_folder};
use fdconvert_storage::read_file;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

const FILE: &str = "annotations.xml";

pub(super) fn of_folder(names: &Names) -> Result<Option<Recognised>> {
    let file = names.root().join(FILE);
    let is_one = names.has_file(FILE) && is_cvat(&file);
    Ok(is_one.then(|| Recognised::new(FILE, names.root(), vec![file])))
}

pub(super) fn of_file(file: &Path) -> Result<Option<Recognised>> {
    let is_xml = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("xml"));
    if !is_xml || !is_cvat(file) {
        return Ok(None);
    }
    let root = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(Recognised::new(name, root, vec![file.to_path_buf()])))
}

fn is_cvat(file: &Path) -> bool {
    starts_with_one(file, &["<annotations>", "<annotations "])
}

pub(super) fn open(recognised: &Recognised, how: &Folder) -> Result<Opened> {
    let Recognised { root, files, .. } = recognised;
    let Some(file) = files.first() else { return Ok(Opened::Folders(Vec::new())) };
    let bytes = read_file(file, how.limits.max_file_bytes)?;
    let cvat = parse_cvat(&bytes).map_err(|what| refuse(file, what))?;
    let remarks = remarks(&cvat);
    let Cvat { images, names, .. } = cvat;
    let groups = groups(images);
    let (mut paths, mut annotations, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut known: BTreeMap<Box<[u8]>, usize> = BTreeMap::new();
    for (subset, group) in &groups {
        let own = group.iter().map(|image| {
            listed(&image.name)
                .map_err(|why| refuse(file, format!("the image `{}` {why}", image.name)))
        });
        let own: Vec<Box<[u8]>> = own.collect::<Result<_>>()?;
        let prefix = prefix(root, subset.as_deref(), &own);
        for (path, image) in own.iter().zip(group) {
            let path: Box<[u8]> = [prefix.as_bytes(), path].concat().into();
            if known.insert(path.clone(), paths.len()).is_some() {
                return Err(refuse(
                    file,
                    format!("the image `{}` is there twice", key_of_path(&path)),
                ));
            }
            paths.push(path);
            annotations.push(image.annotations.clone());
        }
        runs.push((subset.as_deref(), group.len() as u64));
    }
    let shapes = Shapes::new(annotations, names);
    let objects = FieldSpec::objects(FIELD, shapes.categories());
    let fields = vec![FieldSpec::new("image", Kind::Image), objects];
    let made = Made::Shapes(shapes);
    let are_splits =
        runs.iter().all(|(subset, _)| subset.is_some_and(|it| split_of_folder(it).is_some()));
    let lower: Vec<(String, u64)> = runs
        .iter()
        .map(|(subset, n)| (subset.unwrap_or_default().to_ascii_lowercase(), *n))
        .collect();
    let named = lower.iter().filter(|_| are_splits).map(|(subset, n)| (subset.as_str(), *n));
    let annotated = Annotated {
        schema: Schema::new(fields)?,
        table: Table { paths, columns: vec![Column::FirstImage, Column::Made(made)] },
        identity: Bytes::copy_from_slice(&xxh3_128(&bytes).to_le_bytes()),
        division: Some(division(named, how)),
        remarks,
        ignored: Ignored::default(),
        lists: false,
    };
    Ok(Opened::Folders(vec![FolderReader::open_annotated(root, annotated, how.clone())?]))
}

/// The images of each subset, in the order of the first of each.
fn groups(images: Vec<CvatImage>) -> Vec<(Option<String>, Vec<CvatImage>)> {
    let mut groups: Vec<(Option<String>, Vec<CvatImage>)> = Vec::new();
    let mut known: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for image in images {
        let at = *known.entry(image.subset.clone()).or_insert_with(|| {
            groups.push((image.subset.clone(), Vec::new()));
            groups.len() - 1
        });
        if let Some((_, group)) = groups.get_mut(at) {
            group.push(image);
        }
    }
    groups
}

/// The folder below the root in which the images of a subset are, with a final slash.
fn prefix(root: &Path, subset: Option<&str>, paths: &[Box<[u8]>]) -> String {
    let mut prefixes = vec![String::new(), "images/".to_owned()];
    if let Some(subset) = subset.filter(|it| listed(it).is_ok()) {
        prefixes.extend([
            format!("images/{subset}/"),
            format!("{subset}/"),
            format!("{subset}/images/"),
        ]);
    }
    let folders: Vec<PathBuf> = prefixes.iter().map(|prefix| root.join(prefix)).collect();
    let found = folder_with(&folders, paths);
    let at = found.and_then(|found| folders.iter().position(|folder| *folder == found));
    at.and_then(|at| prefixes.into_iter().nth(at)).unwrap_or_default()
}

fn remarks(cvat: &Cvat) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(listed) = cvat.left_out.listed() {
        remarks.push(format!("elements of images that are left out: {listed}"));
    }
    if cvat.n_turned > 0 {
        let (n, are) =
            (cvat.n_turned, if cvat.n_turned == 1 { "box is turned" } else { "boxes are turned" });
        remarks.push(format!("{n} {are}: the box around it is taken"));
    }
    if !cvat.unpacked.is_empty() {
        let names: Vec<&str> = cvat.unpacked.iter().map(String::as_str).collect();
        remarks.push(format!("{} of objects are not packed", names.join(" and ")));
    }
    remarks
}
