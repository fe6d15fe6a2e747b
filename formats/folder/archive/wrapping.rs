//! The wrapping folder of an archive: the folder that contains everything else.
use crate::folder::{
    layout::{MACOSX, is_hidden, promised},
    objects::parts,
    sidecar,
    split_folders::split_of,
};

/// Searches for the folder that contains all files of an archive.
#[derive(Debug, Default)]
pub(super) struct Wrapping {
    folder: Option<String>,
    is_other: bool,
    /// True if images are directly in it: then it is a class.
    has_images: bool,
    /// True if its subfolders contain images.
    has_classes: bool,
    /// True if it was unpacked with its table.
    has_table: bool,
}

impl Wrapping {
    /// Takes a file into account.
    pub(super) fn note(&mut self, name: &str) {
        let mut parts = parts(name.as_bytes());
        let (Some(first), second) = (parts.next(), parts.next().unwrap_or_default()) else {
            return;
        };
        if is_hidden(first) || first == MACOSX {
            return;
        }
        let first = String::from_utf8_lossy(first);
        self.is_other |= first.len() == name.len();
        match &self.folder {
            None => self.folder = Some(first.into_owned()),
            Some(folder) => self.is_other |= *folder != first,
        }
        self.has_table |= sidecar::is_name(second) && parts.next().is_none();
        let is_deep = name.split('/').nth(2).is_some();
        let is_shown = !name.split('/').any(|part| is_hidden(part.as_bytes()));
        if is_shown && promised(name.as_bytes()).is_some() {
            *(if is_deep { &mut self.has_classes } else { &mut self.has_images }) = true;
        }
    }

    /// The folder, if there is one.
    pub(super) fn folder(self) -> Option<String> {
        let Self { folder, is_other, has_images, has_classes, has_table } = self;
        let holds_classes = has_classes && !has_images;
        let is_split = |folder: &String| split_of(folder.as_bytes()).is_some();
        folder.filter(|folder| !is_other && (has_table || (holds_classes && !is_split(folder))))
    }
}
