//! The samples of an epoch: which one stands at each position, and where its bytes come from,
//! memory if they are there, else storage.
//!
//! ```text
//! Cache::samples   an epoch's order  ->  Samples: position -> sample -> bytes
//!     Uncached     every sample is read
//!     Filling      a slot for each resident sample, filled by its first use; with `locality` for
//!         |        each that this rank owns
//!         |
//!       Store      the reader's map, or direct reads
//! ```
//!
//! What is in memory never decides which sample comes when, so a cold cache is only slower.

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

/// How samples are read and kept.
pub(crate) struct SupplyOptions<'a> {
    pub(crate) access: Access,
    pub(crate) verify: bool,
    pub(crate) seed: u64,
    pub(crate) n_ranks: u32,
    pub(crate) label: &'a Label,
    pub(crate) cache_bytes: u64,
    pub(crate) cache_folder: Option<&'a Path>,
    /// Number of the cache that this rank has a part in.
    pub(crate) cache: u32,
}

/// State that outlives an epoch: memory and open files.
pub(crate) struct Supply {
    pub(crate) store: Store,
    cache: Box<dyn Cache>,
    /// Tells what is kept, and of what, from anything else.
    identity: u64,
}

/// Samples in memory, for all epochs.
pub(crate) trait Cache: Send + Sync {
    /// The samples of the epoch of an order, of which `consumed` were drawn already.
    fn samples(&self, order: Order, consumed: u64) -> Box<dyn Samples>;

    /// A sample that this rank owns, for another one: from memory, or read and kept from then on.
    /// `None` of samples that others own, or no one.
    fn own(&self, _place: Place, _own: &Own<'_>) -> Option<Result<Fetched>> {
        None
    }

    /// Returns whether [`own`](Self::own) need not read a sample.
    fn has(&self, _place: Place) -> bool {
        false
    }
}

/// Context for reading a sample for another rank.
pub(crate) struct Own<'a> {
    pub(crate) counters: &'a Counters,
    pub(crate) read: &'a dyn Fn(Place) -> Result<Fetched>,
}

/// The samples of one epoch.
pub(crate) trait Samples: Send + Sync {
    /// The sample at a position; `None` from the end of the epoch on.
    fn at(&self, position: u64) -> Option<Place>;

    /// Returns whether a sample need not be read from storage, as far as that is known now: others
    /// are read ahead.
    fn is_kept(&self, _place: Place) -> bool {
        false
    }

    /// A sample, from memory or from storage.
    ///
    /// # Errors
    /// Those of reading it.
    fn fetch(&self, request: Request<'_>) -> Result<Fetched>;
}

/// A sample that a row needs.
pub(crate) struct Request<'a> {
    pub(crate) place: Place,
    /// The position whose draw it is; `None` for rows that only repeat or replace another.
    pub(crate) drawn_at: Option<u64>,
    pub(crate) counters: &'a Counters,
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) read: &'a dyn Fn(Place) -> Result<Fetched>,
    /// The sample of the row at a position that other ranks own, where its owner sends it.
    pub(crate) exchanged: &'a dyn Fn(u64) -> Result<Option<Fetched>>,
}

impl Supply {
    /// A supply without open files.
    ///
    /// # Errors
    /// `Usage` for datasets that cannot be read directly, if that is asked for; `Io` for the folder
    /// of the cache.
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
            // Which label and which fields are asked for is part of what is kept.
            // Labels and fields are kept as they are numbered.
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

    /// Tells what is kept, and of what, from anything else: the same on all ranks.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// A sample that this rank owns, for another one; `None` of samples that others own, or no one.
    pub(crate) fn own(
        &self,
        place: Place,
        counters: &Counters,
        read: &dyn Fn(Place) -> Result<Fetched>,
    ) -> Option<Result<Fetched>> {
        self.cache.own(place, &Own { counters, read })
    }

    /// Returns whether a sample for another rank need not be read.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.cache.has(place)
    }

    /// The samples of the epoch of an order, of which `consumed` were drawn already.
    pub(crate) fn samples(&self, order: Order, consumed: u64) -> Box<dyn Samples> {
        self.cache.samples(order, consumed)
    }
}

/// Keeps nothing.
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
