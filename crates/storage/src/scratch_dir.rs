use crate::{
    folders::open_folder_of, left, partial_path, read_file, scratch::Scratch, sync_folder_of,
};
use fdconvert_core::{Error, Result, option};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

const MARK: &str = ScratchDir::MARK;

/// A folder that this run owns until it is committed under its final name: the counterpart of
/// [`Scratch`] for formats of many files. If dropped before the commit, it is removed with all its
/// contents; a folder without fdconvert's mark is never touched.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    mark: Option<Scratch>,
    resumed: bool,
}

impl ScratchDir {
    /// Name of the file that marks an unfinished folder of fdconvert and contains its fingerprint.
    pub const MARK: &'static str = ".fdconvert-unfinished";

    /// Opens or creates the unfinished form of `out`. Resumes a folder left by an interrupted run
    /// of the same `fingerprint`; with `overwrite`, replaces that of another run.
    ///
    /// # Errors
    /// `Usage` when the folder is foreign, belongs to another run, or is in use; `Io`.
    pub fn open(out: &Path, fingerprint: [u8; 16], overwrite: bool) -> Result<Self> {
        let path = partial_path(out);
        let refuse = |why: &str| Error::usage("output", format!("{} {why}", path.display()));
        let fresh = match fs::create_dir(&path) {
            Ok(()) => true,
            // A run killed before it could set its mark leaves an empty folder.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => is_empty(&path),
            Err(cause) => return Err(Error::io("create the folder", &path)(cause)),
        };
        if !fresh && !is_marked(&path) {
            return Err(refuse("exists and was not made by fdconvert; move it away"));
        }
        let opened = Scratch::open(&path.join(MARK)).and_then(|mark| {
            // A run killed before its mark was complete had written nothing else.
            let fresh = fresh || mark.existing() < 16;
            let mut found = [0; 16];
            let read =
                if mark.existing() == 16 { mark.read_exact_at(&mut found, 0) } else { Ok(()) };
            let done =
                read.and_then(|()| if fresh { mark.write_all_at(&fingerprint, 0) } else { Ok(()) });
            match done {
                Ok(()) => Ok((fresh, found == fingerprint && mark.existing() == 16, mark)),
                // Leftovers of an earlier run keep their mark.
                Err(error) if !fresh => {
                    mark.leave();
                    Err(error)
                }
                Err(error) => Err(error),
            }
        });
        let (fresh, same, mark) = opened.inspect_err(|_| {
            if fresh {
                let _ = fs::remove_dir(&path);
            }
        })?;
        if !fresh && !same {
            if !overwrite {
                mark.leave();
                let why = "is the unfinished output of a run with another source or other options; \
                           finish that run";
                return Err(refuse(why).cure("to replace it", option::OVERWRITE.on()));
            }
            // From here on the folder belongs to this run, and a failure removes all of it.
            let this = Self { path, mark: Some(mark), resumed: false };
            empty_but_mark(&this.path)?;
            if let Some(mark) = &this.mark {
                mark.write_all_at(&fingerprint, 0)?;
            }
            return Ok(this);
        }
        mark.own();
        Ok(Self { path, mark: Some(mark), resumed: !fresh && same })
    }

    /// Opens it empty, for files that are useless to another run.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn start(out: &Path) -> Result<Self> {
        let mut this = Self::open(out, [0; 16], true)?;
        if std::mem::take(&mut this.resumed) {
            empty_but_mark(&this.path)?;
        }
        Ok(this)
    }

    /// Returns the folder to write to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if files of an interrupted run of the same fingerprint may exist.
    #[must_use]
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// Renames the folder to its final name, which must be unused or an empty folder.
    ///
    /// # Errors
    /// `Io`; then the folder is removed.
    pub fn commit(mut self, out: &Path) -> Result<()> {
        sync_files_below(&self.path)?;
        // Before the rename: steps that can fail without consequences come first.
        let above = open_folder_of(out)?;
        if cfg!(windows) {
            // Which renames no folder with an open file in it. From here on, a failure leaves it
            // to the next run.
            self.release();
        }
        fs::rename(&self.path, out).map_err(Error::io("rename into place", out))?;
        self.release();
        above.sync()?;
        // Only now: a run killed in between leaves a finished folder with a mark that identifies
        // the run.
        let mark = out.join(MARK);
        // Not synced: a mark that reappears after a power loss is still correct.
        fs::remove_file(&mark).map_err(Error::io("remove", &mark))
    }

    fn release(&mut self) {
        if let Some(mark) = self.mark.take() {
            mark.leave();
        }
    }

    /// Returns true if a run of that fingerprint renamed the folder `out` and was stopped before it
    /// removed the mark: the folder is complete, and still marked.
    ///
    /// # Errors
    /// `Io`.
    pub fn is_finished(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
        let is_folder = fs::symlink_metadata(out).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || !is_marked(out) {
            return Ok(false);
        }
        let mark = out.join(MARK);
        Ok(read_file(&mark, 16)? == fingerprint[..])
    }

    /// Removes the mark of such a folder.
    ///
    /// # Errors
    /// `Io`.
    pub fn confirm(out: &Path) -> Result<()> {
        sync_folder_of(out)?;
        let mark = out.join(MARK);
        fs::remove_file(&mark).map_err(Error::io("remove", &mark))?;
        sync_folder_of(&mark)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            // The mark goes last: if removal is interrupted, the rest can still be identified.
            let emptied = empty_but_mark(&self.path);
            drop(mark);
            match emptied.map(|()| fs::remove_dir(&self.path)) {
                Ok(Ok(())) => {}
                Ok(Err(cause)) => left::note(&self.path, &cause),
                Err(error) => left::note(&self.path, &error),
            }
        }
    }
}

/// Syncs the file system of the folder: one call for any number of files, each of which would take
/// milliseconds by itself. Linux reports errors of writing since 5.8.
#[cfg(target_os = "linux")]
fn sync_files_below(folder: &Path) -> Result<()> {
    let synced = fs::File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
    synced.map_err(Error::io("sync the folder", folder))
}

/// Syncs every file, then the folders.
#[cfg(not(target_os = "linux"))]
fn sync_files_below(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        let kind = entry.file_type().map_err(Error::io("access", entry.path()))?;
        if kind.is_dir() {
            sync_files_below(&entry.path())?;
        } else if kind.is_file() {
            // Windows syncs only what is open for writing.
            let file = fs::File::options().write(true).open(entry.path());
            let synced = file.and_then(|file| file.sync_data());
            synced.map_err(Error::io("sync", entry.path()))?;
        }
    }
    let synced = crate::os::Folder::open(folder).and_then(|folder| folder.sync());
    synced.map_err(Error::io("sync the folder", folder))
}

/// Returns true if it is an empty folder, and not a link to one.
fn is_empty(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir())
        && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns true if it is a folder, and not a link to one, with fdconvert's mark. A folder with an
/// incomplete mark has no other files yet.
fn is_marked(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let mark = fs::symlink_metadata(folder.join(MARK));
    is_folder
        && mark.is_ok_and(|mark| {
            let is_alone =
                || fs::read_dir(folder).is_ok_and(|mut entries| entries.nth(1).is_none());
            mark.is_file() && (mark.len() == 16 || (mark.len() < 16 && is_alone()))
        })
}

fn empty_but_mark(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let entry = entry.map_err(Error::io("list", folder))?;
        if entry.file_name() == MARK {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("access", &path))?;
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
    fn a_mark_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        for after_bytes in [0, 5, 15] {
            let full = io::ErrorKind::StorageFull;
            let below = folder.path();
            let _armed =
                crate::fault::arm(below, crate::fault::Operation::Write, after_bytes, full);
            assert!(matches!(ScratchDir::open(&out, [1; 16], false), Err(Error::Io { .. })));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        fs::create_dir(partial_path(&out)).unwrap();
        assert!(!ScratchDir::open(&out, [1; 16], false).unwrap().resumed());
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

        // Killed while setting its mark: as if it had not started.
        let torn = folder.path().join("torn");
        fs::create_dir(partial_path(&torn)).unwrap();
        fs::write(partial_path(&torn).join(MARK), [1; 7]).unwrap();
        assert!(!ScratchDir::open(&torn, [2; 16], false).unwrap().resumed());

        // An incomplete mark beside a file is foreign: nothing is written before the mark is
        // complete.
        fs::create_dir(partial_path(&torn)).unwrap();
        fs::write(partial_path(&torn).join(MARK), [1; 7]).unwrap();
        fs::write(partial_path(&torn).join("precious"), b"x").unwrap();
        assert!(ScratchDir::open(&torn, [2; 16], true).is_err());
        assert!(partial_path(&torn).join("precious").is_file());
        // A link to a folder is not followed.
        let linked = folder.path().join("linked");
        fs::create_dir(folder.path().join("empty")).unwrap();
        crate::os::symlink(folder.path().join("empty"), partial_path(&linked)).unwrap();
        assert!(ScratchDir::open(&linked, [2; 16], true).is_err());
        // Killed after the rename.
        let named = folder.path().join("named");
        fs::create_dir(&named).unwrap();
        assert!(!ScratchDir::is_finished(&named, [1; 16]).unwrap());
        fs::write(named.join(MARK), [1; 16]).unwrap();
        assert!(!ScratchDir::is_finished(&named, [2; 16]).unwrap());
        assert!(ScratchDir::is_finished(&named, [1; 16]).unwrap());
        ScratchDir::confirm(&named).unwrap();
        assert_eq!(fs::read_dir(&named).unwrap().count(), 0);

        // Leftovers of a killed run: the mark and some files.
        fs::write(partial.join(MARK), [1; 16]).unwrap();
        assert!(ScratchDir::open(&out, [2; 16], false).is_err());
        assert!(partial.join("precious").is_file());
        let same = ScratchDir::open(&out, [1; 16], false).unwrap();
        assert!(same.resumed());
    }
}
