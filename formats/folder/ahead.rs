//! Images of a folder in a store are fetched before they are read, each by one request.
use crate::folder::{FolderReader, layout::join, table::Cell};
use bytes::Bytes;
use fdconvert_core::Ahead;
use fdconvert_storage::Wholes;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Bytes assumed for an image until some have been read: large photographs take as much.
const FIRST_GUESS: u64 = 1 << 20;

/// The files that were announced, and how long those are that were read: plans do not tell.
#[derive(Debug, Default)]
pub(crate) struct Coming {
    wholes: Wholes,
    n_read: AtomicU64,
    bytes_read: AtomicU64,
}

impl Coming {
    /// An announced file; `None` where it has to be read.
    pub(crate) fn get(&self, path: &Path) -> Option<Bytes> {
        self.wholes.get(path)
    }

    /// Notes how long a file is that was read.
    pub(crate) fn note_read(&self, bytes: u64) {
        self.n_read.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// About the bytes of a file of which nothing is known.
    fn typical_bytes(&self) -> u64 {
        let (bytes, n) =
            (self.bytes_read.load(Ordering::Relaxed), self.n_read.load(Ordering::Relaxed));
        bytes.checked_div(n).unwrap_or(FIRST_GUESS)
    }
}

impl FolderReader {
    pub(crate) fn announce(&self, indices: &[u64]) -> Ahead {
        let files = indices.iter().flat_map(|&index| self.files(index));
        self.coming.wholes.read_ahead(files, self.how.limits.max_file_bytes)
    }

    /// About the bytes of the files of a sample in a store.
    pub(crate) fn coming_bytes(&self, index: u64) -> u64 {
        let typical = self.coming.typical_bytes();
        self.files(index).into_iter().map(|(_, len)| len.unwrap_or(typical)).sum()
    }

    /// The files of a sample, with their lengths where they are known.
    fn files(&self, index: u64) -> Vec<(PathBuf, Option<u64>)> {
        // Why it has none is what reading it says.
        let Ok((_, cells, own_path)) = self.cells(index) else { return Vec::new() };
        let file = |cell: &Cell<'_>| match cell {
            Cell::FirstImage => Some((join(&self.root, &own_path), self.known_size(index))),
            Cell::Image(path) => Some((join(&self.root, path), None)),
            Cell::Beside(path, _) => Some((join(&self.root, path), None)),
            Cell::Value(_) | Cell::Made(..) => None,
        };
        cells.iter().filter_map(file).collect()
    }
}
