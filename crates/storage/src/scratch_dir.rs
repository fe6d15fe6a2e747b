use crate::{partial_path, scratch::Scratch, sync_folder_of};
use fdconvert_core::{Error, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Name of the file that marks a folder as an unfinished one of ours and holds its fingerprint.
const MARK: &str = ".fdconvert-unfinished";

/// A folder this run owns until it is committed under its final name: the counterpart of
/// [`Scratch`] for formats of many files. Dropped uncommitted it is removed with all
/// its contents; a folder without our mark is never touched.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    mark: Option<Scratch>,
    resumed: bool,
}

impl ScratchDir {
    /// Opens or creates the unfinished form of `out`. One that an interrupted run of the same
    /// `fingerprint` left is continued; one of another run is replaced if `overwrite` is set.
    ///
    /// # Errors
    /// `Usage` when the folder is there and not ours, or of another run, or in use; `Io`.
    pub fn open(out: &Path, fingerprint: [u8; 16], overwrite: bool) -> Result<Self> {
        let path = partial_path(out);
        let refuse = |why: &str| {
            let what = format!("{} {why}", path.display());
            Err(Error::usage("output", what))
        };
        let fresh = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => false,
            Err(cause) => return Err(Error::io("create the folder", &path)(cause)),
        };
        if !fresh && !path.join(MARK).is_file() {
            return refuse("exists and was not made by fdconvert; move it away");
        }
        let mark = Scratch::open(&path.join(MARK))?;
        let mut found = [0; 16];
        let same = mark.existing() == 16 && {
            mark.read_exact_at(&mut found, 0)?;
            found == fingerprint
        };
        if !fresh && !same {
            if !overwrite {
                mark.leave();
                return refuse(
                    "is the unfinished output of a run with another source or other options; \
                     finish that run, or replace it with --overwrite",
                );
            }
            empty_but_mark(&path)?;
        }
        mark.write_all_at(&fingerprint, 0)?;
        Ok(Self { path, mark: Some(mark), resumed: !fresh && same })
    }

    /// Where to write.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether files of an interrupted run of the same fingerprint may be there.
    #[must_use]
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// Gives the folder its final name, which must be free or an empty folder.
    ///
    /// # Errors
    /// `Io`; then the folder is removed.
    pub fn commit(mut self, out: &Path) -> Result<()> {
        sync_files_below(&self.path)?;
        // Removes the mark: from here on the folder is complete.
        drop(self.mark.take());
        if let Err(cause) = fs::rename(&self.path, out) {
            let _ = fs::remove_dir_all(&self.path);
            return Err(Error::io("rename into place", out)(cause));
        }
        sync_folder_of(out)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            // The mark goes last: if removal is cut short, the rest is still known as ours.
            let emptied = empty_but_mark(&self.path);
            drop(mark);
            if emptied.is_ok() {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}

/// One `syncfs` would do, but std has none: every file is opened and synced, then the folders.
fn sync_files_below(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
        if kind.is_dir() {
            sync_files_below(&entry.path())?;
        } else {
            let synced = fs::File::open(entry.path()).and_then(|file| file.sync_data());
            synced.map_err(Error::io("sync", entry.path()))?;
        }
    }
    let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(Error::io("sync the folder", folder))
}

fn empty_but_mark(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        if entry.file_name() == MARK {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("look at", &path))?;
        let removed =
            if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_whole_or_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let dir = ScratchDir::open(&out, [1; 16], false).unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        crate::create_new(&dir.path().join("a/b"), b"x").unwrap();
        drop(dir);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let dir = ScratchDir::open(&out, [1; 16], false).unwrap();
        crate::create_new(&dir.path().join("b"), b"x").unwrap();
        dir.commit(&out).unwrap();
        let names: Vec<_> =
            fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn only_our_own_leftovers_are_touched() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let partial = partial_path(&out);
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("precious"), b"x").unwrap();
        for overwrite in [false, true] {
            assert!(ScratchDir::open(&out, [1; 16], overwrite).is_err());
        }
        assert!(partial.join("precious").is_file());

        // What a killed run leaves: our mark and some files.
        fs::write(partial.join(MARK), [1; 16]).unwrap();
        assert!(ScratchDir::open(&out, [2; 16], false).is_err());
        assert!(partial.join("precious").is_file());
        let same = ScratchDir::open(&out, [1; 16], false).unwrap();
        assert!(same.resumed());
    }
}
