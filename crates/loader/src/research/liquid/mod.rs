//! The cache of Liquid (APSys 2023), a buffer of two regions: a baseline for residents.
//!
//! An image is kept from its draw in one epoch to its draw in the next, and the slots of others are
//! refilled from the disk in the order of the images there. Reads are as even as with residents
//! from the second epoch on. It needs memory for every sample (17 bytes), computes all epochs
//! before the one it begins with, and shuffles ever less towards the end of an epoch. With several
//! ranks, each takes its rows of the same global batch and keeps those it has drawn; nothing is
//! read ahead for another rank.
//!
//! ```text
//! Replay    the sample of each draw, whether it stays in memory, the sample for its free slot
//! Buffer    the slots, filled by draws and refills in any order
//! ```
//!
//! The thread that reads the sample of a draw then reads one refill, in the order of the positions,
//! so that reading ahead needs no additional thread or queue.

mod buffer;
mod replay;

use crate::{
    CachePolicy,
    dataset::Fetched,
    order::{Order, Place, Stratum},
    supply::{Cache, Candidates, Choice, Method, Request, Samples, Slotted},
};
use buffer::Buffer;
use fdconvert_core::{Error, Result};
use replay::{Draw, Replay};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use xxhash_rust::xxh3::Xxh3;

/// Policy that keeps images in a buffer of two regions, like Liquid (APSys 2023).
pub const LIQUID: CachePolicy = CachePolicy::of(&Liquid);

struct Liquid;

impl Method for Liquid {
    fn name(&self) -> &'static str {
        "liquid"
    }

    fn check(&self, groups: &[Stratum]) -> Result<()> {
        if groups.iter().any(|group| group.len != group.count) {
            let what = "the policy `Liquid` has no weights; `Resident` has";
            return Err(Error::usage("cache_bytes", what));
        }
        Ok(())
    }

    fn choose(&self, candidates: &Candidates<'_>) -> Result<Choice> {
        // The set of samples in memory changes, so that samples are counted.
        Ok(Choice { n_slots: candidates.share_of(candidates.len), residence: None })
    }

    fn fingerprint(&self, datasets: u64, slots: &[(u64, u64)]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(b"two regions");
        hash.update(&datasets.to_le_bytes());
        slots.iter().for_each(|(_, n_slots)| hash.update(&n_slots.to_le_bytes()));
        hash.digest()
    }

    fn cache(&self, slotted: &Slotted<'_>) -> Result<Box<dyn Cache>> {
        let Slotted { slots, seed, n_ranks, folder, .. } = *slotted;
        if folder.is_some() {
            let what = "the policy `Liquid` keeps images in memory; `Resident` also in a folder";
            return Err(Error::usage("cache_folder", what));
        }
        let buffer = Arc::new(Buffer::new(n_ranks == 1));
        let replay = Mutex::default();
        Ok(Box::new(TwoRegions { slots: slots.to_vec(), seed, buffer, replay }))
    }

    fn excludes_device_cache(&self) -> Option<&'static str> {
        Some("a buffer of two regions needs every sample to come by; use one of the two")
    }
}

/// The buffer, for all epochs.
struct TwoRegions {
    slots: Vec<(u64, u64)>,
    seed: u64,
    buffer: Arc<Buffer>,
    /// The last epoch that was begun; the next one follows from it.
    replay: Mutex<Option<Arc<Replay>>>,
}

impl TwoRegions {
    fn replay(&self, epoch: u64) -> Arc<Replay> {
        let mut last = self.replay.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|known| known.epoch() <= epoch);
        let mut replay = known.unwrap_or_else(|| Arc::new(Replay::first(&self.slots, self.seed)));
        while replay.epoch() < epoch {
            replay = Arc::new(replay.after());
        }
        *last = Some(replay.clone());
        replay
    }
}

impl Cache for TwoRegions {
    fn samples(&self, order: Order, consumed: u64) -> Box<dyn Samples> {
        let replay = self.replay(order.epoch());
        // Within an epoch the earlier contents are unknown, so that they are read again.
        self.buffer.retain(|place| consumed == 0 && replay.begins_with(place));
        let buffer = self.buffer.clone();
        Box::new(Epoch { order, replay, buffer, next_refill: AtomicU64::new(consumed) })
    }
}

struct Epoch {
    /// Determines the draw and its stratum at a position.
    order: Order,
    replay: Arc<Replay>,
    buffer: Arc<Buffer>,
    /// The position of the next refill.
    next_refill: AtomicU64,
}

impl Epoch {
    /// Returns the effect of the draw at a position.
    fn draw(&self, position: u64) -> Option<Draw> {
        let (stratum, index) = self.order.draw(position)?;
        self.replay.draw(stratum, index)
    }

    /// Reads the sample for the next free slot. Its draw may be another rank's, so that samples are
    /// read ahead only on a single rank.
    fn refill(&self, request: &Request<'_>) {
        if !self.buffer.reads_ahead() || request.stopped.load(Ordering::Relaxed) {
            return;
        }
        let position = self.next_refill.fetch_add(1, Ordering::Relaxed);
        let refill = self.draw(position).and_then(|draw| draw.refill);
        if let (Some(id), Some(place)) = (refill, self.at(position)) {
            let place = Place { id, ..place };
            self.buffer.refill(place, || (request.read)(place));
        }
    }
}

impl Samples for Epoch {
    fn at(&self, position: u64) -> Option<Place> {
        let (stratum, index) = self.order.draw(position)?;
        Some(Place { stratum, id: self.replay.id(stratum, index)? })
    }

    fn fetch(&self, request: Request<'_>) -> Result<Fetched> {
        let draw = request.drawn_at.and_then(|position| self.draw(position));
        let read = || (request.read)(request.place);
        let fetched = self.buffer.fetch(request.place, draw, request.counters, read);
        if draw.is_some() {
            self.refill(&request);
        }
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Sampling;

    #[test]
    fn positions_are_the_draws_of_the_replay() {
        let order = Order::new(vec![Stratum::whole(9)], &Sampling::Shuffle, 7, 1).unwrap();
        let slots = [(9, 3)];
        let slotted = Slotted {
            slots: &slots,
            seed: 7,
            n_ranks: 1,
            fingerprint: 0,
            folder: None,
            owners: None,
            owned_fit: false,
        };
        let samples = Liquid.cache(&slotted).unwrap().samples(order, 0);
        let ids: Vec<u64> = (0..9).map(|at| samples.at(at).unwrap().id).collect();
        assert_eq!((ids.as_slice(), samples.at(9)), (&replay::tests::PINNED[..], None));
    }
}
