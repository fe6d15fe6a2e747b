//! Folders of an output: created without following links, and synced in their parent.
use crate::{SourceStamp, os, place::is_url};
use fdconvert_core::{Error, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// An open folder, to be synced later.
pub(crate) struct OpenFolder {
    folder: os::Folder,
    path: PathBuf,
}

/// Opens the parent folder of `path`.
pub(crate) fn open_folder_of(path: &Path) -> Result<OpenFolder> {
    let path = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = os::Folder::open(path).map_err(Error::io("open the folder", path))?;
    Ok(OpenFolder { folder, path: path.to_path_buf() })
}

impl OpenFolder {
    pub(crate) fn sync(&self) -> Result<()> {
        self.folder.sync().map_err(Error::io("sync the folder", &self.path))
    }
}

/// Makes the names in the parent folder of `path` durable.
///
/// # Errors
/// `Io`.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    if is_url(path) {
        return Ok(());
    }
    open_folder_of(path)?.sync()
}

/// Refuses an output folder that is a symbolic link: the user did not name its target. A missing
/// folder passes.
///
/// # Errors
/// `Usage`, also when it is not a folder; `Io`.
pub fn refuse_link(folder: &Path) -> Result<()> {
    if is_url(folder) {
        return Ok(());
    }
    // A trailing slash would follow the link.
    let folder: PathBuf = folder.components().collect();
    let refuse = |why: &str| Err(Error::usage("output", format!("{} {why}", folder.display())));
    match fs::symlink_metadata(&folder) {
        Ok(metadata) if metadata.is_symlink() => {
            refuse("is a symbolic link, which is not followed; name the folder it leads to")
        }
        Ok(metadata) if !metadata.is_dir() => refuse("exists and is not a folder; move it away"),
        Ok(_) => Ok(()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::io("access", &folder)(cause)),
    }
}

/// Folders of a dataset that is being written. On drop, those that this run created and that are
/// still empty are removed.
#[derive(Debug)]
pub struct Folders {
    made: Vec<PathBuf>,
    records: PathBuf,
    /// Source times that this run wrote and no finished shard relies on yet.
    stamp: Option<SourceStamp>,
}

impl Folders {
    /// Creates the folders `paths`, each inside an earlier or an existing one, and last `records`,
    /// the folder of the dataset's records.
    ///
    /// # Errors
    /// `Usage` when something else has the name, `Io`.
    pub fn make(paths: &[&Path], records: &Path) -> Result<Self> {
        let mut folders = Self { made: Vec::new(), records: records.to_path_buf(), stamp: None };
        for path in paths.iter().copied().chain([records]) {
            if make_folder(path)? {
                folders.made.push(path.to_path_buf());
            }
        }
        Ok(folders)
    }

    /// Writes the times of the source into the folders, until a shard relies on them.
    ///
    /// # Errors
    /// As for [`SourceStamp::leave`].
    pub fn stamp(&mut self, source: SourceStamp) -> Result<()> {
        self.stamp = source.leave()?.then_some(source);
        Ok(())
    }

    /// Reports a finished shard: the times of its source stay until the dataset is complete.
    pub fn keep_stamp(&mut self) {
        self.stamp = None;
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if let Some(stamp) = &self.stamp {
            stamp.withdraw();
        }
        if is_url(&self.records) {
            return;
        }
        crate::stamp::remove_alone(&self.records);
        // Removes only empty folders.
        let _ = fs::remove_dir(&self.records);
        for path in self.made.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// Creates a folder, unless it exists; returns whether it did.
///
/// # Errors
/// `Usage` when a link or something else has the name, `Io`; then no folder was created.
pub fn make_folder(folder: &Path) -> Result<bool> {
    if is_url(folder) {
        // Stores have no folders.
        return Ok(false);
    }
    match fs::create_dir(folder) {
        Ok(()) => {
            sync_folder_of(folder).inspect_err(|_| {
                let _ = fs::remove_dir(folder);
            })?;
            Ok(true)
        }
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            refuse_link(folder).map(|()| false)
        }
        Err(cause) => Err(Error::io("create the folder", folder)(cause)),
    }
}
