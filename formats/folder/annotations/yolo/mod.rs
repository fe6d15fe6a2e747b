//! YOLO: a text file for each image, and a file in YAML that names the classes.
pub(super) mod data;
mod lines;

pub(super) use lines::Lines;

use super::{
    Annotated, Made,
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
use fdconvert_core::{Error, FieldSpec, Ignored, Kind, Result, Schema, named, split_ranges};
use fdconvert_storage::{place::is_url, read_file, read_if_there};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3Default;

/// Text files of annotations, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Yolo {
    texts: Vec<u8>,
    /// End of the text of each image.
    ends: Vec<u64>,
    lines: Arc<Lines>,
}

impl Yolo {
    pub(crate) fn document(&self, row: usize, size: [u32; 2]) -> Result<Bytes, String> {
        let end = |row: usize| usize::try_from(*self.ends.get(row)?).ok();
        let start = row.checked_sub(1).map_or(Some(0), end);
        let range = start.zip(end(row)).map(|(start, end)| start..end);
        let text = range.and_then(|range| self.texts.get(range));
        let text = text.ok_or("its annotations cannot be found again")?;
        self.lines.document(text, size)
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
        // A class that is called otherwise makes another dataset of the same files.
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

    fn finish(self, mut remarks: Vec<String>, n_unused: usize) -> Result<Annotated> {
        let Self { paths, yolo, hash, n_without } = self;
        files::tell_alone(n_without, n_unused, &mut remarks);
        let fields =
            vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("objects", Kind::Json)];
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
        })
    }
}

/// Reads a folder of text files, for all images below `root`.
pub(super) fn read_folder(
    root: &Path,
    found: &files::LabelFiles,
    how: &Folder,
) -> Result<Annotated> {
    let (images, ignored) = files::images(root, how)?;
    let mut remarks = Vec::new();
    let names = match &found.classes {
        Some(file) => Some(class_names(file, how)?),
        None => {
            remarks.push(
                "no classes.txt lies beside the annotations, so classes have numbers and \
                          no names"
                    .to_owned(),
            );
            None
        }
    };
    let pairs = files::pair(&images, &found.text)?;
    let n_unused = found.text.len() - pairs.iter().flatten().count();
    let mut gathered = Gathered::new(names, None);
    for (image, file) in images.into_iter().zip(pairs) {
        let text = file.map(|file| read_file(file, how.limits.max_file_bytes)).transpose()?;
        gathered.push(image, text.as_deref());
    }
    Ok(Annotated { ignored, ..gathered.finish(remarks, n_unused)? })
}

/// The lines of `classes.txt`.
fn class_names(file: &Path, how: &Folder) -> Result<Vec<String>> {
    let text = read_file(file, how.limits.max_file_bytes)?;
    let text = std::str::from_utf8(&text)
        .map_err(|_| Error::usage(named::LABELS, format!("{} is not UTF-8", file.display())))?;
    let names: Vec<String> = text.trim_end().lines().map(|it| it.trim().to_owned()).collect();
    let checked = names.iter().try_for_each(|name| check_name(name));
    checked.map_err(|what| Error::usage(named::LABELS, format!("{}: {what}", file.display())))?;
    Ok(names)
}

/// Reads a file in YAML, which says which folders below `root` are splits, and what classes are
/// called.
pub(super) fn read_data(root: &Path, file: &Path, how: &Folder) -> Result<Annotated> {
    let refuse = |what: String| Error::usage(named::LABELS, format!("{}: {what}", file.display()));
    if is_url(root) {
        let what = "the text files of YOLO are read from this machine, and the source lies in a \
                    store; copy it here first";
        return Err(refuse(what.to_owned()));
    }
    let text = read_file(file, how.limits.max_file_bytes)?;
    let Data { names, splits, keypoints, mut remarks } = data::parse(&text).map_err(refuse)?;
    let (images, ignored) = files::images(root, how)?;
    let mut gathered = Gathered::new(Some(names), keypoints);
    let mut runs: Vec<(&str, u64)> = Vec::new();
    let mut taken: BTreeMap<Box<[u8]>, &str> = BTreeMap::new();
    let mut before: Vec<(&str, BTreeSet<Box<[u8]>>)> = Vec::new();
    for (split, entries) in &splits {
        let mut own = BTreeSet::new();
        for entry in entries {
            own.extend(images_of(root, split, entry, &images, how).map_err(
                |error| match error {
                    Failure::Entry(what) => refuse(what),
                    Failure::Other(error) => error,
                },
            )?);
        }
        if let Some((same, _)) = before.iter().find(|(_, other)| *other == own) {
            remarks.push(format!("{split} has the images of {same}, and is left out"));
            continue;
        }
        runs.push((split, own.len() as u64));
        for path in &own {
            if let Some(other) = taken.insert(path.clone(), split) {
                let path = key_of_path(path);
                return Err(refuse(format!("`{path}` is in both {other} and {split}")));
            }
            let labels = join(root, &text_of(path));
            let text = read_if_there(&labels, how.limits.max_file_bytes)?;
            gathered.push(path.clone(), text.as_deref());
        }
        before.push((split, own));
    }
    let n_others = images.len() - gathered.paths.len().min(images.len());
    if n_others > 0 {
        let are = if n_others == 1 { "image of the source is" } else { "images of the source are" };
        remarks.push(format!("{n_others} {are} in none of its splits"));
    }
    if gathered.paths.is_empty() {
        return Err(refuse("it names no folder with an image".to_owned()));
    }
    gathered.hash.update(&text);
    let splits = if how.split_folders { split_ranges(runs) } else { Vec::new() };
    let division = Some(Division { splits, ..Division::default() });
    Ok(Annotated { ignored, division, ..gathered.finish(remarks, 0)? })
}

enum Failure {
    /// Problem with an entry of the file.
    Entry(String),
    Other(Error),
}

/// The images of an entry such as `images/train` or `train.txt`, relative to `root`.
fn images_of(
    root: &Path,
    split: &str,
    entry: &str,
    images: &[Box<[u8]>],
    how: &Folder,
) -> Result<Vec<Box<[u8]>>, Failure> {
    let refuse = |what: &str| {
        let root = root.display();
        Failure::Entry(format!(
            "`{split}: {entry}` {what}; give as the source the folder that such entries are \
             relative to (what `path` names), here it is {root}"
        ))
    };
    if Path::new(entry).is_absolute() {
        return Err(refuse("is absolute"));
    }
    let relative = trimmed(entry);
    if relative.split('/').any(|part| part == "..") {
        return Err(refuse("leads out of it"));
    }
    if !relative.ends_with(".txt") {
        let folder = if relative.is_empty() || relative == "." {
            Vec::new()
        } else {
            [relative.as_bytes(), b"/"].concat()
        };
        let own: Vec<_> = images.iter().filter(|it| it.starts_with(&folder)).cloned().collect();
        return if own.is_empty() { Err(refuse("holds no image there")) } else { Ok(own) };
    }
    let file: PathBuf = root.join(relative);
    let text = read_if_there(&file, how.limits.max_file_bytes).map_err(Failure::Other)?;
    let text = text.ok_or_else(|| refuse("is not a file there"))?;
    let text = std::str::from_utf8(&text).map_err(|_| refuse("is not UTF-8"))?;
    let known: BTreeSet<&[u8]> = images.iter().map(|it| &**it).collect();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            // `./` is where the list lies, all else is relative to the source.
            let beside = relative.rsplit_once('/').map_or("", |(folder, _)| folder);
            let path = match line.strip_prefix("./") {
                Some(rest) if !beside.is_empty() => format!("{beside}/{rest}"),
                Some(rest) => rest.to_owned(),
                None => line.to_owned(),
            };
            match known.get(path.as_bytes()) {
                Some(path) => Ok(Box::from(*path)),
                None => Err(refuse(&format!("lists `{line}`, which is not there"))),
            }
        })
        .collect()
}

/// Without `./`, and without the `../` that exports have in front although the file lies beside the
/// folders; Ultralytics leaves it out, too.
fn trimmed(entry: &str) -> &str {
    let entry = entry.trim_end_matches('/');
    let entry = entry.strip_prefix("../").unwrap_or(entry);
    entry.trim_start_matches("./")
}

/// Path of the text file of an image: in `labels` where the image is in `images`, else beside it.
fn text_of(image: &[u8]) -> Vec<u8> {
    let (stem, part) = (stem(image), b"/images/");
    let at = stem.windows(part.len()).rposition(|window| window == part);
    let replaced = match at {
        Some(at) => {
            let (before, after) = stem.split_at(at);
            [before, b"/labels/", after.get(part.len()..).unwrap_or_default()].concat()
        }
        None => match stem.strip_prefix(b"images/") {
            Some(rest) => [&b"labels/"[..], rest].concat(),
            None => stem.to_vec(),
        },
    };
    [&replaced[..], b".txt"].concat()
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
        assert_eq!(trimmed("../train/images/"), "train/images");
        assert_eq!(trimmed("./val"), "val");
    }
}
