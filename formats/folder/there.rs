//! A finished folder that the same run writes again.
//!
//! A plain tree of images does not identify its run. So every file to be written is compared with
//! the existing one, and the first difference, or an extra file, ends the run with the usual error:
//! the folder exists. Nothing changes on disk.
use crate::folder::layout::{META, ROWS, join, key_of_path};
use fdconvert_core::{Error, Result};
use fdconvert_storage::{ScratchDir, hash_file, read_file};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// The existing folder, and the rows that belong beside its images.
pub(crate) struct There {
    folder: PathBuf,
    rows: Xxh3Default,
    rows_len: u64,
}

impl There {
    /// The folder at `out`, if it exists and has contents other than unfinished files.
    pub(crate) fn look(out: &Path) -> Option<Self> {
        let is_folder = fs::symlink_metadata(out).is_ok_and(|found| found.is_dir());
        let has_files = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
        let is_unfinished = || fs::symlink_metadata(out.join(ScratchDir::MARK)).is_ok();
        let rows = Xxh3Default::new();
        (is_folder && has_files() && !is_unfinished()).then(|| Self {
            folder: out.to_owned(),
            rows,
            rows_len: 0,
        })
    }

    /// Refuses a file that does not exist with these bytes.
    ///
    /// # Errors
    /// `Usage`; `Io` if no file can have that name.
    pub(crate) fn check_file(&self, path: &[u8], bytes: &[u8]) -> Result<()> {
        let target = join(&self.folder, path);
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_file() && found.len() == bytes.len() as u64 => {}
            Ok(_) => return self.refuse(path, "is not what this run writes"),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return self.refuse(path, "is missing, which this run writes");
            }
            Err(cause) => return Err(Error::io("access", &target)(cause)),
        }
        match read_file(&target, bytes.len() as u64)? == bytes {
            true => Ok(()),
            false => self.refuse(path, "is not what this run writes"),
        }
    }

    pub(crate) fn push_row(&mut self, row: &[u8]) {
        self.rows.update(row);
        self.rows_len += row.len() as u64;
    }

    /// Compares rows and metadata, if any, and searches for extra files; returns the length of the
    /// rows.
    ///
    /// # Errors
    /// `Usage`, `Io`.
    pub(crate) fn finish(
        self,
        meta: Option<&[u8]>,
        is_ours: &dyn Fn(&[u8]) -> bool,
    ) -> Result<u64> {
        let found = |name: &str| match fs::symlink_metadata(self.folder.join(name)) {
            Ok(found) if found.is_file() => hash_file(&self.folder.join(name)).map(Some),
            _ => Ok(None),
        };
        let rows = meta.map(|_| (self.rows_len, self.rows.digest()));
        let meta = meta.map(|meta| (meta.len() as u64, xxh3_64(meta)));
        for (name, wanted) in [(ROWS, rows), (META, meta)] {
            if found(name)? != wanted {
                return self.refuse(name.as_bytes(), "is not what this run writes");
            }
        }
        let is_record =
            |path: &[u8]| rows.is_some() && [ROWS, META].iter().any(|name| name.as_bytes() == path);
        self.refuse_others(&self.folder, b"", &|path| is_record(path) || is_ours(path))?;
        Ok(if rows.is_some() { self.rows_len } else { 0 })
    }

    fn refuse_others(
        &self,
        folder: &Path,
        path: &[u8],
        is_ours: &dyn Fn(&[u8]) -> bool,
    ) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
            let name: &OsStr = &entry.file_name();
            let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
            let path = [path, slash, name.as_bytes()].concat();
            if kind.is_dir() {
                self.refuse_others(&entry.path(), &path, is_ours)?;
            } else if !is_ours(&path) {
                return self.refuse(&path, "is not of this run");
            }
        }
        Ok(())
    }

    fn refuse<T>(&self, path: &[u8], why: &str) -> Result<T> {
        let what = format!(
            "{} exists, and its `{}` {why}; name another folder or move it away",
            self.folder.display(),
            key_of_path(path)
        );
        Err(Error::usage("output", what))
    }
}
