use crate::fault;
use fdconvert_core::{Error, Result};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// Where the unfinished form of `out` lies: the same folder, the same name, `.partial` appended.
#[must_use]
pub fn partial_path(out: &Path) -> PathBuf {
    let mut name = OsString::from(out.as_os_str());
    name.push(".partial");
    PathBuf::from(name)
}

/// A file this run owns until it is committed under its final name.
///
/// Dropped uncommitted it is removed; a killed process leaves it, and the next run finds its
/// bytes in [`existing`](Self::existing) and decides whether to go on with them. An exclusive
/// lock keeps two runs from writing the same one.
///
/// While a large file is written, a thread syncs what is there already, so that the commit does
/// not have to wait for all of it.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
    existing: u64,
    remove_on_drop: bool,
    writeback: Mutex<Writeback>,
}

/// Written bytes after which syncing begins anew.
const WRITEBACK_BYTES: u64 = 32 << 20;

#[derive(Debug, Default)]
struct Writeback {
    /// Written since the last sync began.
    dirty: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

impl Writeback {
    /// Notes that bytes were written, and begins to sync when they are many and no sync is under
    /// way.
    fn wrote(&mut self, file: &File, bytes: u64) -> io::Result<()> {
        self.dirty += bytes;
        let busy = self.running.as_ref().is_some_and(|running| !running.is_finished());
        if self.dirty < WRITEBACK_BYTES || busy {
            return Ok(());
        }
        self.wait()?;
        self.dirty = 0;
        let file = file.try_clone()?;
        let sync = move || file.sync_data();
        // Without a thread the commit has more to do, and that is all.
        self.running = thread::Builder::new().name("writeback".into()).spawn(sync).ok();
        Ok(())
    }

    /// Waits for the sync under way. The system reports a failed write only once, so its error is
    /// the file's.
    fn wait(&mut self) -> io::Result<()> {
        match self.running.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(synced)) => synced,
            Some(Err(_)) => Err(io::Error::other("the thread that syncs has died")),
        }
    }
}

impl Scratch {
    /// Opens or creates the scratch file `path`, with whatever an earlier run left in it.
    ///
    /// # Errors
    /// `Usage` when another process holds it, `Io` when the system refuses.
    pub fn open(path: &Path) -> Result<Self> {
        fault::on_write(path, 0).map_err(Error::io("create", path))?;
        // Another run may commit (rename) or remove the file between our opening and locking it;
        // then the lock is on a file that has lost its name, and we look again.
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(Error::io("create", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let what = format!("{} is being written by another run", path.display());
                    return Err(Error::usage("output", what));
                }
                Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(cause)) => return Err(Error::io("lock", path)(cause)),
            }
            let held = file.metadata().map_err(Error::io("look at", path))?;
            match fs::metadata(path) {
                Ok(named) if (named.dev(), named.ino()) == (held.dev(), held.ino()) => {
                    let path = path.to_path_buf();
                    return Ok(Self {
                        file,
                        path,
                        existing: held.len(),
                        remove_on_drop: true,
                        writeback: Mutex::default(),
                    });
                }
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(Error::io("look at", path)(cause)),
            }
        }
    }

    /// Bytes that were already there when it was opened; 0 for a new file.
    #[must_use]
    pub fn existing(&self) -> u64 {
        self.existing
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file back as it is: it will not be removed.
    pub fn leave(mut self) {
        self.remove_on_drop = false;
    }

    /// Writes all of `bytes` at `offset`, growing the file as needed.
    ///
    /// # Errors
    /// `Io`, e.g. when the disk is full.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        fault::on_write(&self.path, bytes.len() as u64)
            .and_then(|()| self.file.write_all_at(bytes, offset))
            .and_then(|()| self.writeback().wrote(&self.file, bytes.len() as u64))
            .map_err(Error::io("write", &self.path))
    }

    fn writeback(&self) -> MutexGuard<'_, Writeback> {
        self.writeback.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads exactly `bytes.len()` bytes at `offset`.
    ///
    /// # Errors
    /// `Io`, also when the file ends before.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        fault::on_read(&self.path, bytes.len() as u64)
            .and_then(|()| self.file.read_exact_at(bytes, offset))
            .map_err(Error::io("read", &self.path))
    }

    /// Cuts or grows (with zeros) the file.
    ///
    /// # Errors
    /// `Io`.
    pub fn set_len(&self, bytes: u64) -> Result<()> {
        self.file.set_len(bytes).map_err(Error::io("resize", &self.path))
    }

    /// Makes the contents durable and gives the file its final name, replacing whatever has that
    /// name: whether that is allowed was asked before the first byte was written.
    ///
    /// # Errors
    /// `Io`; then the scratch file is removed.
    pub fn commit(mut self, out: &Path) -> Result<()> {
        fault::on_write(&self.path, 0)
            .and_then(|()| self.writeback().wait())
            .and_then(|()| self.file.sync_all())
            .map_err(Error::io("sync", &self.path))?;
        fs::rename(&self.path, out).map_err(Error::io("rename into place", out))?;
        self.remove_on_drop = false;
        sync_folder_of(out)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.remove_on_drop {
            // Nobody is left to tell; the file keeps its `.partial` name if this fails.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the names in the folder of `path` durable.
///
/// # Errors
/// `Io`.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(Error::io("sync the folder", folder))
}

/// Writes a new file of these bytes; it must not exist yet. Not synced: for the many files of a
/// [`ScratchDir`](crate::ScratchDir), which syncs at its commit.
///
/// # Errors
/// `Io`, also when the file exists.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<()> {
    fault::on_write(path, bytes.len() as u64)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
        .and_then(|mut file| file.write_all(bytes))
        .map_err(Error::io("write", path))
}

/// Writes a file of these bytes, in the place of any that is there: the whole of it, synced, or
/// nothing.
///
/// # Errors
/// `Usage` when another process is writing it, `Io` when the system refuses. What was there before
/// stays then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let scratch = Scratch::open(&partial_path(path))?;
    // A killed run may have left more bytes than these.
    scratch.set_len(0)?;
    scratch.write_all_at(bytes, 0)?;
    scratch.commit(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Operation;

    #[test]
    fn replaced_files_are_whole_or_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x");
        replace(&out, b"first").unwrap();
        fs::write(partial_path(&out), "left by a run that was killed").unwrap();
        replace(&out, b"2nd").unwrap();
        assert_eq!(fs::read(&out).unwrap(), b"2nd");
        let full = fault::arm(folder.path(), Operation::Write, 1, io::ErrorKind::StorageFull);
        assert!(replace(&out, b"third").is_err());
        drop(full);
        assert_eq!(fs::read(&out).unwrap(), b"2nd");
        assert!(!partial_path(&out).exists());
    }

    #[test]
    fn large_files_arrive_whole() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x");
        let scratch = Scratch::open(&partial_path(&out)).unwrap();
        let block: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
        for n in 0..80 {
            scratch.write_all_at(&block, n << 20).unwrap();
        }
        scratch.commit(&out).unwrap();
        let bytes = fs::read(&out).unwrap();
        assert_eq!(bytes.len(), 80 << 20);
        assert!(bytes.chunks_exact(1 << 20).all(|chunk| chunk == block));
    }

    #[test]
    fn dropped_uncommitted_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x");
        let scratch = Scratch::open(&partial_path(&out)).unwrap();
        scratch.write_all_at(b"half", 0).unwrap();
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn left_behind_it_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let partial = partial_path(&folder.path().join("x"));
        let scratch = Scratch::open(&partial).unwrap();
        scratch.write_all_at(b"half", 0).unwrap();
        scratch.leave();
        assert_eq!(Scratch::open(&partial).unwrap().existing(), 4);
    }

    #[test]
    fn two_runs_cannot_hold_the_same_one() {
        let folder = tempfile::tempdir().unwrap();
        let partial = partial_path(&folder.path().join("x"));
        let _held = Scratch::open(&partial).unwrap();
        assert!(matches!(Scratch::open(&partial), Err(Error::Usage { .. })));
    }

    #[test]
    fn a_full_disk_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let full = io::ErrorKind::StorageFull;
        let _armed = fault::arm(folder.path(), Operation::Write, 10, full);
        let scratch = Scratch::open(&partial_path(&folder.path().join("x"))).unwrap();
        scratch.write_all_at(&[0; 10], 0).unwrap();
        assert!(scratch.write_all_at(&[0; 1], 10).is_err());
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
