use crate::left;
use crate::{
    fault, fingerprint_hex,
    folders::open_folder_of,
    lock,
    os::{self, FileExt as _, Identity, identity_at},
    place::{self, is_url},
    rename,
    store::{self, Upload},
    unnamed,
    writeback::Writeback,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use xxhash_rust::xxh3::Xxh3Default;

/// Returns the path of the unfinished form of `out`: the same folder, the same name with `.partial`
/// appended.
#[must_use]
pub fn partial_path(out: &Path) -> PathBuf {
    let mut name = OsString::from(out.as_os_str());
    name.push(".partial");
    PathBuf::from(name)
}

/// Returns true if the unfinished form of `out` exists. Objects have none.
///
/// # Errors
/// `Io`.
pub fn has_partial(out: &Path) -> Result<bool> {
    Ok(!is_url(out) && place::exists(&partial_path(out))?)
}

/// A file that this run owns until it is committed under its final name.
///
/// If dropped before the commit, it is removed. A killed process leaves it behind; the next run
/// finds its bytes in [`existing`](Self::existing) and decides whether to resume. Existing contents
/// belong to this run from the first change on, and stay untouched before that. An exclusive lock
/// keeps two runs from writing the same file.
///
/// Links are not followed, and only a regular file with a single name is accepted, so that another
/// user with write access to the folder cannot redirect the run to a file elsewhere.
///
/// While a large file is written, a thread syncs the bytes so far, which leaves less work for the
/// commit.
///
/// The bytes of an object are kept in an unnamed file until the commit sends them. A killed process
/// leaves nothing behind, so an object is never resumed.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
    existing: u64,
    /// Device and inode: another file may get its name later.
    identity: Identity,
    is_ours: AtomicBool,
    writeback: Mutex<Writeback>,
    /// The mark for an object.
    away: Option<Mark>,
}

/// Mark of an object: the fingerprint of its run.
type Mark = Option<String>;

/// Creates the file, or opens an existing one; the second value is true for a new file.
fn create_or_open(path: &Path) -> Result<(File, bool)> {
    loop {
        let mut options = OpenOptions::new();
        os::not_following(options.read(true).write(true));
        match options.clone().create_new(true).open(path) {
            Ok(file) => return Ok((file, true)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(Error::io("create", path)(cause)),
        }
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(refuse(path, "is a symbolic link, which is not followed; remove it"));
            }
            // A pipe or a device might block.
            Ok(metadata) if !metadata.is_file() => {
                return Err(refuse(path, "is not a regular file; move it away"));
            }
            Ok(_) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(Error::io("access", path)(cause)),
        }
        match options.open(path) {
            Ok(file) => return Ok((file, false)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::io("create", path)(cause)),
        }
    }
}

fn refuse(path: &Path, why: &str) -> Error {
    Error::usage("output", format!("{} {why}", path.display()))
}

impl Scratch {
    /// Opens or creates the scratch file `path`, with any contents of an earlier run. The caller
    /// must find out whether they may be replaced before changing them.
    ///
    /// # Errors
    /// `Usage` when another process holds it, or when it is a link, not a regular file, or has more
    /// than one name; `Io` when the system fails. An existing file stays unchanged.
    pub fn open(path: &Path) -> Result<Self> {
        if is_url(path) {
            return Self::staged(path);
        }
        fault::on_write(path, 0).map_err(Error::io("create", path))?;
        // Another run may commit (rename) or remove the file between opening and locking it; then
        // the locked file has lost its name, and the loop tries again.
        loop {
            let (file, created) = create_or_open(path)?;
            let held = file.metadata().map_err(Error::io("access", path))?;
            let identity = os::identity(&file, &held).map_err(Error::io("access", path))?;
            let n_names = os::n_names(&file, &held).map_err(Error::io("access", path))?;
            // From here on, drop removes a newly created file.
            let mut this = Self {
                file,
                path: path.to_path_buf(),
                existing: held.len(),
                identity,
                is_ours: AtomicBool::new(created),
                writeback: Mutex::default(),
                away: None,
            };
            if !held.is_file() {
                return Err(refuse(path, "is not a regular file; move it away"));
            }
            if n_names > 1 {
                return Err(refuse(path, "has another name as well (a hard link); remove it"));
            }
            if let Err(error) = lock::hold(&this.file, path) {
                if matches!(error, Error::Usage { .. }) {
                    // Its holder has opened it since.
                    this.leave();
                }
                return Err(error);
            }
            // Another run may have changed its size while holding it.
            let held = this.file.metadata().map_err(Error::io("access", path))?;
            match identity_at(path) {
                Ok(named) if named == this.identity => {
                    this.existing = held.len();
                    return Ok(this);
                }
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(Error::io("access", path)(cause)),
            }
        }
    }

    /// Keeps the bytes of an object until they are sent.
    fn staged(path: &Path) -> Result<Self> {
        Ok(Self {
            file: store::staging_file(path)?,
            path: path.to_path_buf(),
            existing: 0,
            identity: (0, 0),
            is_ours: AtomicBool::new(false),
            writeback: Mutex::default(),
            away: Some(None),
        })
    }

    /// Marks an object as one of the run of that fingerprint, for
    /// [`is_object_of_run`](crate::place::is_object_of_run). Files have no marks.
    #[must_use]
    pub fn marked(mut self, fingerprint: [u8; 16]) -> Self {
        if let Some(mark) = &mut self.away {
            *mark = Some(fingerprint_hex(fingerprint));
        }
        self
    }

    /// Like [`open`](Self::open), but empties the file. `claimed` is true if a claim or journal of
    /// fdconvert accounts for an existing file; otherwise only an empty file is accepted, so that
    /// no data is lost.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); `Usage` also when the file has unclaimed bytes.
    pub fn start(path: &Path, claimed: bool) -> Result<Self> {
        let scratch = Self::open(path)?;
        if scratch.existing > 0 && !claimed {
            return Err(refuse_unclaimed(path));
        }
        scratch.set_len(0)?;
        Ok(scratch)
    }

    /// Returns the number of bytes when it was opened; 0 for a new file.
    #[must_use]
    pub fn existing(&self) -> u64 {
        self.existing
    }

    /// Takes ownership of existing contents: they are removed with the rest.
    pub fn own(&self) {
        self.is_ours.store(true, Ordering::Relaxed);
    }

    /// Returns the current number of bytes.
    ///
    /// # Errors
    /// `Io`.
    pub fn size(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(Error::io("access", &self.path))?.len())
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file as it is: drop does not remove it.
    pub fn leave(self) {
        self.disown();
    }

    pub(crate) fn disown(&self) {
        self.is_ours.store(false, Ordering::Relaxed);
    }

    /// Writes all of `bytes` at `offset`, growing the file as needed.
    ///
    /// # Errors
    /// `Io`, e.g. when the disk is full.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.is_ours.store(true, Ordering::Relaxed);
        if self.away.is_some() {
            return self
                .file
                .write_all_at(bytes, offset)
                .map_err(|cause| staging(&self.path, &cause));
        }
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
    /// `Io`, also when the file ends early.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        fault::on_read(&self.path, bytes.len() as u64)
            .and_then(|()| self.file.read_exact_at(bytes, offset))
            .map_err(Error::io("read", &self.path))
    }

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    /// `Io`.
    pub fn set_len(&self, bytes: u64) -> Result<()> {
        self.is_ours.store(true, Ordering::Relaxed);
        self.file.set_len(bytes).map_err(Error::io("resize", &self.path))
    }

    /// Makes the written bytes and the file's name durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&self) -> Result<()> {
        if self.away.is_some() {
            return Ok(());
        }
        self.sync_contents()?;
        crate::sync_folder_of(&self.path)
    }

    fn sync_contents(&self) -> Result<()> {
        fault::on_write(&self.path, 0)
            .and_then(|()| self.writeback().wait())
            .and_then(|()| self.file.sync_all())
            .map_err(Error::io("sync", &self.path))
    }

    /// Syncs the contents and renames the file to its final name; with `replaces` it replaces an
    /// existing file: the caller has checked the permission before writing the first byte. Without,
    /// nothing may have that name, which is checked atomically if the file system can.
    ///
    /// # Errors
    /// `Usage` without `replaces` when something has that name. `Io`; the scratch file is then
    /// removed, or has its final name if only the sync of the folder failed.
    pub fn commit(self, out: &Path, replaces: bool) -> Result<()> {
        self.commit_in_place(out, replaces)
    }

    /// Like [`commit`](Self::commit), but keeps the value, for the caller to leave or remove the
    /// file.
    pub(crate) fn commit_in_place(&self, out: &Path, replaces: bool) -> Result<()> {
        if let Some(mark) = &self.away {
            return self.send(out, mark.clone(), replaces);
        }
        let rename = if replaces { rename::replace } else { rename::keep };
        self.sync_contents()?;
        // Before the rename: steps that can fail without consequences come first.
        let folder = open_folder_of(out)?;
        rename(&self.path, out)?;
        self.is_ours.store(false, Ordering::Relaxed);
        folder.sync()
    }

    /// Sends the bytes of an object. An object without a run is marked with their hash: the mark
    /// shows that an upload with a lost answer has succeeded.
    fn send(&self, out: &Path, mark: Mark, replaces: bool) -> Result<()> {
        let mark = match mark {
            Some(mark) => mark,
            None => {
                let mut hash = Xxh3Default::new();
                self.each_block(|block| {
                    hash.update(block);
                    Ok(())
                })?;
                format!("{:016x}", hash.digest())
            }
        };
        let mut upload = Upload::start(out, Some(&mark))?;
        self.each_block(|block| upload.append(block))?;
        upload.finish(replaces)
    }

    /// Calls `f` with all bytes written, in order, in blocks.
    ///
    /// # Errors
    /// `Io`; those of `f`.
    pub fn each_block(&self, mut f: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (size, mut offset) = (self.size()?, 0);
        let mut block = vec![0; size.min(BLOCK_BYTES) as usize];
        while offset < size {
            block.truncate((size - offset).min(BLOCK_BYTES) as usize);
            self.read_exact_at(&mut block, offset)?;
            f(&block)?;
            offset += block.len() as u64;
        }
        Ok(())
    }

    /// Maps the bytes written.
    ///
    /// # Errors
    /// `Io`.
    pub fn map(&self) -> Result<Bytes> {
        fault::on_read(&self.path, 0).map_err(Error::io("map", &self.path))?;
        crate::map::map_open(&self.file, &self.path)
    }

    /// Returns device and inode of the file, which survive a rename.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

/// Bytes per read.
const BLOCK_BYTES: u64 = 4 << 20;

/// The error of writing an object to its temporary file.
fn staging(path: &Path, cause: &io::Error) -> Error {
    let what = format!(
        "{cause}: until it is sent it is in {}; TMPDIR names another folder",
        unnamed::folder().display()
    );
    Error::io("write", path)(io::Error::new(cause.kind(), what))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_ours.load(Ordering::Relaxed) {
            return;
        }
        let removed = match identity_at(&self.path) {
            // The name may now belong to another file.
            Ok(named) if named != self.identity => return,
            named => named.and_then(|_| fs::remove_file(&self.path)),
        };
        match removed {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => left::note(&self.path, &cause),
            _ => {}
        }
    }
}

/// Removes `path` if it is the file of this [`identity`](Scratch::identity), which a run has
/// committed and takes back; other files of that name stay. Returns whether the file is gone: for
/// an object always false.
#[must_use]
pub fn take_back(path: &Path, identity_of_ours: Identity) -> bool {
    if is_url(path) {
        // Another run may have written an object of that name since. The claim stays for it.
        return false;
    }
    match identity_at(path) {
        Ok(named) if named == identity_of_ours => fs::remove_file(path).is_ok(),
        Ok(_) => true,
        Err(cause) => cause.kind() == io::ErrorKind::NotFound,
    }
}

/// Refuses the unfinished form of `out` if it has bytes that no claim or journal of fdconvert
/// accounts for. Call it before setting a claim, which would account for them.
///
/// # Errors
/// `Usage`, with the file; `Io`.
pub fn refuse_foreign_partial(out: &Path) -> Result<()> {
    if is_url(out) {
        // Objects have no unfinished form.
        return Ok(());
    }
    let path = partial_path(out);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Ok(()),
        Ok(_) => Err(refuse_unclaimed(&path)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::io("access", &path)(cause)),
    }
}

/// The error for bytes that no run of fdconvert accounts for.
pub(crate) fn refuse_unclaimed(path: &Path) -> Error {
    refuse(path, "exists and was not made by an unfinished run of fdconvert; move it away")
}

#[cfg(test)]
mod tests;
