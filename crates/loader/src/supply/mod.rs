//! The samples of an epoch: the one at each position, and the source of its bytes: memory if
//! possible, else storage.
//!
//! ```text
//! Cache::samples   an epoch's order  ->  Samples: position -> sample -> bytes
//!     Uncached     every sample is read
//!     Filling      a slot for each resident sample, filled at its first use; with `locality` only
//!         |        for those that this rank owns
//!         |
//!       Store      the reader's map, or direct reads
//! ```
//!
//! The contents of memory never affect the order, so that a cold cache is only slower.

pub(crate) mod copies;
mod files;
mod owned;
mod policy;
mod resident;
mod store;

use crate::{
    dataset::{Datasets, Fetched, Label},
    groups::Groups,
    order::{Order, Place},
    stats::Counters,
};
use fdconvert_core::Result;
pub(crate) use owned::Owned;
pub use policy::CachePolicy;
pub(crate) use policy::{Candidates, Choice, Method, Slotted};
use std::{path::Path, sync::atomic::AtomicBool};
pub use store::Access;
pub(crate) use store::Store;

pub(crate) struct SupplyOptions<'a> {
    pub(crate) access: Access,
    pub(crate) verify: bool,
    pub(crate) seed: u64,
    pub(crate) n_ranks: u32,
    pub(crate) label: &'a Label,
    pub(crate) cache_bytes: u64,
    pub(crate) cache_folder: Option<&'a Path>,
    /// Number of the cache that this rank shares.
    pub(crate) cache: u32,
}

/// State that outlives an epoch: memory and open files.
pub(crate) struct Supply {
    pub(crate) store: Store,
    cache: Box<dyn Cache>,
    /// Differs between any two loads that must not share kept samples.
    identity: u64,
}

/// Samples in memory, for all epochs.
pub(crate) trait Cache: Send + Sync {
    /// Returns the samples of the epoch of an order, after `consumed` draws.
    fn samples(&self, order: Order, consumed: u64) -> Box<dyn Samples>;

    /// Returns a sample that this rank owns, for another rank: from memory, or read and kept from
    /// then on. `None` for samples that another rank or none owns.
    fn own(&self, _place: Place, _own: &Own<'_>) -> Option<Result<Fetched>> {
        None
    }

    /// Returns true if [`own`](Self::own) need not read a sample.
    fn has(&self, _place: Place) -> bool {
        false
    }
}

pub(crate) struct Own<'a> {
    pub(crate) counters: &'a Counters,
    pub(crate) read: &'a dyn Fn(Place) -> Result<Fetched>,
}

/// The samples of one epoch.
pub(crate) trait Samples: Send + Sync {
    /// Returns the sample at a position; `None` from the end of the epoch on.
    fn at(&self, position: u64) -> Option<Place>;

    /// Returns true if a sample need not be read from storage, as far as is known now: others are
    /// read ahead.
    fn is_kept(&self, _place: Place) -> bool {
        false
    }

    /// Returns a sample, from memory or from storage.
    ///
    /// # Errors
    /// The errors of reading it.
    fn fetch(&self, request: Request<'_>) -> Result<Fetched>;
}

pub(crate) struct Request<'a> {
    pub(crate) place: Place,
    /// Position that draws it; `None` for rows that only repeat or replace another.
    pub(crate) drawn_at: Option<u64>,
    pub(crate) counters: &'a Counters,
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) read: &'a dyn Fn(Place) -> Result<Fetched>,
    /// Returns the sample of a row at a position that other ranks own, if its owner sends it.
    pub(crate) exchanged: &'a dyn Fn(u64) -> Result<Option<Fetched>>,
}

impl Supply {
    /// Creates a supply without open files.
    ///
    /// # Errors
    /// `Usage` if datasets must be read directly and cannot be; `Io` for the folder of the cache.
    pub(crate) fn new(
        datasets: &Datasets,
        groups: &Groups,
        options: &SupplyOptions<'_>,
    ) -> Result<Self> {
        let slots: Vec<_> = groups.slots().collect();
        let slotted = Slotted {
            slots: &slots,
            seed: options.seed,
            n_ranks: options.n_ranks,
            // The identity includes the choice of label and fields. Labels and fields are kept with
            // their numbers in batches.
            fingerprint: groups.fingerprint(datasets)?
                ^ datasets.numbering()
                ^ options.label.fingerprint()
                ^ datasets.fields().fingerprint(),
            folder: options.cache_folder,
            owners: groups.owners().map(|owners| (owners, options.cache)),
            owned_fit: groups.owned_bytes() <= options.cache_bytes,
        };
        let cache: Box<dyn Cache> = match groups.method() {
            None => Box::new(Uncached),
            Some(method) => method.cache(&slotted)?,
        };
        let store = Store::new(datasets, options.access, options.verify)?;
        Ok(Self { store, cache, identity: slotted.identity() })
    }

    /// Returns the identity of the kept samples and datasets: the same on all ranks.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns a sample that this rank owns, for another rank; `None` for samples that another rank
    /// or none owns.
    pub(crate) fn own(
        &self,
        place: Place,
        counters: &Counters,
        read: &dyn Fn(Place) -> Result<Fetched>,
    ) -> Option<Result<Fetched>> {
        self.cache.own(place, &Own { counters, read })
    }

    /// Returns true if a sample for another rank need not be read.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.cache.has(place)
    }

    /// Returns the samples of the epoch of an order, after `consumed` draws.
    pub(crate) fn samples(&self, order: Order, consumed: u64) -> Box<dyn Samples> {
        self.cache.samples(order, consumed)
    }
}

struct Uncached;

impl Cache for Uncached {
    fn samples(&self, order: Order, _consumed: u64) -> Box<dyn Samples> {
        Box::new(order)
    }
}

impl Samples for Order {
    fn at(&self, position: u64) -> Option<Place> {
        Order::at(self, position)
    }

    fn fetch(&self, request: Request<'_>) -> Result<Fetched> {
        (request.read)(request.place)
    }
}
