//! All files below a folder, to compare two of them byte for byte.

use std::{collections::BTreeMap, fs, io, path::Path};

use crate::failure::{Context, Result};

/// Contents of a folder, by path relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<String, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(Vec<u8>),
    /// A link, a pipe or a device, none of which a dataset has.
    Other,
}

/// Differences of a tree from its reference.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) stray: Vec<String>,
    /// Paths that are missing or have other contents.
    pub(super) other: Vec<String>,
}

impl Tree {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(folder, "").context(format_args!("cannot read {}", folder.display()))?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path, below: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{below}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            let found = if kind.is_dir() {
                self.add(&entry.path(), &format!("{path}/"))?;
                Entry::Folder
            } else if kind.is_file() {
                Entry::File(fs::read(entry.path())?)
            } else {
                Entry::Other
            };
            self.0.insert(path, found);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how `self` differs from the `reference`.
    pub(super) fn against(&self, reference: &Self) -> Difference {
        let stray = self.0.keys().filter(|path| !reference.0.contains_key(*path));
        let other = reference.0.iter().filter(|(path, entry)| self.0.get(*path) != Some(entry));
        Difference {
            stray: stray.cloned().collect(),
            other: other.map(|(path, _)| path.clone()).collect(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let entry = |(path, bytes): &(&str, &str)| {
            ((*path).to_string(), Entry::File(bytes.as_bytes().to_vec()))
        };
        Tree(files.iter().map(entry).collect())
    }

    #[test]
    fn stray_missing_and_changed_files_are_told_apart() {
        let reference = tree(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let found = tree(&[("a", "1"), ("b", "x"), ("b.partial", "2")]);
        let difference = found.against(&reference);
        assert_eq!(difference.stray, ["b.partial"]);
        assert_eq!(difference.other, ["b", "c"]);
        assert_eq!(reference.against(&reference), Difference::default());
    }
}
