//! The names directly in a folder, by which layouts are recognised.
use crate::folder::layout::{is_hidden, promised};
use fdconvert_core::{Error, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Names to remember of each kind: a few identify a layout, and folders may hold millions.
const MAX_NAMES: usize = 4096;

/// The names in a folder, sorted. Images are only counted as there: a folder has millions of them.
pub(super) struct Names {
    root: PathBuf,
    /// The folder's path below the source, with a final slash.
    above: String,
    folders: BTreeSet<String>,
    n_folders: u64,
    has_images: bool,
    /// By extension in lower case.
    files: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    pub(super) fn list(root: &Path) -> Result<Self> {
        let mut names = Self {
            root: root.to_path_buf(),
            above: String::new(),
            folders: BTreeSet::new(),
            n_folders: 0,
            has_images: false,
            files: BTreeMap::new(),
        };
        for entry in fs::read_dir(root).map_err(Error::io("list", root))? {
            let entry = entry.map_err(Error::io("list", root))?;
            let name = entry.file_name();
            if is_hidden(name.as_encoded_bytes()) {
                continue;
            }
            if promised(name.as_encoded_bytes()).is_some() {
                names.has_images = true;
                continue;
            }
            // Names of layouts are plain texts.
            let Some(name) = name.to_str() else { continue };
            let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
            let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
            if is_folder {
                names.n_folders += 1;
                remember(&mut names.folders, name);
            } else {
                let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
                let known = names.files.entry(extension.to_ascii_lowercase());
                remember(known.or_default(), name);
            }
            if names.files.len() > MAX_NAMES {
                names.files.pop_last();
            }
        }
        Ok(names)
    }

    /// The names in a folder of this one, if it is there.
    pub(super) fn below(&self, folder: &str) -> Result<Option<Self>> {
        let path = self.root.join(folder);
        if !path.is_dir() {
            return Ok(None);
        }
        let above = format!("{}{folder}/", self.above);
        Ok(Some(Self { above, ..Self::list(&path)? }))
    }

    /// The names in the only folder, if there are no images next to it.
    pub(super) fn only_folder(&self) -> Result<Option<Self>> {
        match self.folders.first() {
            Some(folder) if self.n_folders == 1 && !self.has_images => self.below(folder),
            _ => Ok(None),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn above(&self) -> &str {
        &self.above
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// The names of files with that extension, in lower case.
    pub(super) fn files(&self, extension: &str) -> impl Iterator<Item = &str> {
        self.files.get(extension).into_iter().flatten().map(String::as_str)
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.root.join(path).is_file()
    }

    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// The first of these files that is there.
    pub(super) fn first_file(&self, paths: &[&'static str]) -> Option<&'static str> {
        paths.iter().copied().find(|path| self.has_file(path))
    }
}

/// Keeps the first names in sorted order, whatever the order of the system.
fn remember(names: &mut BTreeSet<String>, name: &str) {
    names.insert(name.to_owned());
    if names.len() > MAX_NAMES {
        names.pop_last();
    }
}
