//! The annotation text files at the places derived from those of images.
use super::text_of;
use crate::folder::{
    annotations::files::by_letters,
    layout::{join, key_of_path},
    names::normal,
};
use fdconvert_core::{Error, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

/// Text files in the folders of labels, relative to the source.
pub(super) struct Texts {
    paths: BTreeSet<Vec<u8>>,
    /// The files by name with normalised accented letters.
    by_letters: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Texts {
    /// Lists the folders in which the labels of these images would be, without the `lists` of
    /// images.
    pub(super) fn list(
        root: &Path,
        images: &[Box<[u8]>],
        lists: &BTreeSet<Vec<u8>>,
    ) -> Result<Self> {
        let wanted: BTreeSet<Vec<u8>> = images.iter().map(|image| text_of(image)).collect();
        let folders: BTreeSet<&[u8]> = wanted.iter().map(|text| folder_of(text)).collect();
        let mut paths = BTreeSet::new();
        for folder in folders {
            let place = join(root, folder);
            let entries = match fs::read_dir(&place) {
                Ok(entries) => entries,
                Err(cause)
                    if matches!(
                        cause.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    continue;
                }
                Err(cause) => return Err(Error::io("list", &place)(cause)),
            };
            for entry in entries {
                let name = entry.map_err(Error::io("list", &place))?.file_name();
                let name = name.as_encoded_bytes();
                let path = [folder, name].concat();
                let is_label = name.ends_with(b".txt") && name != b"classes.txt";
                if is_label && !name.starts_with(b".") && !lists.contains(&path) {
                    paths.insert(path);
                }
            }
        }
        let others = paths.iter().filter(|path| !path.is_ascii() && !wanted.contains(*path));
        let by_letters = by_letters(others.map(|path| (path.as_slice(), path.clone())));
        Ok(Self { paths, by_letters })
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// The file of that path, and whether its name is exactly the same.
    pub(super) fn find(&self, text: &[u8]) -> Option<(&[u8], bool)> {
        if let Some(path) = self.paths.get(text) {
            return Some((path, true));
        }
        let other = self.by_letters.get(&*normal(text))?;
        Some((other.as_deref()?, false))
    }

    /// Why images have no labels at all.
    pub(super) fn none_fits(&self, images: &[Box<[u8]>]) -> String {
        let image = images.first().map(|image| &**image).unwrap_or_default();
        let seen = self.paths.first().map_or_else(
            || "there is none".to_owned(),
            |path| format!("those there have names such as `{}`", key_of_path(path)),
        );
        format!(
            "not one of its {} images has a file of labels: that of `{}` would be `{}`, and {seen}",
            images.len(),
            key_of_path(image),
            key_of_path(&text_of(image))
        )
    }
}

/// The folder of a path, with its slash.
fn folder_of(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    path.get(..end).unwrap_or_default()
}
