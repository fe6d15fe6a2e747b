//! Where the bytes of a sample come from: memory if they are there, else storage.
//!
//! ```text
//! Supply::fetch  ->  Resident: a slot for each resident sample, filled by its first use
//!                ->  Buffer:   slots that are freed and refilled along the epoch
//!                ->  neither
//!                        |
//!                      Store:  the reader's map, or direct reads; pays the throttle
//! ```
//!
//! What is in memory never decides which sample comes when, so a cold cache is only slower.

mod buffer;
mod resident;
mod store;

use crate::{
    dataset::{Datasets, Fetched},
    groups::Groups,
    options::{CachePolicy, Options},
    order::{Draw, Place, Replay},
    stats::Counters,
};
use buffer::Buffer;
use fdconvert_core::Result;
use resident::Resident;
pub(crate) use store::Store;

/// What outlives an epoch: memory and open files.
pub(crate) struct Supply {
    pub(crate) store: Store,
    cache: Cache,
}

enum Cache {
    None,
    Resident(Resident),
    Buffer(Buffer),
}

impl Supply {
    /// An empty supply.
    ///
    /// # Errors
    /// `Usage` for datasets that cannot be read directly, if that is asked for.
    pub(crate) fn new(datasets: &Datasets, groups: &Groups, options: &Options) -> Result<Self> {
        let cache = match groups.policy() {
            None => Cache::None,
            Some(CachePolicy::Resident) => Cache::Resident(Resident::new(groups)),
            Some(CachePolicy::Liquid) => {
                // The sample that a refill reads may be drawn by another rank.
                Cache::Buffer(Buffer::new(options.world.size == 1))
            }
        };
        Ok(Self { store: Store::new(datasets, options)?, cache })
    }

    /// Prepares for an epoch, or for what is left of it.
    pub(crate) fn begin(&self, replay: Option<&Replay>, is_start: bool) {
        if let Cache::Buffer(buffer) = &self.cache {
            // Within an epoch it is not known any more what was there; it is read again.
            buffer.retain(|place| is_start && replay.is_some_and(|it| it.begins_with(place)));
        }
    }

    /// The sample at a place: from memory, or by `read`. `draw` is what becomes of it where there
    /// is a buffer; `None` for rows that only repeat or replace another.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn fetch(
        &self,
        place: Place,
        draw: Option<Draw>,
        counters: &Counters,
        read: impl FnOnce() -> Result<Fetched>,
    ) -> Result<Fetched> {
        match &self.cache {
            Cache::None => read(),
            Cache::Resident(resident) => resident.fetch(place, counters, read),
            Cache::Buffer(buffer) => buffer.fetch(place, draw, counters, read),
        }
    }

    /// Reads a sample into the slot that a draw has freed.
    pub(crate) fn refill(&self, place: Place, read: impl FnOnce() -> Result<Fetched>) {
        if let Cache::Buffer(buffer) = &self.cache {
            buffer.refill(place, read);
        }
    }
}
