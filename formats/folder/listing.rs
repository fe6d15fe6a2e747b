/// The label of a folder whose images have no class and are not to be read.
pub(crate) const UNLABELLED: u32 = u32::MAX;

/// Millions of file paths in little memory: one arena of names, and per file twelve bytes that
/// say where its name ends and which folder it lies in.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    names: Vec<u8>,
    ends: Vec<u64>,
    folder_of: Vec<u32>,
    folders: Vec<ListedFolder>,
}

#[derive(Debug)]
struct ListedFolder {
    /// Relative to the root; empty for the root itself, else ending in `/`.
    path: Box<[u8]>,
    label: u32,
}

/// A file of a [`Listing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed<'a> {
    /// Folder relative to the root: empty, or ending in `/`.
    pub(crate) folder: &'a [u8],
    /// File name.
    pub(crate) name: &'a [u8],
    /// Class.
    pub(crate) label: u32,
}

impl Listing {
    pub(crate) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Adds a folder, to which files are then added; `None` when there are 2^32 of them.
    pub(crate) fn add_folder(&mut self, path: &[u8], label: u32) -> Option<u32> {
        let id = u32::try_from(self.folders.len()).ok()?;
        let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
        self.folders.push(ListedFolder { path: [path, slash].concat().into(), label });
        Some(id)
    }

    pub(crate) fn add_file(&mut self, folder: u32, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len() as u64);
        self.folder_of.push(folder);
    }

    pub(crate) fn get(&self, index: u64) -> Option<Listed<'_>> {
        let i = usize::try_from(index).ok()?;
        let start = match i.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        let range = usize::try_from(start).ok()?..usize::try_from(*self.ends.get(i)?).ok()?;
        let folder = self.folders.get(*self.folder_of.get(i)? as usize)?;
        Some(Listed { folder: &folder.path, name: self.names.get(range)?, label: folder.label })
    }

    /// Folders with their labels, in the order of their numbers; the root is empty, others end in
    /// `/`.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.folders.iter().map(|folder| (&*folder.path, folder.label))
    }

    /// Gives every folder the label that its path has.
    pub(crate) fn relabel(&mut self, label_of: impl Fn(&[u8]) -> u32) {
        for folder in &mut self.folders {
            folder.label = label_of(folder.path.strip_suffix(b"/").unwrap_or(&folder.path));
        }
    }

    /// Files in order: number of the folder, name.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let numbered = (0_u64..).zip(&self.folder_of);
        numbered.filter_map(|(index, folder)| Some((*folder, self.get(index)?.name)))
    }

    /// Gives back what the vectors reserved beyond their need.
    pub(crate) fn shrink(&mut self) {
        self.names.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.folder_of.shrink_to_fit();
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
        let mut listing = Listing::default();
        for label in 0..1000 {
            let folder = listing.add_folder(format!("n{label:08}").as_bytes(), label).unwrap();
            for file in 0..1000 {
                listing.add_file(folder, format!("n{label:08}_{file}.JPEG").as_bytes());
            }
        }
        assert_eq!(listing.len(), 1_000_000);
        let last = listing.get(999_999).unwrap();
        assert_eq!(last.path(), b"n00000999/n00000999_999.JPEG");
        assert_eq!(last.label, 999);
        assert_eq!(listing.get(1_000_000), None);
        // Before shrinking: what the walk needs at its peak.
        let bytes = listing.names.capacity()
            + 8 * listing.ends.capacity()
            + 4 * listing.folder_of.capacity();
        assert!(bytes < 200 * 1_000_000, "{bytes}");
    }
}
