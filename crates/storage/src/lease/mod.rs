//! Leases: which of several workers does a piece of work, where no coordinator says so.
//!
//! A worker takes a lease by creating it, which only one can; renews it while it works; and
//! releases it when the work is done. Another worker takes over a lease that was not renewed for
//! as long as it lasts. [`Leases`] are these steps, so that a store of objects can offer them
//! by conditional requests; [`LeaseFolder`] offers them on a file system.
//!
//! A lease alone keeps no two workers from writing the same: one that was paused does not know that
//! its lease is gone. So each worker writes into a [place](LeaseFolder::place) of its own, from
//! which [`publish`](super::publish) renames complete files into the dataset. Who takes a lease over
//! first renames the place of the worker before it: from then on that worker finds none of its
//! files any more, whatever it was about to do.
use fdconvert_core::Result;
use std::{
    fmt::Debug,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

mod files;
mod names;
mod publish;
#[cfg(test)]
mod tests;

pub use files::{LeaseFolder, Listing};
pub use publish::publish;

/// A lease that this worker has, until another takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is about.
    pub name: String,
    /// How often it was taken over, from 1.
    pub generation: u64,
    /// Of this worker and this lease only.
    pub id: String,
}

/// A lease as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it is about.
    pub name: String,
    /// How often it was taken over, from 1.
    pub generation: u64,
    /// Whose it is; `None` where its worker has not said so yet.
    pub id: Option<String>,
    /// Since it was renewed last, by the clock of the store.
    pub age: Duration,
    /// How long it lasts without being renewed.
    pub lasts: Duration,
}

impl Seen {
    /// Returns whether it may be taken over.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.age > self.lasts
    }
}

/// What leases need of a store.
///
/// No step waits. Errors are those of the store; that another worker was faster is none.
pub trait Leases: Debug + Send + Sync {
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

    /// Takes over a lease, if it is still as it was seen; otherwise `None`. The worker before can
    /// publish nothing afterwards.
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
}

/// 128 random bits in hexadecimal: the standard library seeds its hashers from the system.
fn new_id() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
