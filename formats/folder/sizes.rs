//! File sizes of a folder, and their part in its fingerprint.
use crate::folder::{
    FolderReader,
    layout::join,
    reader::{MISSING, Samples},
    walk_away,
};
use fdconvert_core::{Error, Result, Source};
use fdconvert_storage::place::{self, is_url};
use std::{fs, io};
use xxhash_rust::xxh3::Xxh3Default;

impl FolderReader {
    /// Queries the size of a file.
    pub(crate) fn file_bytes(&self, index: u64, path: &[u8]) -> Result<u64> {
        let missing = || Error::sample(self.key_of(path), self.fault(index).unwrap_or(MISSING));
        match self.sizes.as_ref().and_then(|sizes| sizes.get(index)) {
            Some(walk_away::MISSING) => return Err(missing()),
            Some(size) => return Ok(size),
            None => {}
        }
        let file = join(&self.root, path);
        if is_url(&file) {
            return place::file_len(&file)?.ok_or_else(missing);
        }
        match fs::metadata(&file) {
            Ok(metadata) => Ok(metadata.len()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(missing()),
            // This includes missing permission, which concerns the folder, not the file.
            Err(cause) => Err(Error::io("access", file)(cause)),
        }
    }

    /// The size from the list of a store.
    pub(crate) fn known_size(&self, index: u64) -> Option<u64> {
        self.sizes.as_ref()?.get(index).filter(|size| *size != walk_away::MISSING)
    }

    /// Sizes of the files beside the image of a sample; `u64::MAX` for a missing one, which reading
    /// the sample reports.
    fn sizes_beside(&self, index: u64) -> impl Iterator<Item = Result<u64>> {
        let first = index.saturating_mul(self.how.beside.len() as u64);
        (first..).zip(self.paths_beside(index)).map(|(at, path)| {
            if let Some(sizes) = &self.beside_sizes {
                return Ok(sizes.get(at).unwrap_or(walk_away::MISSING));
            }
            let file = join(&self.root, &path);
            Ok(place::file_len(&file)?.unwrap_or(walk_away::MISSING))
        })
    }

    /// The paths of the images in the lists of a sample.
    pub(crate) fn in_lists(&self, index: u64) -> impl Iterator<Item = &[u8]> {
        let table = match &self.samples {
            Samples::Listed { table, .. } => Some(table),
            Samples::Walked(_) => None,
        };
        table.into_iter().flat_map(move |table| table.in_lists(index))
    }

    /// Sizes of the images in the lists of a sample; `u64::MAX` for a missing one, which reading the
    /// sample reports. None of an archive, which has them itself.
    pub(crate) fn sizes_in_lists(&self, index: u64) -> impl Iterator<Item = Result<u64>> {
        let paths = self.in_lists(index).filter(|_| self.archive.is_none());
        paths.map(|path| {
            let len = place::file_len(&join(&self.root, path))?;
            Ok(len.unwrap_or(walk_away::MISSING))
        })
    }

    /// The fingerprint over the sizes that `size` returns.
    pub(crate) fn hashed(&self, size: impl Fn(u64, &[u8]) -> Result<u64>) -> Result<[u8; 16]> {
        let mut hash = Xxh3Default::new();
        if let Samples::Listed { bytes, .. } = &self.samples {
            hash.update(bytes);
        }
        for (index, path) in (0..self.len()).filter_map(|at| Some((at, self.path(at)?))) {
            // Without an image field the path is only a key.
            let has_file = self.facts.schema.first_image().is_some();
            let size = if has_file { size(index, &path)? } else { 0 };
            hash.update(&path);
            hash.update(&[0]);
            hash.update(&size.to_le_bytes());
            for size in self.sizes_beside(index).chain(self.sizes_in_lists(index)) {
                hash.update(&size?.to_le_bytes());
            }
        }
        Ok(hash.digest128().to_le_bytes())
    }
}
