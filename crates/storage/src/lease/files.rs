//! Leases as files of one folder.
//!
//! The lease NAME is the file `NAME.GENERATION.lease` with the highest generation. It is created
//! with `O_EXCL`, so one worker gets it, and holds one line: `fdconvert lease 1 ID MILLISECONDS
//! WORKER`. ID is of this worker and lease only, MILLISECONDS how long the lease lasts, and WORKER
//! is for people. Renewing writes the line again, for the time of the last change.
//!
//! Taking over generation N creates N+1, again with `O_EXCL`: of several workers that found the same
//! lease stale one gets it. It renames the place of the worker before, `NAME.ID.place`, removes it,
//! and then the lease of that worker. A worker makes its place after its lease has its ID, and
//! looks once more whether the lease is its own: either it sees that it is not, or the one who took
//! over sees its place.
//!
//! Clocks: whether a lease is stale is the difference of two times of the file system, that of the
//! lease and that of a file which the worker who asks has just written. Clocks of machines are not
//! compared.
//!
//! `NAME.done` says that the work is done, with its outcome, and `NAME.begun` that some of its
//! files may have their names already.
use super::{
    Lease, Leases, Listing, Seen,
    line::{self, Line, MAX_DONE_BYTES, MAX_LEASE_BYTES},
    names::Entry,
    new_id,
    publish::publish,
};
use crate::{folders::make_folder, read_if_there, sync_folder_of};
use fdconvert_core::{Error, Result};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A folder of leases, as one worker uses it.
#[derive(Debug)]
pub(super) struct LeaseFolder {
    path: PathBuf,
    lasts: Duration,
    clock: PathBuf,
}

impl LeaseFolder {
    /// The folder at `path`, which lies in a folder that exists, with leases that last as long.
    ///
    /// # Errors
    /// `Usage` for a link or something else of that name; `Io`.
    pub(super) fn open(path: &Path, lasts: Duration) -> Result<Self> {
        make_folder(path)?;
        let clock = path.join(format!("{}.clock", new_id()));
        Ok(Self { path: path.to_path_buf(), lasts, clock })
    }

    fn names(&self) -> Result<Option<Vec<String>>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::io("list", &self.path)(cause)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(Error::io("list", &self.path))?.file_name();
            names.extend(name.into_string());
        }
        Ok(Some(names))
    }

    fn place_of(&self, name: &str, id: &str) -> PathBuf {
        self.path.join(format!("{name}.{id}.place"))
    }

    /// Takes the place of a worker out of its reach, then removes it.
    fn fence(&self, name: &str, id: &str) -> Result<()> {
        let (place, gone) = (self.place_of(name, id), self.path.join(format!("{name}.{id}.gone")));
        match fs::rename(&place, &gone) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::io("rename", &place)(cause)),
        }
        remove_folder(&gone)
    }

    fn lease_path(&self, name: &str, generation: u64) -> PathBuf {
        self.path.join(format!("{name}.{generation}.lease"))
    }

    /// Creates a lease of that generation, if there is none.
    fn create_as(&self, name: &str, generation: u64) -> Result<Option<Lease>> {
        let path = self.lease_path(name, generation);
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(cause)
                if matches!(
                    cause.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
                ) =>
            {
                return Ok(None);
            }
            Err(cause) => return Err(Error::io("create", path)(cause)),
        };
        let id = new_id();
        let line = line::to_text(&id, self.lasts) + "\n";
        file.write_all(line.as_bytes()).map_err(Error::io("write", path))?;
        Ok(Some(Lease { name: name.to_owned(), generation, id }))
    }

    /// All generations of a lease that there are.
    fn generations(&self, name: &str) -> Result<Vec<u64>> {
        let names = self.names()?.unwrap_or_default();
        let of_name = names.iter().filter_map(|file| match Entry::parse(file) {
            Some(Entry::Lease(found, generation)) if found == name => Some(generation),
            _ => None,
        });
        Ok(of_name.collect())
    }

    fn remove_lease(&self, name: &str, generation: u64) -> Result<()> {
        remove_file(&self.lease_path(name, generation))
    }

    fn read(&self, name: &str, generation: u64) -> Result<Option<Line>> {
        let path = self.lease_path(name, generation);
        let text = read_if_there(&path, MAX_LEASE_BYTES)?;
        Ok(text.map(|text| Line::parse(&text)))
    }

    fn is_held(&self, lease: &Lease) -> Result<bool> {
        let line = self.read(&lease.name, lease.generation)?;
        let is_ours = line.is_some_and(|line| line.id.as_ref() == Some(&lease.id));
        Ok(is_ours && !exists(&self.lease_path(&lease.name, lease.generation + 1))?)
    }

    /// The time of the file system, as it gives it to a file that is written now.
    fn now(&self) -> Result<SystemTime> {
        let path = &self.clock;
        let written = File::create(path).and_then(|mut file| {
            file.write_all(b"\n")?;
            file.metadata()?.modified()
        });
        written.map_err(Error::io("write", path))
    }

    /// Notes that files of this work may get their names from now on.
    pub(super) fn begin(&self, name: &str) -> Result<()> {
        let path = self.path.join(format!("{name}.begun"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => sync_folder_of(&path),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(cause) => Err(Error::io("create", path)(cause)),
        }
    }
}

impl Leases for LeaseFolder {
    fn lasts(&self) -> Duration {
        self.lasts
    }

    fn list(&self) -> Result<Option<Listing>> {
        let Some(names) = self.names()? else { return Ok(None) };
        let mut listing = Listing::default();
        for name in &names {
            match Entry::parse(name) {
                Some(Entry::Lease(name, _)) => {
                    listing.leased.insert(name.to_owned());
                }
                Some(Entry::Done(name)) => {
                    listing.done.insert(name.to_owned());
                }
                _ => {}
            }
        }
        Ok(Some(listing))
    }

    fn prepare(&self) -> Result<()> {
        make_folder(&self.path).map(drop)
    }

    fn create(&self, name: &str) -> Result<Option<Lease>> {
        let Some(lease) = self.create_as(name, 1)? else { return Ok(None) };
        // Since it was looked at last, the lease may have been taken over, or the work be done.
        let is_done = exists(&self.path.join(format!("{name}.done")))?;
        if is_done || self.generations(name)?.iter().any(|generation| *generation > 1) {
            self.release(&lease)?;
            return Ok(None);
        }
        Ok(Some(lease))
    }

    fn look(&self, name: &str) -> Result<Option<Seen>> {
        let Some(generation) = self.generations(name)?.into_iter().max() else { return Ok(None) };
        let path = self.lease_path(name, generation);
        // Opened: file systems of networks ask for the time of a file again when it is opened.
        let (text, modified) = match File::open(&path).and_then(|file| {
            let mut text = Vec::new();
            file.metadata()?.is_file().then_some(()).ok_or(io::ErrorKind::InvalidInput)?;
            (&file).take(MAX_LEASE_BYTES).read_to_end(&mut text)?;
            Ok((text, file.metadata()?.modified()?))
        }) {
            Ok(found) => found,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::io("read", path)(cause)),
        };
        let line = Line::parse(&text);
        let age = self.now()?.duration_since(modified).unwrap_or_default();
        let lasts = line.lasts.unwrap_or(self.lasts);
        Ok(Some(Seen { name: name.to_owned(), generation, id: line.id, age, lasts }))
    }

    fn take_over(&self, seen: &Seen) -> Result<Option<Lease>> {
        let Some(lease) = self.create_as(&seen.name, seen.generation + 1)? else {
            return Ok(None);
        };
        let before = self.read(&seen.name, seen.generation)?;
        let generations = self.generations(&seen.name)?;
        let is_as_seen = before.is_some_and(|line| line.id == seen.id || seen.id.is_none());
        if !is_as_seen || generations.iter().any(|generation| *generation > lease.generation) {
            self.release(&lease)?;
            return Ok(None);
        }
        // Also of a worker whose lease was being taken over by one that has died since.
        for generation in generations.into_iter().filter(|it| *it < lease.generation) {
            if let Some(id) = self.read(&seen.name, generation)?.and_then(|line| line.id) {
                self.fence(&seen.name, &id)?;
            }
            self.remove_lease(&seen.name, generation)?;
        }
        Ok(Some(lease))
    }

    fn renew(&self, lease: &Lease) -> Result<bool> {
        let path = self.lease_path(&lease.name, lease.generation);
        let renewed = OpenOptions::new().read(true).write(true).open(&path).and_then(|mut file| {
            let mut text = Vec::new();
            (&file).take(MAX_LEASE_BYTES).read_to_end(&mut text)?;
            let is_ours = Line::parse(&text).id.as_ref() == Some(&lease.id);
            if is_ours {
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&text)?;
            }
            Ok(is_ours)
        });
        match renewed {
            Ok(is_ours) => Ok(is_ours && self.is_held(lease)?),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(Error::io("renew the lease", path)(cause)),
        }
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        self.fence(&lease.name, &lease.id)?;
        let line = self.read(&lease.name, lease.generation)?;
        if line.is_some_and(|line| line.id.as_ref() == Some(&lease.id)) {
            self.remove_lease(&lease.name, lease.generation)?;
        }
        Ok(())
    }

    fn place(&self, lease: &Lease) -> Result<Option<PathBuf>> {
        // Formats make the folder of a shard, and none above it: so none makes a place again that was
        // taken away.
        let place = self.place_of(&lease.name, &lease.id);
        match fs::create_dir(&place) {
            Ok(()) => {}
            // The folder went with the completed dataset.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::io("create the folder", &place)(cause)),
        }
        // Only now, see above.
        if self.is_held(lease)? {
            return Ok(Some(place.join("shard")));
        }
        self.fence(&lease.name, &lease.id)?;
        Ok(None)
    }

    fn publish(
        &self,
        lease: &Lease,
        place: &Path,
        dataset: &Path,
        fingerprint: [u8; 16],
    ) -> Result<()> {
        let is_begun = self.has_begun(&lease.name)?;
        publish(place, dataset, fingerprint, is_begun, || self.begin(&lease.name))
    }

    fn has_begun(&self, name: &str) -> Result<bool> {
        exists(&self.path.join(format!("{name}.begun")))
    }

    fn finish(&self, lease: &Lease, outcome: &[u8]) -> Result<()> {
        let new = self.path.join(format!("{}.{}.new", lease.name, lease.id));
        let done = self.path.join(format!("{}.done", lease.name));
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(outcome)?;
            file.sync_all()
        });
        written.map_err(Error::io("write", &new))?;
        fs::rename(&new, &done).map_err(Error::io("rename into place", done))
    }

    fn outcome(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path.join(format!("{name}.done"));
        Ok(read_if_there(&path, MAX_DONE_BYTES)?.map(|text| text.to_vec()))
    }

    fn forget(&self, name: &str) -> Result<()> {
        remove_file(&self.path.join(format!("{name}.done")))
    }

    fn clear(&self, _: &str) -> Result<()> {
        clear(&self.path)
    }
}

impl Drop for LeaseFolder {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.clock);
        // Only an empty one: after a run that has published nothing.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes a folder of leases that nothing depends on any more; names that fdconvert does not give
/// stay, and the folder with them.
///
/// # Errors
/// `Io`.
pub(super) fn clear(path: &Path) -> Result<()> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::io("list", path)(cause)),
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("list", path))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        match Entry::parse(&name) {
            Some(known) if known.is_folder() => remove_folder(&entry.path())?,
            Some(_) => remove_file(&entry.path())?,
            None => {}
        }
    }
    // Not while there is something of another in it, or of a worker that has just begun.
    let _ = fs::remove_dir(path);
    Ok(())
}

fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(Error::io("look at", path)(cause)),
    }
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it; another worker may be doing so, too.
fn remove_folder(path: &Path) -> Result<()> {
    for tries in 0.. {
        match fs::remove_dir_all(path) {
            Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty && tries < 10 => {}
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", path)(cause));
            }
            _ => break,
        }
    }
    Ok(())
}
