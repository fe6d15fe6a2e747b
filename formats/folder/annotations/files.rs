//! Which files there are: images below the source, annotations below their folder, and which belong
//! together.
use crate::folder::{
    Folder,
    beside::{self, Role},
    layout::{is_hidden, key_of_path, split_extension},
    objects::{self, Objects},
    walk::{self, no_image},
};
use fdconvert_core::{Error, Ignored, Result, named};
use fdconvert_storage::place::is_url;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Folders in folders of annotations.
const MAX_DEPTH: usize = 32;

/// Images below `root` in the order of their paths, compared part by part, and what was passed
/// over. Which folders are classes does not matter, so images may lie anywhere.
pub(super) fn images(root: &Path, how: &Folder) -> Result<(Vec<Box<[u8]>>, Ignored)> {
    let (mut paths, mut ignored): (Vec<Box<[u8]>>, _) = if is_url(root) {
        away(root)?
    } else {
        let walk::Everywhere { flat, deep, ignored, .. } = walk::everywhere(root, how, None)?;
        let paths = [&flat, &deep].into_iter().flat_map(|listing| {
            (0..listing.len()).filter_map(|index| Some(listing.get(index)?.path().into()))
        });
        (paths.collect(), ignored)
    };
    ignored.shorten();
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

/// Files of annotations by their paths below their folder, without the extension.
#[derive(Debug, Default)]
pub(super) struct LabelFiles {
    pub(super) text: BTreeMap<Vec<u8>, PathBuf>,
    pub(super) xml: BTreeMap<Vec<u8>, PathBuf>,
    /// `classes.txt`, right in the folder or beside it.
    pub(super) classes: Option<PathBuf>,
}

impl LabelFiles {
    /// Finds them at any depth; links to folders are not followed.
    pub(super) fn list(folder: &Path) -> Result<Self> {
        let mut found = Self::default();
        found.descend(folder, &[], 0)?;
        Ok(found)
    }

    fn descend(&mut self, folder: &Path, below: &[u8], depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            let what = format!("{} lies more than {MAX_DEPTH} folders deep", folder.display());
            return Err(Error::usage(named::LABELS, what));
        }
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            let name = entry.file_name();
            let name = name.as_bytes();
            let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
            if is_hidden(name) {
                continue;
            }
            if kind.is_dir() {
                self.descend(&entry.path(), &[below, name, b"/"].concat(), depth + 1)?;
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
            self.find_classes(folder);
        }
        Ok(())
    }

    /// `classes.txt` is not the annotation of an image, wherever tools leave it.
    fn find_classes(&mut self, folder: &Path) {
        let own = self.text.remove(&b"classes"[..]);
        let beside = || {
            let beside = folder.parent()?.join("classes.txt");
            beside.is_file().then_some(beside)
        };
        self.classes = own.or_else(beside);
    }
}

/// The annotations of each image: the file at the same place below its folder, or at the image's
/// place below the last folder called `images`, or right in its folder with the image's name.
///
/// # Errors
/// `Usage` when two images have the same one.
pub(super) fn pair<'a>(
    images: &[Box<[u8]>],
    files: &'a BTreeMap<Vec<u8>, PathBuf>,
) -> Result<Vec<Option<&'a Path>>> {
    let mut owners: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut pairs = Vec::with_capacity(images.len());
    for image in images {
        let found = places(image).into_iter().find_map(|place| files.get_key_value(place));
        if let Some((stem, file)) = found
            && let Some(other) = owners.insert(stem, image)
        {
            let (first, second) = (key_of_path(other), key_of_path(image));
            let what = format!(
                "{} belongs to both `{first}` and `{second}`; give folders in which both have the \
                 same order of folders",
                file.display()
            );
            return Err(Error::usage(named::LABELS, what));
        }
        pairs.push(found.map(|(_, file)| file.as_path()));
    }
    Ok(pairs)
}

/// Possible paths of the annotations of an image, without their extension.
fn places(image: &[u8]) -> Vec<&[u8]> {
    let stem = stem(image);
    let after = |part: &[u8]| {
        let at = stem.windows(part.len()).rposition(|window| window == part)?;
        stem.get(at + part.len()..)
    };
    let below_images = after(b"/images/").or_else(|| stem.strip_prefix(b"images/"));
    let name = after(b"/");
    [Some(stem), below_images, name].into_iter().flatten().collect()
}

/// A path without the extension of its file.
pub(super) fn stem(path: &[u8]) -> &[u8] {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let extension = path.get(name..).and_then(split_extension).map(|(_, extension)| extension);
    let end = extension.map_or(path.len(), |extension| path.len() - extension.len() - 1);
    path.get(..end).unwrap_or(path)
}

/// Adds remarks on images and annotations that have no counterpart.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_looked_for_beside_images() {
        let shown = |image: &str| {
            let places = places(image.as_bytes());
            places
                .into_iter()
                .map(|it| String::from_utf8_lossy(it).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("a.jpg"), ["a"]);
        assert_eq!(shown("images/val/a.b.jpg"), ["images/val/a.b", "val/a.b", "a.b"]);
        assert_eq!(shown("x/images/a.jpg"), ["x/images/a", "a", "a"]);
    }
}
