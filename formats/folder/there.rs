//! A finished folder that the same run writes again.
//!
//! A plain tree of images does not identify its run. So every file to be written is compared with
//! the existing one, and the first difference, or an extra file, ends the run with the usual error:
//! the folder exists. Nothing changes on disk.
use crate::folder::layout::{join, key_of_path};
use fdconvert_core::{Error, Result};
use fdconvert_storage::{ScratchDir, hash_file, read_file};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// The existing folder.
pub(crate) struct There(PathBuf);

impl There {
    /// The folder at `out`, if it exists and has contents other than unfinished files.
    pub(crate) fn look(out: &Path) -> Option<Self> {
        let is_folder = fs::symlink_metadata(out).is_ok_and(|found| found.is_dir());
        let has_files = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
        let is_unfinished = || fs::symlink_metadata(out.join(ScratchDir::MARK)).is_ok();
        (is_folder && has_files() && !is_unfinished()).then(|| Self(out.to_owned()))
    }

    /// Refuses a file that does not exist with these bytes.
    ///
    /// # Errors
    /// `Usage`; `Io` if no file can have that name.
    pub(crate) fn check_file(&self, path: &[u8], bytes: &[u8]) -> Result<()> {
        let target = join(&self.0, path);
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_file() && found.len() == bytes.len() as u64 => {}
            Ok(_) => return self.refuse(path, DIFFERS),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return self.refuse(path, MISSING);
            }
            Err(cause) => return Err(Error::io("access", &target)(cause)),
        }
        match read_file(&target, bytes.len() as u64)? == bytes {
            true => Ok(()),
            false => self.refuse(path, DIFFERS),
        }
    }

    /// Refuses a file that does not exist with this length and hash.
    ///
    /// # Errors
    /// `Usage`, `Io`.
    pub(crate) fn check_hash(&self, path: &[u8], wanted: (u64, u64)) -> Result<()> {
        let target = join(&self.0, path);
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_file() && hash_file(&target)? == wanted => Ok(()),
            Ok(_) => self.refuse(path, DIFFERS),
            Err(_) => self.refuse(path, MISSING),
        }
    }

    /// Refuses anything but a symbolic link to that file.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn check_link(&self, path: &[u8], to_file: &Path) -> Result<()> {
        match fs::read_link(join(&self.0, path)) {
            Ok(found) if found == to_file => Ok(()),
            _ => self.refuse(path, DIFFERS),
        }
    }

    /// Refuses a folder with other files.
    ///
    /// # Errors
    /// `Usage`, `Io`.
    pub(crate) fn refuse_others(&self, is_ours: &dyn Fn(&[u8]) -> bool) -> Result<()> {
        self.refuse_others_in(&self.0, b"", is_ours)
    }

    fn refuse_others_in(
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
            let path = [path, slash, name.as_encoded_bytes()].concat();
            if kind.is_dir() {
                self.refuse_others_in(&entry.path(), &path, is_ours)?;
            } else if !is_ours(&path) {
                return self.refuse(&path, "is not of this run");
            }
        }
        Ok(())
    }

    fn refuse<T>(&self, path: &[u8], why: &str) -> Result<T> {
        let what = format!(
            "{} exists, and its `{}` {why}; name another folder or move it away",
            self.0.display(),
            key_of_path(path)
        );
        Err(Error::usage("output", what))
    }
}

const DIFFERS: &str = "is not what this run writes";
const MISSING: &str = "is missing, which this run writes";
