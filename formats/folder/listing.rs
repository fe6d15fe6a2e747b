use crate::folder::words::{Words, WordsBuilder};
use bytes::Bytes;
use fdconvert_core::{Result, bytes::u32_at};
use fdconvert_storage::Spool;

/// Label of a folder with unclassed images that will not be read.
pub(crate) const UNLABELLED: u32 = u32::MAX;

/// Millions of file paths in little memory: one arena of names, and per file twelve bytes for the
/// end of its name and its folder. Many millions are kept in unnamed files.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: Bytes,
    ends: Words,
    /// Four bytes each.
    folder_of: Bytes,
    folders: Vec<ListedFolder>,
}

#[derive(Debug, Default)]
pub(crate) struct ListingBuilder {
    names: Spool,
    ends: WordsBuilder,
    folder_of: Spool,
    folders: Vec<ListedFolder>,
}

#[derive(Debug)]
struct ListedFolder {
    /// Relative to the root; empty for the root itself, else with a final `/`.
    path: Box<[u8]>,
    label: u32,
}

/// A file of a [`Listing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed<'a> {
    /// Folder relative to the root: empty, or with a final `/`.
    pub(crate) folder: &'a [u8],
    pub(crate) name: &'a [u8],
    pub(crate) label: u32,
}

impl ListingBuilder {
    pub(crate) fn len(&self) -> u64 {
        self.ends.len()
    }

    /// Adds a folder for the files added next; `None` when there are 2^32 folders.
    pub(crate) fn add_folder(&mut self, path: &[u8], label: u32) -> Option<u32> {
        let id = u32::try_from(self.folders.len()).ok()?;
        let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
        self.folders.push(ListedFolder { path: [path, slash].concat().into(), label });
        Some(id)
    }

    pub(crate) fn add_file(&mut self, folder: u32, name: &[u8]) -> Result<()> {
        self.names.push(name)?;
        self.ends.push(self.names.len())?;
        self.folder_of.push(&folder.to_le_bytes())
    }

    pub(crate) fn finish(self) -> Result<Listing> {
        Ok(Listing {
            names: self.names.finish()?,
            ends: self.ends.finish()?,
            folder_of: self.folder_of.finish()?,
            folders: self.folders,
        })
    }
}

impl Listing {
    pub(crate) fn len(&self) -> u64 {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: u64) -> Option<Listed<'_>> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)?,
            None => 0,
        };
        let range = usize::try_from(start).ok()?..usize::try_from(self.ends.get(index)?).ok()?;
        let folder = self.folders.get(self.folder_of(index)? as usize)?;
        Some(Listed { folder: &folder.path, name: self.names.get(range)?, label: folder.label })
    }

    fn folder_of(&self, index: u64) -> Option<u32> {
        u32_at(&self.folder_of, usize::try_from(index).ok()?.checked_mul(4)?)
    }

    /// Folders with their labels, by number; the root is empty, others end in `/`.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.folders.iter().map(|folder| (&*folder.path, folder.label))
    }

    /// Returns true if images are in folders.
    pub(crate) fn parts_images(&self) -> bool {
        self.folders.iter().any(|folder| !folder.path.is_empty())
    }

    /// Sets the label of every folder from its path.
    pub(crate) fn relabel(&mut self, label_of: impl Fn(&[u8]) -> u32) {
        for folder in &mut self.folders {
            folder.label = label_of(&folder.path);
        }
    }

    /// Files in order: number of the folder, name.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len()).filter_map(|index| Some((self.folder_of(index)?, self.get(index)?.name)))
    }
}

impl Listed<'_> {
    /// The path relative to the root.
    pub(crate) fn path(&self) -> Vec<u8> {
        [self.folder, self.name].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_files_take_few_bytes_each() {
        let mut listing = ListingBuilder::default();
        for label in 0..1000 {
            let folder = listing.add_folder(format!("n{label:08}").as_bytes(), label).unwrap();
            for file in 0..1000 {
                let name = format!("n{label:08}_{file}.JPEG");
                listing.add_file(folder, name.as_bytes()).unwrap();
            }
        }
        assert_eq!(listing.len(), 1_000_000);
        let listing = listing.finish().unwrap();
        assert_eq!(listing.len(), 1_000_000);
        let last = listing.get(999_999).unwrap();
        assert_eq!(last.path(), b"n00000999/n00000999_999.JPEG");
        assert_eq!(last.label, 999);
        assert_eq!(listing.get(1_000_000), None);
        let bytes = listing.names.len() + 12 * 1_000_000;
        assert!(bytes < 40 * 1_000_000, "{bytes}");
    }
}
