//! Leases as objects of a store.
//!
//! The lease NAME is the object `NAME.held`. It is created for one writer, and renewed, taken over
//! and given back by requests that the store carries out only if the object is still what the
//! worker knows (`If-Match`); so of several workers that found the same lease stale one gets it, and
//! no generations are needed. It holds one line: `fdconvert lease 1 ID MILLISECONDS WORKER
//! GENERATION BEAT`, where BEAT differs each time, so that each has an entity tag of its own. A
//! lease that was given back is empty: stores do not delete on a condition, and a worker that has
//! lost its lease would delete another's.
//!
//! Clocks: a list gives the time of each object by the clock of the store. What was written last,
//! by any worker, tells how late it is at least; a worker that waits writes `ID.clock` four times in
//! the time that a lease lasts. So looking for stale leases costs a list, and nothing for each of
//! them.
//!
//! `NAME.done` says that the work is done, with its outcome. Workers write where the dataset lies
//! (`Leases::place`): see [0033](https://github.com/fdconvert/fdconvert/blob/main/docs/decisions/0033-leases-in-stores.md).
use super::{
    Lease, Leases, Listing, Seen,
    line::{self, Line, MAX_DONE_BYTES, MAX_LEASE_BYTES},
    names::Entry,
    new_id,
};
use crate::place;
use bytes::Bytes;
use fdconvert_core::{Error, Result, named};
use fdconvert_store::{self as store, Listed, Version};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Stores give times in seconds.
const LEAST: Duration = Duration::from_secs(2);
/// A worker that waits says how late it is so often in the time that a lease lasts.
const TICKS: u32 = 4;

/// The leases of a dataset in a store, as one worker uses them.
#[derive(Debug)]
struct LeaseObjects {
    dataset: PathBuf,
    folder: PathBuf,
    lasts: Duration,
    clock: PathBuf,
    beats: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Leases as this worker has read or written them last.
    known: BTreeMap<String, Known>,
    /// When leases were renewed, by the last list.
    renewed: BTreeMap<String, Duration>,
    /// The last time of all that was listed.
    newest: Duration,
    /// Leases of unfinished work are there, so time has to be told.
    waits: bool,
    ticked: Option<Instant>,
}

#[derive(Debug, Clone)]
struct Known {
    id: Option<String>,
    version: Version,
}

pub(super) fn open(dataset: &Path, folder: &Path, lasts: Duration) -> Result<Arc<dyn Leases>> {
    store::refuse_read_only(dataset)?;
    if lasts < LEAST {
        let what = format!("a lease in a store lasts at least {} s", LEAST.as_secs());
        return Err(Error::usage(named::LEASE, what));
    }
    Ok(Arc::new(LeaseObjects {
        dataset: dataset.to_path_buf(),
        folder: folder.to_path_buf(),
        lasts,
        clock: folder.join(format!("{}.clock", new_id())),
        beats: AtomicU64::new(0),
        state: Mutex::default(),
    }))
}

/// Deletes everything that has one of our names.
pub(super) fn clear(folder: &Path) -> Result<()> {
    let found = ours(store::list_times(folder)?);
    store::delete_all(&paths(folder, found.iter()))
}

fn ours(listed: Vec<Listed>) -> Vec<Listed> {
    listed.into_iter().filter(|it| Entry::parse(&it.name).is_some()).collect()
}

fn paths<'a>(folder: &Path, listed: impl Iterator<Item = &'a Listed>) -> Vec<PathBuf> {
    listed.map(|it| folder.join(&it.name)).collect()
}

impl LeaseObjects {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.held"))
    }

    fn done_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.done"))
    }

    fn text(&self, id: &str, generation: u64) -> Bytes {
        let beat = self.beats.fetch_add(1, Ordering::Relaxed);
        format!("{} {generation} {beat}\n", line::to_text(id, self.lasts)).into()
    }

    fn know(&self, name: &str, id: Option<String>, version: Version) {
        self.state().known.insert(name.to_owned(), Known { id, version });
    }

    /// Reads a lease, and remembers which version it is.
    fn read(&self, name: &str) -> Result<Option<(Line, Duration)>> {
        let Some(found) = store::current(&self.lease_path(name), MAX_LEASE_BYTES)? else {
            return Ok(None);
        };
        let line = Line::parse(&found.bytes);
        self.know(name, line.id.clone(), found.version);
        Ok((!found.bytes.is_empty()).then_some((line, found.modified)))
    }

    /// Writes a lease over the version that this worker knows; `None` where it is another by now.
    fn replace(&self, name: &str, generation: u64) -> Result<Option<Lease>> {
        let Some(known) = self.state().known.get(name).cloned() else { return Ok(None) };
        let id = new_id();
        let text = self.text(&id, generation);
        let Some(version) = store::update(&self.lease_path(name), &text, &known.version)? else {
            return Ok(None);
        };
        self.know(name, Some(id.clone()), version);
        Ok(Some(Lease { name: name.to_owned(), generation, id }))
    }

    /// Creates a lease that is not there, or takes one that was given back.
    fn create_free(&self, name: &str) -> Result<Option<Lease>> {
        let id = new_id();
        if let Some(version) = store::create(&self.lease_path(name), &self.text(&id, 1))? {
            self.know(name, Some(id.clone()), version);
            return Ok(Some(Lease { name: name.to_owned(), generation: 1, id }));
        }
        match self.read(name)? {
            Some(_) => Ok(None),
            None => self.replace(name, 1),
        }
    }

    /// Writes this over a lease as long as it is this worker's.
    fn write_own(&self, lease: &Lease, text: &Bytes) -> Result<bool> {
        let is_ours = |known: &&Known| known.id.as_ref() == Some(&lease.id);
        // The other thread of this worker may have renewed it in between.
        for _ in 0..3 {
            let known = self.state().known.get(&lease.name).filter(is_ours).cloned();
            let Some(known) = known else { return Ok(false) };
            let written = store::update(&self.lease_path(&lease.name), text, &known.version)?;
            if let Some(version) = written {
                self.know(&lease.name, Some(lease.id.clone()), version);
                return Ok(true);
            }
            self.read(&lease.name)?;
        }
        Ok(false)
    }

    /// Tells other workers how late it is, if that may matter to any.
    fn tick(&self) -> Result<()> {
        let mut state = self.state();
        let is_due = state.ticked.is_none_or(|it| it.elapsed() >= self.lasts / TICKS);
        if !state.waits || !is_due {
            return Ok(());
        }
        state.ticked = Some(Instant::now());
        drop(state);
        store::put(&self.clock, Bytes::from_static(b"\n"), None)
    }
}

impl Leases for LeaseObjects {
    fn lasts(&self) -> Duration {
        self.lasts
    }

    fn list(&self) -> Result<Option<Listing>> {
        self.tick()?;
        let found = ours(store::list_times(&self.folder)?);
        let mut listing = Listing::default();
        let mut state = self.state();
        state.renewed.clear();
        let mut is_empty = true;
        for Listed { name, len, modified } in &found {
            state.newest = state.newest.max(*modified);
            match Entry::parse(name) {
                Some(Entry::Held(name)) => {
                    is_empty = false;
                    if *len > 0 {
                        listing.leased.insert(name.to_owned());
                        state.renewed.insert(name.to_owned(), *modified);
                    }
                }
                Some(Entry::Done(name)) => {
                    is_empty = false;
                    listing.done.insert(name.to_owned());
                }
                _ => {}
            }
        }
        state.waits = listing.leased.iter().any(|name| !listing.done.contains(name));
        Ok((!is_empty).then_some(listing))
    }

    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn create(&self, name: &str) -> Result<Option<Lease>> {
        let Some(lease) = self.create_free(name)? else { return Ok(None) };
        // Since it was looked at last, the work may have been done.
        if place::exists(&self.done_path(name))? {
            self.release(&lease)?;
            return Ok(None);
        }
        Ok(Some(lease))
    }

    fn look(&self, name: &str) -> Result<Option<Seen>> {
        let (newest, renewed) = {
            let state = self.state();
            (state.newest, state.renewed.get(name).copied())
        };
        let age = |modified| newest.saturating_sub(modified);
        let mut seen = Seen {
            name: name.to_owned(),
            generation: 1,
            id: None,
            age: age(newest),
            lasts: self.lasts,
        };
        if let Some(age) = renewed.map(age).filter(|age| *age <= self.lasts) {
            seen.age = age;
            return Ok(Some(seen));
        }
        let Some((line, modified)) = self.read(name)? else { return Ok(None) };
        seen.generation = line.generation.unwrap_or(1);
        seen.age = age(modified);
        seen.lasts = line.lasts.unwrap_or(self.lasts);
        seen.id = line.id;
        Ok(Some(seen))
    }

    fn take_over(&self, seen: &Seen) -> Result<Option<Lease>> {
        let is_as_seen = |known: &Known| known.id == seen.id;
        if !self.state().known.get(&seen.name).is_some_and(is_as_seen) {
            return Ok(None);
        }
        self.replace(&seen.name, seen.generation.saturating_add(1))
    }

    fn renew(&self, lease: &Lease) -> Result<bool> {
        self.write_own(lease, &self.text(&lease.id, lease.generation))
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        self.write_own(lease, &Bytes::new()).map(|_| ())
    }

    fn place(&self, _: &Lease) -> Result<Option<PathBuf>> {
        Ok(Some(self.dataset.clone()))
    }

    fn publish(&self, lease: &Lease, _: &Path, dataset: &Path, _: [u8; 16]) -> Result<()> {
        // Each object was there as soon as it was whole, the record last.
        if self.renew(lease)? {
            return Ok(());
        }
        let cause = io::Error::new(io::ErrorKind::NotFound, "another worker has the lease");
        Err(Error::io("finish a shard of", dataset)(cause))
    }

    fn has_begun(&self, _: &str) -> Result<bool> {
        // Objects without a record are told by their marks.
        Ok(false)
    }

    fn finish(&self, lease: &Lease, outcome: &[u8]) -> Result<()> {
        store::put(&self.done_path(&lease.name), Bytes::copy_from_slice(outcome), None)
    }

    fn outcome(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let found = store::current(&self.done_path(name), MAX_DONE_BYTES)?;
        Ok(found.map(|found| found.bytes.to_vec()))
    }

    fn forget(&self, name: &str) -> Result<()> {
        place::remove(&self.done_path(name))
    }

    fn clear(&self, last: &str) -> Result<()> {
        let (of_last, others): (Vec<_>, Vec<_>) =
            ours(store::list_times(&self.folder)?).into_iter().partition(
                |it| matches!(Entry::parse(&it.name), Some(Entry::Held(name)) if name == last),
            );
        store::delete_all(&paths(&self.folder, others.iter()))?;
        store::delete_all(&paths(&self.folder, of_last.iter()))
    }
}

impl Drop for LeaseObjects {
    fn drop(&mut self) {
        if self.state().ticked.is_some() {
            // One that stays goes with the other leases.
            let _ = place::remove(&self.clock);
        }
    }
}
