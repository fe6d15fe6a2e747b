//! YOLO: a text file for each image, and a YAML file with the class names.
mod darknet;
pub(super) mod data;
mod lines;
mod splits;
mod texts;
#[cfg(feature = "write")]
mod writer;

pub(super) use lines::Lines;
#[cfg(feature = "write")]
pub(in crate::folder) use writer::YoloWriter;

use super::{
    Annotated, Made, NO_SIZE, Notice, Photo,
    files::{self, stem},
    lists::check_name,
};
use crate::folder::{
    Folder,
    layout::{join, key_of_path},
    split_folders::Division,
    table::{Column, Table},
};
use bytes::Bytes;
use data::Data;
use fdconvert_core::{
    Error, FieldSpec, Ignored, Kind, Remark, Result, Schema,
    objects::{Category, FIELD},
    option, split_ranges,
};
use fdconvert_storage::{place::is_url, read_file};
use splits::{Entries, Failure};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use texts::Texts;
use xxhash_rust::xxh3::Xxh3Default;

/// Text files of annotations in sequence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Yolo {
    texts: Vec<u8>,
    /// End of the text of each image.
    ends: Vec<u64>,
    lines: Arc<Lines>,
}

impl Yolo {
    pub(crate) fn document(
        &self,
        row: usize,
        photo: Option<Photo>,
    ) -> Result<(Bytes, Vec<Notice>), Remark> {
        let end = |row: usize| usize::try_from(*self.ends.get(row)?).ok();
        let start = row.checked_sub(1).map_or(Some(0), end);
        let range = start.zip(end(row)).map(|(start, end)| start..end);
        let text = range.and_then(|range| self.texts.get(range));
        let text = text.ok_or("its annotations cannot be found again")?;
        let frame = photo.map(|photo| Ok::<_, String>((photo.frame_of_shares()?, photo)));
        let frame = frame.transpose()?;
        let Some((size, turn)) = frame.map(|(frame, _)| (frame.size, frame.turn)) else {
            return Err(Remark::from(NO_SIZE));
        };
        let document = self.lines.document(text, size, turn)?;
        let mut notices = match frame {
            Some((frame, photo)) if !document.corners.is_empty() => {
                frame.check(&document.corners, photo)?
            }
            _ => Vec::new(),
        };
        notices.extend(document.may_be_keypoints.then_some(Notice::Keypoints));
        Ok((document.text, notices))
    }

    fn push(&mut self, text: &[u8], hash: &mut Xxh3Default) {
        self.texts.extend_from_slice(text);
        let end = self.texts.len() as u64;
        self.ends.push(end);
        hash.update(&end.to_le_bytes());
        hash.update(text);
    }
}

/// Annotations gathered from all files.
struct Gathered {
    paths: Vec<Box<[u8]>>,
    yolo: Yolo,
    hash: Xxh3Default,
    n_without: usize,
}

impl Gathered {
    fn new(names: Option<Vec<String>>, keypoints: Option<[usize; 2]>) -> Self {
        let mut hash = Xxh3Default::new();
        // A renamed class makes another dataset of the same files.
        for name in names.iter().flatten() {
            hash.update(name.as_bytes());
            hash.update(&[0]);
        }
        for number in keypoints.into_iter().flatten() {
            hash.update(&(number as u64).to_le_bytes());
        }
        let lines = Arc::new(Lines { names, keypoints });
        let yolo = Yolo { texts: Vec::new(), ends: Vec::new(), lines };
        Self { paths: Vec::new(), yolo, hash, n_without: 0 }
    }

    fn push(&mut self, path: Box<[u8]>, text: Option<&[u8]>) {
        self.paths.push(path);
        self.n_without += usize::from(text.is_none());
        self.yolo.push(text.unwrap_or_default(), &mut self.hash);
    }

    fn finish(self, remarks: Vec<String>) -> Result<Annotated> {
        let Self { paths, yolo, hash, .. } = self;
        let objects = match &yolo.lines.names {
            Some(names) => FieldSpec::objects(FIELD, names.iter().map(Category::new).collect()),
            None => FieldSpec::new(FIELD, Kind::Json),
        };
        let fields = vec![FieldSpec::new("image", Kind::Image), objects];
        Ok(Annotated {
            schema: Schema::new(fields)?,
            table: Table {
                paths,
                columns: vec![Column::FirstImage, Column::Made(Made::Yolo(yolo))],
            },
            identity: Bytes::copy_from_slice(&hash.digest128().to_le_bytes()),
            division: None,
            remarks,
            ignored: Ignored::default(),
            lists: false,
        })
    }
}

/// Reads a folder of text files, for all images below `root`.
pub(super) fn read_folder(
    root: &Path,
    folder: &Path,
    found: &files::LabelFiles,
    how: &Folder,
) -> Result<Annotated> {
    let (images, mut ignored) = files::images(root, how)?;
    let mut remarks = Vec::new();
    let names = folder_names(&found.classes, how)?;
    if names.is_none() {
        remarks.push(
            "there is no classes.txt next to the annotations, so classes have numbers and no names"
                .to_owned(),
        );
    }
    let pairs = files::pair(&images, &found.text)?;
    pairs.check(folder, &images, &found.text, |_| None)?;
    pairs.tell(&mut remarks);
    files::count_as_read(folder, root, ".txt", pairs.n_read(), &mut ignored);
    let mut gathered = Gathered::new(names, None);
    for (image, file) in images.into_iter().zip(pairs.files) {
        let text = file.map(|file| read_file(file, how.limits.max_file_bytes)).transpose()?;
        gathered.push(image, text.as_deref());
    }
    Ok(Annotated { ignored, ..gathered.finish(remarks)? })
}

/// The common class names of all class files in a folder.
fn folder_names(files: &[PathBuf], how: &Folder) -> Result<Option<Vec<String>>> {
    let mut known: Option<(&Path, Vec<String>)> = None;
    for file in files {
        let names = class_names(file, how)?;
        match &known {
            Some((other, same)) if *same != names => {
                let what = format!(
                    "{} and {} name other classes; keep the one that is right",
                    other.display(),
                    file.display()
                );
                return Err(Error::usage(option::LABELS, what));
            }
            Some(_) => {}
            None => known = Some((file, names)),
        }
    }
    Ok(known.map(|(_, names)| names))
}

/// The lines of `classes.txt`.
pub(super) fn class_names(file: &Path, how: &Folder) -> Result<Vec<String>> {
    let text = read_file(file, how.limits.max_file_bytes)?;
    let text = std::str::from_utf8(&text)
        .map_err(|_| Error::usage(option::LABELS, format!("{} is not UTF-8", file.display())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let names: Vec<String> = text.trim_end().lines().map(|it| it.trim().to_owned()).collect();
    let checked = names.iter().try_for_each(|name| check_name(name));
    checked.map_err(|what| Error::usage(option::LABELS, format!("{}: {what}", file.display())))?;
    Ok(names)
}

/// Reads a YAML or Darknet file, which has the splits below `root` and the class names.
pub(super) fn read_data(root: &Path, file: &Path, how: &Folder) -> Result<Annotated> {
    let refuse = |what: String| Error::usage(option::LABELS, format!("{}: {what}", file.display()));
    if is_url(root) {
        let what = "the text files of YOLO are read from this machine, and the source is in a \
                    store; copy it here first";
        return Err(refuse(what.to_owned()));
    }
    let text = read_file(file, how.limits.max_file_bytes)?;
    let is_darknet = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("data"));
    let data = if is_darknet {
        darknet::read(&text, root, file, how)?
    } else {
        data::parse(&text).map_err(refuse)?
    };
    let Data { names, splits, keypoints, mut remarks } = data;
    let (images, mut ignored) = files::images(root, how)?;
    let mut entries = Entries::new(root, &images, how);
    let mut gathered = Gathered::new(Some(names), keypoints);
    let mut runs: Vec<(&str, u64)> = Vec::new();
    let mut taken: BTreeMap<Box<[u8]>, &str> = BTreeMap::new();
    let mut before: Vec<(&str, BTreeSet<Box<[u8]>>)> = Vec::new();
    let mut paths = Vec::new();
    for (split, listed) in &splits {
        let (mut own, mut n_listed) = (BTreeSet::new(), 0);
        for entry in listed {
            let images = entries.images_of(split, entry).map_err(|error| match error {
                Failure::Entry(what) => refuse(what),
                Failure::Other(error) => error,
            })?;
            n_listed += images.len();
            own.extend(images);
        }
        let n_repeated = n_listed - own.len();
        if n_repeated > 0 {
            let images = if n_repeated == 1 { "image" } else { "images" };
            remarks.push(format!(
                "{split} lists {n_repeated} {images} again: each image is packed once, and how often \
                 it is shown is up to the training"
            ));
        }
        if own.is_empty() {
            continue;
        }
        if let Some((same, _)) = before.iter().find(|(_, other)| *other == own) {
            remarks.push(format!("{split} has the images of {same}, and is left out"));
            continue;
        }
        runs.push((split, own.len() as u64));
        let mut in_both = own.iter().filter_map(|path| Some((path, *taken.get(path)?)));
        if let Some((path, other)) = in_both.next() {
            let path = key_of_path(path);
            let others = match in_both.count() {
                0 => String::new(),
                n => format!(", and {n} more images are in two splits"),
            };
            return Err(refuse(format!(
                "`{path}` is in both {other} and {split}{others}; an image belongs to one split: \
                 take it out of the other, or pack the splits one by one with a copy of this file \
                 each"
            )));
        }
        taken.extend(own.iter().map(|path| (path.clone(), *split)));
        paths.extend(own.iter().cloned());
        before.push((split, own));
    }
    if paths.is_empty() {
        return Err(refuse(entries.nothing()));
    }
    let known: BTreeSet<&[u8]> = images.iter().map(|it| &**it).collect();
    let n_others = known.len() - taken.keys().filter(|it| known.contains(&***it)).count();
    if n_others > 0 {
        let are = if n_others == 1 { "image of the source is" } else { "images of the source are" };
        remarks.push(format!("{n_others} {are} in none of its splits"));
    }
    let texts = Texts::list(root, &paths, &entries.lists)?;
    let (mut n_read, mut n_other_letters) = (0, 0);
    for path in paths {
        let found = texts.find(&text_of(&path));
        n_read += usize::from(found.is_some());
        n_other_letters += usize::from(found.is_some_and(|(_, is_exact)| !is_exact));
        let text = found.map(|(text, _)| join(root, text));
        let text = text.map(|text| read_file(&text, how.limits.max_file_bytes)).transpose()?;
        gathered.push(path, text.as_deref());
    }
    if n_read == 0 {
        return Err(refuse(texts.none_fits(&gathered.paths)));
    }
    files::tell_alone(gathered.n_without, texts.len() - n_read, &mut remarks);
    files::tell_other_letters(n_other_letters, &mut remarks);
    ignored.uncount(".txt", (n_read + entries.lists.len()) as u64);
    let own_extension = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    files::count_as_read(file, root, &format!(".{own_extension}"), 1, &mut ignored);
    gathered.hash.update(&text);
    remarks.append(&mut entries.remarks);
    let splits = if how.split_folders { split_ranges(runs) } else { Vec::new() };
    let division = Some(Division { splits, ..Division::default() });
    Ok(Annotated { ignored, division, ..gathered.finish(remarks)? })
}

/// Path of the text file of an image: in `labels` if the image is in `images`, or in Darknet's
/// `JPEGImages`, else beside it.
fn text_of(image: &[u8]) -> Vec<u8> {
    let stem = stem(image);
    let swapped = files::swapped(stem, b"images", b"labels")
        .or_else(|| files::swapped(stem, b"JPEGImages", b"labels"));
    [swapped.as_deref().unwrap_or(stem), b".txt"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_lie_where_ultralytics_looks_for_them() {
        let check = |image: &str, text: &str| {
            assert_eq!(text_of(image.as_bytes()), text.as_bytes(), "{image}");
        };
        check("images/train/a.jpg", "labels/train/a.txt");
        check("train/images/a.b.jpg", "train/labels/a.b.txt");
        check("images/x/images/a.jpg", "images/x/labels/a.txt");
        check("train/a.jpg", "train/a.txt");
        check("VOC2007/JPEGImages/a.jpg", "VOC2007/labels/a.txt");
        check("JPEGImages/images/a.jpg", "JPEGImages/labels/a.txt");
    }
}
