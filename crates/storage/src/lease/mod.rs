//! Leases: which of several workers does a piece of work, where no coordinator says so.
//!
//! A worker takes a lease by creating it, which only one can; renews it while it works; and
//! releases it when the work is done. Another worker takes over a lease that was not renewed for
//! as long as it lasts. [`Leases`] are these steps, and the notes of what is done: files of a folder
//! or, by conditional requests, objects of a store.
//!
//! A lease alone keeps no two workers from writing the same: one that was paused does not know that
//! its lease is gone. On a file system each worker therefore writes into a [place](Leases::place) of
//! its own, from which [`publish`](Leases::publish) renames complete files into the dataset; who
//! takes a lease over first renames the place of the worker before it, and from then on that worker
//! finds none of its files any more, whatever it was about to do. In a store objects appear whole or
//! not at all, and those of one run have the same bytes from each worker: the place is the dataset.
use crate::place::is_url;
use fdconvert_core::Result;
use std::{
    collections::BTreeSet,
    fmt::Debug,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

mod files;
mod line;
mod names;
#[cfg(feature = "stores")]
mod objects;
#[cfg(not(feature = "stores"))]
#[path = "no_objects.rs"]
mod objects;
mod publish;
#[cfg(test)]
mod tests;

/// Folder of the leases of a dataset.
#[must_use]
pub fn lease_folder(dataset: &Path) -> PathBuf {
    dataset.join(".fdconvert/leases")
}

/// Opens the leases of a dataset, on a file system in a folder that exists; each lasts as long
/// without being renewed.
///
/// # Errors
/// `Usage` for a link or something else of that name, for stores that are read only, and for a
/// time that is too short; `Io`.
pub fn open_leases(dataset: &Path, lasts: Duration) -> Result<Arc<dyn Leases>> {
    let folder = lease_folder(dataset);
    if is_url(dataset) {
        return objects::open(dataset, &folder, lasts);
    }
    Ok(Arc::new(files::LeaseFolder::open(&folder, lasts)?))
}

/// Removes leases that nothing depends on any more; what fdconvert did not name stays.
///
/// # Errors
/// `Io`.
pub fn clear_leases(dataset: &Path) -> Result<()> {
    let folder = lease_folder(dataset);
    if is_url(dataset) { objects::clear(&folder) } else { files::clear(&folder) }
}

/// Leases and notes that there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of leases that some worker has, or had.
    pub leased: BTreeSet<String>,
    /// Names of work that is done.
    pub done: BTreeSet<String>,
}

/// A lease that this worker has, until another takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Name of the work.
    pub name: String,
    /// Count of takeovers, from 1.
    pub generation: u64,
    /// Of this worker and this lease only.
    pub id: String,
}

/// A lease as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Name of the work.
    pub name: String,
    /// Count of takeovers, from 1.
    pub generation: u64,
    /// Whose it is; `None` where its worker has not said so yet.
    pub id: Option<String>,
    /// Since it was renewed last, by the clock of the store.
    pub age: Duration,
    /// Time that it lasts without being renewed.
    pub lasts: Duration,
}

impl Seen {
    /// Returns whether it may be taken over.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.age > self.lasts
    }
}

/// The leases of a dataset, as one worker uses them.
///
/// No step waits. Errors are those of the store; that another worker was faster is none.
pub trait Leases: Debug + Send + Sync {
    /// Time that a lease lasts without being renewed.
    fn lasts(&self) -> Duration;

    /// Returns what is there; `None` where nothing is, as after the dataset was completed.
    ///
    /// # Errors
    /// `Io`.
    fn list(&self) -> Result<Option<Listing>>;

    /// Makes room for leases where [`list`](Self::list) found nothing.
    ///
    /// # Errors
    /// `Io`.
    fn prepare(&self) -> Result<()>;

    /// Creates the lease of that name, if there is none; otherwise `None`.
    ///
    /// # Errors
    /// `Io`.
    fn create(&self, name: &str) -> Result<Option<Lease>>;

    /// Returns what there is of that name.
    ///
    /// # Errors
    /// `Io`.
    fn look(&self, name: &str) -> Result<Option<Seen>>;

    /// Takes over a lease, if it is still as it was seen; otherwise `None`. On a file system the
    /// worker before can publish nothing afterwards.
    ///
    /// # Errors
    /// `Io`.
    fn take_over(&self, seen: &Seen) -> Result<Option<Lease>>;

    /// Says that the worker is alive; `false` where it has lost the lease.
    ///
    /// # Errors
    /// `Io`.
    fn renew(&self, lease: &Lease) -> Result<bool>;

    /// Gives the lease back, with what its worker has not published. One that was lost stays with
    /// its worker.
    ///
    /// # Errors
    /// `Io`.
    fn release(&self, lease: &Lease) -> Result<()>;

    /// Path at which the worker with this lease writes; `None` where the lease is another's by now.
    ///
    /// # Errors
    /// `Io`.
    fn place(&self, lease: &Lease) -> Result<Option<PathBuf>>;

    /// Gives the files of a finished shard, a dataset of its own at `place`, their names in the
    /// dataset.
    ///
    /// A worker whose place was taken away fails at the next file, with `Io` and `NotFound`.
    ///
    /// # Errors
    /// `Usage` when a file of another run is in the way, or the source was written to since the
    /// dataset was begun; `Io`.
    fn publish(
        &self,
        lease: &Lease,
        place: &Path,
        dataset: &Path,
        fingerprint: [u8; 16],
    ) -> Result<()>;

    /// Returns whether files of this work may have their names already without a record.
    ///
    /// # Errors
    /// `Io`.
    fn has_begun(&self, name: &str) -> Result<bool>;

    /// Notes that this work is done, and how it ended.
    ///
    /// # Errors
    /// `Io`.
    fn finish(&self, lease: &Lease, outcome: &[u8]) -> Result<()>;

    /// Outcome of work that is done.
    ///
    /// # Errors
    /// `Io`.
    fn outcome(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Takes back that this work is done.
    ///
    /// # Errors
    /// `Io`.
    fn forget(&self, name: &str) -> Result<()>;

    /// Removes all leases and notes, that called `last` after all others.
    ///
    /// # Errors
    /// `Io`.
    fn clear(&self, last: &str) -> Result<()>;
}

/// 128 random bits in hexadecimal: the standard library seeds its hashers from the system.
fn new_id() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
