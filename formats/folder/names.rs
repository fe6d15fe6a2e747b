//! Resolves file names in tables and annotations to files.
//!
//! A name that exists exactly as written means that file. Only other names go through the
//! differences between systems: a backslash for a slash, the other form of an accented letter, no
//! extension, a leading folder that only existed on the writer's machine. Each kind is counted and
//! reported.
use crate::folder::{
    Folder,
    annotations::files,
    layout::{check_relative, join, key_of_path, promised},
    objects::Objects,
};
use fdconvert_core::{Error, Result, option};
use std::{borrow::Cow, collections::BTreeMap, fs, io, path::Path};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick};

/// The path for a name, proven to stay below the source. The error completes the sentence "the name
/// ...".
pub(crate) fn listed(name: &str) -> Result<Box<[u8]>, String> {
    if name.contains("://") {
        return Err("is an address; download the files, and list their names in the source".into());
    }
    let bytes = name.trim_start_matches("./").as_bytes();
    let is_drive =
        matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    if bytes.starts_with(b"/") || is_drive {
        return Err("is absolute; list names as they are below the source".into());
    }
    let slashed: Vec<u8> = bytes.iter().map(|&it| if it == b'\\' { b'/' } else { it }).collect();
    if slashed.split(|&byte| byte == b'/').any(|part| part == b"..") {
        return Err(
            "leads out of its folder by `..`; give the folder that holds all files as the \
                    source, and list names as they are below it"
                .into(),
        );
    }
    // Where no file can have a backslash in its name, it is another slash.
    let path = if cfg!(windows) { &*slashed } else { bytes };
    check_relative(path)?;
    Ok(path.into())
}

/// Normalises accented letters to one character each, as most systems write them; macOS may have
/// stored them as two.
#[must_use]
pub fn normal_name(name: &str) -> Cow<'_, str> {
    match is_nfc_quick(name.chars()) {
        IsNormalized::Yes => name.into(),
        _ => name.nfc().collect::<String>().into(),
    }
}

/// The same for a path.
pub(crate) fn normal(path: &[u8]) -> Cow<'_, [u8]> {
    match str::from_utf8(path).map(normal_name) {
        Ok(Cow::Owned(text)) => text.into_bytes().into(),
        _ => path.into(),
    }
}

/// Returns true if another spelling of a path looks the same.
fn has_other_form(path: &[u8]) -> bool {
    let is_other = |text: &str| {
        is_nfc_quick(text.chars()) != IsNormalized::Yes
            || is_nfd_quick(text.chars()) != IsNormalized::Yes
    };
    !path.is_ascii() && str::from_utf8(path).is_ok_and(is_other)
}

/// The files that names may refer to.
pub(crate) struct Files<'a> {
    pub(crate) root: &'a Path,
    pub(crate) how: &'a Folder,
    /// The complete list of a zip or a store.
    pub(crate) objects: Option<&'a Objects>,
}

impl Files<'_> {
    fn has(&self, path: &[u8]) -> bool {
        if let Some(objects) = self.objects {
            return objects.find(path).is_some();
        }
        match fs::metadata(join(self.root, path)) {
            Ok(metadata) => metadata.is_file(),
            // Reading the file reports the error.
            Err(cause) => {
                !matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        }
    }

    fn images(&self) -> Result<Vec<Box<[u8]>>> {
        match self.objects {
            Some(objects) => {
                let images = objects.iter().filter(|object| promised(object.path).is_some());
                Ok(images.map(|object| object.path.into()).collect())
            }
            None => files::images(self.root, self.how).map(|(images, _)| images),
        }
    }
}

/// A difference between a name and its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Otherwise {
    Backslashes,
    Letters,
    Extension,
}

/// Images by the parts of their names that other spellings keep; `None` if ambiguous.
struct Index {
    by_path: BTreeMap<Vec<u8>, Option<Box<[u8]>>>,
    by_stem: BTreeMap<Vec<u8>, Option<Box<[u8]>>>,
}

impl Index {
    fn new(images: &[Box<[u8]>]) -> Self {
        let mut index = Self { by_path: BTreeMap::new(), by_stem: BTreeMap::new() };
        for image in images {
            let stem = files::stem(image);
            for (map, name) in [(&mut index.by_path, &**image), (&mut index.by_stem, stem)] {
                let same = map.entry(normal(name).into_owned());
                same.and_modify(|it| *it = None).or_insert_with(|| Some(image.clone()));
            }
        }
        index
    }

    /// The file for a name that does not exist as written.
    fn find(&self, name: &[u8]) -> Option<(Box<[u8]>, Otherwise)> {
        let mut otherwise = Otherwise::Letters;
        let mut slashed = name.to_vec();
        for byte in &mut slashed {
            if *byte == b'\\' {
                (*byte, otherwise) = (b'/', Otherwise::Backslashes);
            }
        }
        let wanted = normal(&slashed);
        if let Some(found) = self.by_path.get(&*wanted) {
            return Some((found.clone()?, otherwise));
        }
        let found = self.by_stem.get(&*wanted).filter(|_| promised(name).is_none())?;
        Some((found.clone()?, Otherwise::Extension))
    }
}

/// Replaces other spellings by the names of the files, and reports the differences.
///
/// # Errors
/// `Usage` if no file exists, or two names mean one file; `Io`.
pub(crate) fn settle(paths: &mut [Box<[u8]>], files: &Files<'_>) -> Result<Vec<String>> {
    let mut remarks = Vec::new();
    let found_any = paths.iter().any(|path| files.has(path));
    let mut index: Option<Index> = None;
    if !found_any {
        let images = files.images()?;
        let known = index.insert(Index::new(&images));
        let is_there = |path: &[u8]| files.has(path) || known.find(path).is_some();
        if !paths.iter().any(|path| is_there(path)) {
            let Some(first) = paths.first().cloned() else { return Ok(remarks) };
            let Some(len) = folders(&first).find(|len| first.get(*len..).is_some_and(is_there))
            else {
                return Err(none_is_there(paths, &images, files));
            };
            let (folder, _) = first.split_at(len);
            for path in paths.iter_mut() {
                *path = path.strip_prefix(folder).unwrap_or(path).into();
            }
            remarks.push(format!(
                "the folder `{}` in front of names is left out: the source has no such folder",
                key_of_path(folder)
            ));
        }
    }
    let mut counts: BTreeMap<Otherwise, u64> = BTreeMap::new();
    for path in paths.iter_mut() {
        let may_differ = path.contains(&b'\\') || has_other_form(path) || promised(path).is_none();
        if !may_differ || files.has(path) {
            continue;
        }
        let known = match &mut index {
            Some(index) => index,
            None => index.insert(Index::new(&files.images()?)),
        };
        if let Some((image, otherwise)) = known.find(path) {
            *path = image;
            *counts.entry(otherwise).or_default() += 1;
        }
    }
    if !counts.is_empty() {
        check_once(paths)?;
    }
    remarks.extend(counts.into_iter().map(|(otherwise, n)| {
        let (names, are) = if n == 1 { ("name", "is") } else { ("names", "are") };
        match otherwise {
            Otherwise::Backslashes => format!("{n} {names} {are} written with `\\` for `/`"),
            Otherwise::Letters => format!(
                "{n} {names} {are} written with other forms of accented letters than the files have \
                 (NFC and NFD)"
            ),
            Otherwise::Extension => format!("{n} {names} {are} written without an extension"),
        }
    }));
    Ok(remarks)
}

/// Lengths of the leading folders of a name, shortest first, with their slashes.
fn folders(path: &[u8]) -> impl Iterator<Item = usize> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| matches!(byte, b'/' | b'\\'));
    slashes.map(|(at, _)| at + 1)
}

fn check_once(paths: &[Box<[u8]>]) -> Result<()> {
    let mut sorted: Vec<&[u8]> = paths.iter().map(|path| &**path).collect();
    sorted.sort_unstable();
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    match pairs.find(|(path, next)| path == next) {
        None => Ok(()),
        Some((path, _)) => {
            let what = format!("two names mean the file `{}`; list it once", key_of_path(path));
            Err(Error::usage(option::LABELS, what))
        }
    }
}

fn none_is_there(paths: &[Box<[u8]>], images: &[Box<[u8]>], files: &Files<'_>) -> Error {
    let root = files.root;
    let first = paths.first().map(|path| &**path).unwrap_or_default();
    let mut cure = "give the folder that the names are relative to as the source".to_owned();
    let lies_below = images.iter().find_map(|image| {
        let folder = image.strip_suffix(first)?;
        folder.ends_with(b"/").then_some(folder)
    });
    if let Some(folder) = lies_below {
        cure = match files.objects {
            Some(_) => format!("write `{}` in front of the names", key_of_path(folder)),
            None => format!("give {} as the source", join(root, folder).display()),
        };
    }
    let n = match paths.len() {
        1 => "the file that is listed is not".to_owned(),
        n => format!("none of the {n} files that are listed is"),
    };
    let example = images.first().map_or_else(
        || "there is no image".to_owned(),
        |image| format!("images there have names such as `{}`", key_of_path(image)),
    );
    let what = format!(
        "{n} in {}: looked for `{}`, and {example}; {cure}",
        root.display(),
        key_of_path(first)
    );
    Error::usage(option::LABELS, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(names: &[&str], files: &[&str]) -> Result<(Vec<String>, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let how = Folder::default();
        let files = Files { root: folder.path(), how: &how, objects: None };
        let mut paths: Vec<Box<[u8]>> = names.iter().map(|name| name.as_bytes().into()).collect();
        let remarks = settle(&mut paths, &files)?;
        Ok((paths.iter().map(|path| key_of_path(path)).collect(), remarks))
    }

    #[test]
    fn names_that_others_write_otherwise_mean_their_files() {
        let check = |names: &[&str], files: &[&str], expected: &[&str], part: &str| {
            let (found, remarks) = settled(names, files).unwrap();
            assert_eq!(found, expected);
            assert!(remarks.iter().any(|remark| remark.contains(part)), "{remarks:?}");
        };
        let (nfc, nfd) = ("caf\u{e9}.jpg", "cafe\u{301}.jpg");
        check(&[nfc, "a.jpg"], &[nfd, "a.jpg"], &[nfd, "a.jpg"], "1 name is written with other");
        check(&[nfd], &[nfc], &[nfc], "NFD");
        check(&["a\\1.jpg"], &["a/1.jpg"], &["a/1.jpg"], "`\\`");
        check(&["1", "2"], &["1.jpg", "2.png"], &["1.jpg", "2.png"], "2 names are written without");
        check(&["data/x/1.jpg", "data/x/2.jpg"], &["x/1.jpg"], &["x/1.jpg", "x/2.jpg"], "`data/`");
        let (found, remarks) = settled(&["1.jpg", "2.jpg"], &["1.jpg"]).unwrap();
        assert_eq!((found.len(), remarks.len()), (2, 0));
    }

    #[test]
    fn names_of_nothing_are_refused_with_what_there_is() {
        let check = |names: &[&str], files: &[&str], part: &str| {
            let said = settled(names, files).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        };
        check(&["0.jpg", "1.jpg"], &["train/0.jpg"], "train/ as the source");
        check(&["a.jpg"], &["b.png"], "`b.png`");
        check(&["1"], &["1.jpg", "1.png"], "looked for `1`");
        check(&["1", "1.jpg"], &["1.jpg"], "two names mean");
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused_with_the_cure() {
        for (name, part) in [
            ("https://host/0.jpg", "address"),
            ("/data/0.jpg", "absolute"),
            ("C:\\data\\0.jpg", "absolute"),
            ("../0.jpg", "`..`"),
            ("a\\..\\0.jpg", "`..`"),
            ("a//0.jpg", "empty part"),
        ] {
            let said = listed(name).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(&*listed("./a/0.jpg").unwrap(), b"a/0.jpg");
    }
}
