use crate::left;
use crate::{
    fault, fingerprint_hex,
    folders::open_folder_of,
    lock,
    place::{away::Upload, is_url},
    rename,
    writeback::Writeback,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use rustix::fs::OFlags;
use std::{
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use xxhash_rust::xxh3::Xxh3Default;

/// Returns where the unfinished form of `out` lies: the same folder, the same name, `.partial`
/// appended.
#[must_use]
pub fn partial_path(out: &Path) -> PathBuf {
    let mut name = OsString::from(out.as_os_str());
    name.push(".partial");
    PathBuf::from(name)
}

/// A file this run owns until it is committed under its final name.
///
/// Dropped uncommitted it is removed; a killed process leaves it, and the next run finds its
/// bytes in [`existing`](Self::existing) and decides whether to go on with them. What was there
/// already becomes this run's with the first change and stays as it is before that. An exclusive
/// lock keeps two runs from writing the same one.
///
/// No link is followed, and only a regular file with a single name is taken: a user who may write to
/// the folder cannot lead the run to a file elsewhere.
///
/// While a large file is written, a thread syncs what is there already, so that the commit does
/// not have to wait for all of it.
///
/// Of an object the bytes lie in a file without a name until the commit sends them. Nothing is left
/// of it by a killed process, so it is never continued.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
    existing: u64,
    /// Device and number of the file: what has its name later may be another one.
    identity: (u64, u64),
    is_ours: AtomicBool,
    writeback: Mutex<Writeback>,
    /// Of an object what it will be marked with.
    away: Option<Mark>,
}

/// Mark of an object: the fingerprint of its run.
type Mark = Option<String>;

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Creates the file, or opens the one that is there; the second value tells which.
fn create_or_open(path: &Path) -> Result<(File, bool)> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
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
    /// Opens or creates the scratch file `path`, with whatever an earlier run left in it. Whether
    /// those bytes are ours to replace is for the caller to find out before it changes them.
    ///
    /// # Errors
    /// `Usage` when another process holds it, or it is a link, no regular file, or has another
    /// name as well; `Io` when the system refuses. A file that was there stays as it was.
    pub fn open(path: &Path) -> Result<Self> {
        if is_url(path) {
            return Self::staged(path);
        }
        fault::on_write(path, 0).map_err(Error::io("create", path))?;
        // Another run may commit (rename) or remove the file between our opening and locking it;
        // then the lock is on a file that has lost its name, and we look again.
        loop {
            let (file, created) = create_or_open(path)?;
            let held = file.metadata().map_err(Error::io("access", path))?;
            // Dropped from here on, a file that was created now is removed.
            let mut this = Self {
                file,
                path: path.to_path_buf(),
                existing: held.len(),
                identity: identity(&held),
                is_ours: AtomicBool::new(created),
                writeback: Mutex::default(),
                away: None,
            };
            if !held.is_file() {
                return Err(refuse(path, "is not a regular file; move it away"));
            }
            if held.nlink() > 1 {
                return Err(refuse(path, "has another name as well (a hard link); remove it"));
            }
            if let Err(error) = lock::hold(&this.file, path) {
                if matches!(error, Error::Usage { .. }) {
                    // Its holder has opened it since.
                    this.leave();
                }
                return Err(error);
            }
            // Its size may have changed while another run held it.
            let held = this.file.metadata().map_err(Error::io("access", path))?;
            match fs::symlink_metadata(path) {
                Ok(named) if identity(&named) == this.identity => {
                    this.existing = held.len();
                    return Ok(this);
                }
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(Error::io("access", path)(cause)),
            }
        }
    }

    /// The bytes of an object, until they are sent.
    fn staged(path: &Path) -> Result<Self> {
        Ok(Self {
            file: unnamed()?,
            path: path.to_path_buf(),
            existing: 0,
            identity: (0, 0),
            is_ours: AtomicBool::new(false),
            writeback: Mutex::default(),
            away: Some(None),
        })
    }

    /// Marks an object as one of the run of that fingerprint, so that
    /// [`is_object_of_run`](crate::place::is_object_of_run) knows it. Files bear no marks.
    #[must_use]
    pub fn marked(mut self, fingerprint: [u8; 16]) -> Self {
        if let Some(mark) = &mut self.away {
            *mark = Some(fingerprint_hex(fingerprint));
        }
        self
    }

    /// The same, emptied. `claimed` tells whether a claim or journal of a run of ours stands for
    /// what may be there; without one only an empty file is taken, of which nothing can be lost.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); `Usage` also when the file has bytes that are not claimed.
    pub fn start(path: &Path, claimed: bool) -> Result<Self> {
        let scratch = Self::open(path)?;
        if scratch.existing > 0 && !claimed {
            return Err(refuse_unclaimed(path));
        }
        scratch.set_len(0)?;
        Ok(scratch)
    }

    /// Bytes that were already there when it was opened; 0 for a new file.
    #[must_use]
    pub fn existing(&self) -> u64 {
        self.existing
    }

    /// Takes over what was there as well: it is removed with the rest.
    pub fn own(&self) {
        self.is_ours.store(true, Ordering::Relaxed);
    }

    /// Bytes that it has now.
    ///
    /// # Errors
    /// `Io`.
    pub fn size(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(Error::io("access", &self.path))?.len())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file back as it is: it will not be removed.
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
            return self.file.write_all_at(bytes, offset).map_err(staging(&self.path));
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
        self.is_ours.store(true, Ordering::Relaxed);
        self.file.set_len(bytes).map_err(Error::io("resize", &self.path))
    }

    /// Makes what was written durable, and the file's name as well.
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

    /// Makes the contents durable and gives the file its final name, replacing whatever has that
    /// name: whether that is allowed was asked before the first byte was written.
    ///
    /// # Errors
    /// `Io`. The scratch file is removed then, or, where only the sync of the folder failed, has
    /// its final name.
    pub fn commit(self, out: &Path) -> Result<()> {
        self.commit_by(out, true)
    }

    /// The same for one that outlives it, to be left where it is or removed by the caller.
    pub(crate) fn commit_in_place(&self, out: &Path) -> Result<()> {
        self.commit_by(out, true)
    }

    /// The same, if nothing has that name: also not since it was looked at last, where the file
    /// system can tell.
    ///
    /// # Errors
    /// `Usage` when something has that name, `Io` as for [`commit`](Self::commit).
    pub fn commit_new(self, out: &Path) -> Result<()> {
        self.commit_by(out, false)
    }

    fn commit_by(&self, out: &Path, replaces: bool) -> Result<()> {
        if let Some(mark) = &self.away {
            return self.send(out, mark.clone(), replaces);
        }
        let rename = if replaces { rename::replace } else { rename::keep };
        self.sync_contents()?;
        // Before the file gets its name: what can fail without consequences fails first.
        let folder = open_folder_of(out)?;
        rename(&self.path, out)?;
        self.is_ours.store(false, Ordering::Relaxed);
        folder.sync()
    }

    /// Sends the bytes of an object. One of no run is marked with their hash: by its mark an upload
    /// whose answer was lost is known to have succeeded.
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
        if upload.finish(replaces)? { Ok(()) } else { Err(rename::exists(out)) }
    }

    /// Calls `f` with all that was written, in order, in blocks.
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

    /// Maps what was written.
    ///
    /// # Errors
    /// `Io`.
    pub fn map(&self) -> Result<Bytes> {
        fault::on_read(&self.path, 0).map_err(Error::io("map", &self.path))?;
        crate::map::map_open(&self.file, &self.path)
    }

    /// Device and number of the file, which it keeps under another name.
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }
}

/// Bytes that are read at once.
const BLOCK_BYTES: u64 = 4 << 20;

/// A file without a name, in the folder for temporary files.
#[cfg(feature = "stores")]
pub(crate) fn unnamed() -> Result<File> {
    tempfile::tempfile().map_err(Error::io("create a file in", staging_folder()))
}

/// Folder in which the bytes of objects lie until they are sent.
#[allow(clippy::disallowed_methods, reason = "an object has no folder before it is sent")]
fn staging_folder() -> PathBuf {
    std::env::temp_dir()
}

#[cfg(not(feature = "stores"))]
pub(crate) fn unnamed() -> Result<File> {
    Err(refuse(Path::new("OUT"), "is a URL, and this build lacks the feature `stores`"))
}

/// Makes an error of writing an object name the folder in which its bytes lie first.
pub(crate) fn staging(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let folder = staging_folder();
    move |cause| {
        let what = format!(
            "{cause}: until it is sent it is in {}; TMPDIR names another folder",
            folder.display()
        );
        Error::io("write", path)(io::Error::new(cause.kind(), what))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_ours.load(Ordering::Relaxed) {
            return;
        }
        let removed = match fs::symlink_metadata(&self.path) {
            // The name may have come to stand for another file.
            Ok(named) if identity(&named) != self.identity => return,
            named => named.and_then(|_| fs::remove_file(&self.path)),
        };
        match removed {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => left::note(&self.path, &cause),
            _ => {}
        }
    }
}

/// Removes `path` if it is the file of this [`identity`](Scratch::identity), which a run has
/// committed and takes back; what else has the name stays. Whether the file is gone: an object never
/// is.
#[must_use]
pub fn take_back(path: &Path, identity_of_ours: (u64, u64)) -> bool {
    if is_url(path) {
        // Another run may have written one of that name since. The claim stays for it.
        return false;
    }
    match fs::symlink_metadata(path) {
        Ok(named) if identity(&named) == identity_of_ours => fs::remove_file(path).is_ok(),
        Ok(_) => true,
        Err(cause) => cause.kind() == io::ErrorKind::NotFound,
    }
}

/// Refuses the unfinished form of `out` where it holds bytes that no claim or journal of ours
/// stands for. To be asked before a claim is set, which would make them ours.
///
/// # Errors
/// `Usage`, naming the file; `Io`.
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

/// The refusal of bytes that no run of ours stands for.
pub(crate) fn refuse_unclaimed(path: &Path) -> Error {
    refuse(path, "exists and was not made by an unfinished run of fdconvert; move it away")
}

#[cfg(test)]
mod tests;
