//! Prefetches the images of a folder in a store, one request each.
use crate::folder::{FolderReader, layout::join, table::Cell};
use bytes::Bytes;
use fdconvert_core::Ahead;
use fdconvert_storage::Wholes;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Assumed size of an image before any has been read: that of a large photograph.
const FIRST_GUESS: u64 = 1 << 20;

/// Announced files, and the average length of those read so far: plans have no lengths.
#[derive(Debug, Default)]
pub(crate) struct Coming {
    wholes: Wholes,
    n_read: AtomicU64,
    bytes_read: AtomicU64,
}

impl Coming {
    /// An announced file; `None` if it has to be read.
    pub(crate) fn get(&self, path: &Path) -> Option<Bytes> {
        self.wholes.get(path)
    }

    /// Records the length of a file that was read.
    pub(crate) fn note_read(&self, bytes: u64) {
        self.n_read.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Estimate for a file of unknown size.
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

    /// Estimated bytes of a sample's files in a store.
    pub(crate) fn coming_bytes(&self, index: u64) -> u64 {
        let typical = self.coming.typical_bytes();
        self.files(index).into_iter().map(|(_, len)| len.unwrap_or(typical)).sum()
    }

    /// The files of a sample, with their lengths if known.
    fn files(&self, index: u64) -> Vec<(PathBuf, Option<u64>)> {
        // Reading the sample reports the error.
        let Ok((_, cells, own_path)) = self.cells(index) else { return Vec::new() };
        let unsized_file = |path: &[u8]| (join(&self.root, path), None);
        let of_cell = |cell: &Cell<'_>| match cell {
            Cell::FirstImage => vec![(join(&self.root, &own_path), self.known_size(index))],
            Cell::Image(path) => vec![unsized_file(path)],
            Cell::Images(paths) => paths.iter().map(|path| unsized_file(path)).collect(),
            Cell::Beside(path, _) => vec![unsized_file(path)],
            Cell::Value(_) | Cell::Made(..) => Vec::new(),
        };
        cells.iter().flat_map(of_cell).collect()
    }
}
