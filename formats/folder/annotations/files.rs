//! Lists the images below the source and the annotations below their folder, and pairs them.
use crate::folder::{
    Folder,
    beside::{self, Role},
    layout::{is_hidden, key_of_path, split_extension},
    names::normal,
    objects::{self, Objects},
    walk::{self, no_image},
};
use fdconvert_core::{Error, Ignored, Result, option};
use fdconvert_storage::{os, place::is_url};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Folders of images, and neighbouring folders with their annotations.
const BESIDE: [(&[u8], &[u8]); 3] =
    [(b"images", b"labels"), (b"JPEGImages", b"labels"), (b"JPEGImages", b"Annotations")];
/// Limit of nested folders of annotations.
const MAX_DEPTH: usize = 32;
/// Files of class names, one per line: of labelImg, of Darknet, and of Roboflow's export for
/// Darknet.
const CLASSES: [&[u8]; 3] = [b"classes.txt", b"obj.names", b"_darknet.labels"];

/// Images below `root`, sorted by path and compared part by part, and the skipped files. Classes do
/// not matter here, so images may be anywhere.
pub(crate) fn images(root: &Path, how: &Folder) -> Result<(Vec<Box<[u8]>>, Ignored)> {
    let (mut paths, mut ignored): (Vec<Box<[u8]>>, _) = if is_url(root) {
        away(root)?
    } else {
        let walk::Everywhere { flat, deep, ignored, .. } = walk::everywhere(root, how)?;
        let paths = [&flat, &deep].into_iter().flat_map(|listing| {
            (0..listing.len()).filter_map(|index| Some(listing.get(index)?.path().into()))
        });
        (paths.collect(), ignored)
    };
    ignored.shorten();
    // Classes do not matter, so empty folders do not either.
    ignored.folders.clear();
    if paths.is_empty() {
        return Err(no_image(root, &ignored, how.follow_links));
    }
    paths.sort_unstable_by(|a, b| objects::parts(a).cmp(objects::parts(b)));
    Ok((paths, ignored))
}

fn away(root: &Path) -> Result<(Vec<Box<[u8]>>, Ignored)> {
    let (objects, mut ignored) = (Objects::list(root)?, Ignored::default());
    let mut paths = Vec::new();
    for object in objects.iter() {
        let is_passed_over = |part: &[u8]| is_hidden(part) || part == crate::folder::layout::MACOSX;
        let name = objects::parts(object.path).last().unwrap_or_default();
        if objects::parts(object.path).any(is_passed_over) {
            ignored.hidden += 1;
        } else if !name.is_empty() {
            match beside::role(name, &[]) {
                Role::Image => paths.push(object.path.into()),
                _ => beside::count(name, &mut ignored),
            }
        }
    }
    Ok((paths, ignored))
}

/// Annotation files by their paths below their folder, without extension.
#[derive(Debug, Default)]
pub(super) struct LabelFiles {
    pub(super) text: BTreeMap<Vec<u8>, PathBuf>,
    pub(super) xml: BTreeMap<Vec<u8>, PathBuf>,
    /// Files of class names in the folder, or otherwise beside it.
    pub(super) classes: Vec<PathBuf>,
}

impl LabelFiles {
    /// Finds them at any depth; does not follow links to folders.
    pub(super) fn list(folder: &Path) -> Result<Self> {
        let mut found = Self::default();
        found.descend(folder, &[], 0)?;
        Ok(found)
    }

    fn descend(&mut self, folder: &Path, below: &[u8], depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            let what = format!("{} is more than {MAX_DEPTH} folders deep", folder.display());
            return Err(Error::usage(option::LABELS, what));
        }
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
            if is_hidden(name) {
                continue;
            }
            if kind.is_dir() {
                self.descend(&entry.path(), &[below, name, b"/"].concat(), depth + 1)?;
                continue;
            }
            if CLASSES.contains(&name) {
                self.classes.push(entry.path());
                continue;
            }
            let Some((stem, extension)) = split_extension(name) else { continue };
            let stem = [below, stem].concat();
            let known = if extension.eq_ignore_ascii_case(b"txt") {
                &mut self.text
            } else if extension.eq_ignore_ascii_case(b"xml") {
                &mut self.xml
            } else {
                continue;
            };
            known.insert(stem, entry.path());
        }
        if depth == 0 {
            self.classes.sort_unstable();
            if let (true, Some(above)) = (self.classes.is_empty(), folder.parent()) {
                let beside = CLASSES.map(|name| above.join(os::path_of(name)));
                self.classes.extend(beside.into_iter().find(|file| file.is_file()));
            }
        }
        Ok(())
    }
}

/// The annotations of images.
pub(super) struct Pairs<'a> {
    pub(crate) files: Vec<Option<&'a Path>>,
    n_files: usize,
    /// Number of files with another form of accented letters than their images.
    n_other_letters: usize,
}

impl Pairs<'_> {
    /// Number of files that belong to an image.
    pub(super) fn n_read(&self) -> usize {
        self.files.iter().flatten().count()
    }

    /// Refuses files if none belongs to an image; `hint` may explain the first.
    pub(super) fn check(
        &self,
        folder: &Path,
        images: &[Box<[u8]>],
        files: &BTreeMap<Vec<u8>, PathBuf>,
        hint: impl FnOnce(&Path) -> Option<String>,
    ) -> Result<()> {
        let (Some(image), Some((stem, file)), 0) =
            (images.first(), files.first_key_value(), self.n_read())
        else {
            return Ok(());
        };
        let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
        let name = |stem: &[u8]| format!("`{}.{extension}`", key_of_path(stem));
        let wanted: Vec<String> = places(image).iter().map(|place| name(place)).collect();
        let n_files = match files.len() {
            1 => "the only file of annotations in".to_owned(),
            n => format!("not one of the {n} files of annotations in"),
        };
        let does = if files.len() == 1 { "does not belong" } else { "belongs" };
        let what = format!(
            "{n_files} {} {does} to an image of the source: for `{}` it would be {}, and there is {}{}",
            folder.display(),
            key_of_path(image),
            wanted.join(" or "),
            name(stem),
            hint(file).unwrap_or_else(|| "; each has to have the name of its image".to_owned())
        );
        Err(Error::usage(option::LABELS, what))
    }

    /// Adds remarks on images and files without counterpart, and on names that differ.
    pub(super) fn tell(&self, remarks: &mut Vec<String>) {
        let n_read = self.n_read();
        tell_alone(self.files.len() - n_read, self.n_files - n_read, remarks);
        tell_other_letters(self.n_other_letters, remarks);
    }
}

/// Pairs each image with its annotations: the file at the same place below its folder, at the
/// image's place below the last folder called `images`, or directly in its folder with the image's
/// name.
///
/// # Errors
/// `Usage` when two images share a file.
pub(super) fn pair<'a>(
    images: &[Box<[u8]>],
    files: &'a BTreeMap<Vec<u8>, PathBuf>,
) -> Result<Pairs<'a>> {
    let mut owners: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut pairs = Vec::with_capacity(images.len());
    let mut alone = Vec::new();
    for (at, image) in images.iter().enumerate() {
        let found = places(image).iter().find_map(|place| files.get_key_value(&**place));
        match found {
            Some((stem, file)) => own(&mut owners, stem, file, image)?,
            None => alone.push((at, image)),
        }
        pairs.push(found.map(|(_, file)| file.as_path()));
    }
    let mut n_other_letters = 0;
    if !alone.is_empty() && owners.len() < files.len() {
        let others = files.iter().filter(|(stem, _)| !owners.contains_key(stem.as_slice()));
        let others = by_letters(others.map(|(stem, file)| (stem.as_slice(), (stem, file))));
        for (at, image) in alone {
            let places = places(image);
            let mut found = places.iter().filter_map(|place| others.get(&*normal(place)));
            if let (Some(Some((stem, file))), Some(pair)) = (found.next(), pairs.get_mut(at)) {
                own(&mut owners, stem, file, image)?;
                *pair = Some(file.as_path());
                n_other_letters += 1;
            }
        }
    }
    Ok(Pairs { files: pairs, n_files: files.len(), n_other_letters })
}

/// Values by name with normalised accented letters; `None` for ambiguous names.
pub(crate) fn by_letters<'a, T>(
    named: impl Iterator<Item = (&'a [u8], T)>,
) -> BTreeMap<Vec<u8>, Option<T>> {
    let mut by_letters = BTreeMap::new();
    for (name, value) in named {
        let same = by_letters.entry(normal(name).into_owned());
        same.and_modify(|it| *it = None).or_insert(Some(value));
    }
    by_letters
}

/// Records the image of a file; an error if there are two.
fn own<'a>(
    owners: &mut BTreeMap<&'a [u8], &'a [u8]>,
    stem: &'a [u8],
    file: &Path,
    image: &'a [u8],
) -> Result<()> {
    let Some(other) = owners.insert(stem, image) else { return Ok(()) };
    let what = format!(
        "{} belongs to both `{}` and `{}`; give folders in which both have the same order of folders",
        file.display(),
        key_of_path(other),
        key_of_path(image)
    );
    Err(Error::usage(option::LABELS, what))
}

/// Removes annotation files that were read from the skipped files of the source, if they are inside
/// it.
pub(super) fn count_as_read(
    folder: &Path,
    root: &Path,
    extension: &str,
    n_read: usize,
    ignored: &mut Ignored,
) {
    let is_below = match (fs::canonicalize(folder), fs::canonicalize(root)) {
        (Ok(folder), Ok(root)) => folder.starts_with(root),
        _ => false,
    };
    if is_below {
        ignored.uncount(extension, n_read as u64);
    }
}

/// Possible paths of an image's annotations, without extension.
fn places(image: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let stem = stem(image);
    let after = |part: &[u8]| {
        let at = stem.windows(part.len()).rposition(|window| window == part)?;
        stem.get(at + part.len()..)
    };
    let below_images = after(b"/images/").or_else(|| stem.strip_prefix(b"images/"));
    let name = after(b"/");
    let inside = [Some(stem), below_images, name].into_iter().flatten().map(Cow::from);
    let beside = BESIDE.iter().filter_map(|(images, labels)| swapped(stem, images, labels));
    inside.chain(beside.map(Cow::from)).collect()
}

/// Replaces the last folder of that name in a path.
pub(super) fn swapped(path: &[u8], folder: &[u8], by: &[u8]) -> Option<Vec<u8>> {
    let part = [b"/", folder, b"/"].concat();
    let inner = path.windows(part.len()).rposition(|window| window == part).map(|at| at + 1);
    let at = inner.or_else(|| path.starts_with(part.get(1..)?).then_some(0))?;
    let (before, rest) = path.split_at_checked(at)?;
    Some([before, by, rest.get(folder.len()..)?].concat())
}

/// A path without the extension of its file.
pub(crate) fn stem(path: &[u8]) -> &[u8] {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let extension = path.get(name..).and_then(split_extension).map(|(_, extension)| extension);
    let end = extension.map_or(path.len(), |extension| path.len() - extension.len() - 1);
    path.get(..end).unwrap_or(path)
}

/// Adds remarks on images and annotations without counterpart.
pub(super) fn tell_alone(n_images: usize, n_files: usize, remarks: &mut Vec<String>) {
    if n_images > 0 {
        let have = if n_images == 1 { "image has" } else { "images have" };
        remarks.push(format!("{n_images} {have} no annotations, so no objects"));
    }
    if n_files > 0 {
        let have =
            if n_files == 1 { "file of annotations has" } else { "files of annotations have" };
        remarks.push(format!("{n_files} {have} no image in the source"));
    }
}

/// Adds a remark on names that look the same as those of images.
pub(super) fn tell_other_letters(n_files: usize, remarks: &mut Vec<String>) {
    if n_files > 0 {
        let have =
            if n_files == 1 { "file of annotations has" } else { "files of annotations have" };
        remarks.push(format!(
            "{n_files} {have} the name of an image with other forms of accented letters (NFC and NFD)"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_looked_for_beside_images() {
        let shown = |image: &str| {
            let places = places(image.as_bytes());
            places
                .into_iter()
                .map(|it| String::from_utf8_lossy(&it).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("a.jpg"), ["a"]);
        let places = ["images/val/a.b", "val/a.b", "a.b", "labels/val/a.b"];
        assert_eq!(shown("images/val/a.b.jpg"), places);
        assert_eq!(shown("x/images/a.jpg"), ["x/images/a", "a", "a", "x/labels/a"]);
        let places = ["V/JPEGImages/a", "a", "V/labels/a", "V/Annotations/a"];
        assert_eq!(shown("V/JPEGImages/a.jpg"), places);
    }
}
