//! The order of a two-region buffer, the cache of Liquid (APSys 2023): a baseline for residents,
//! which need no list and shuffle better.
//!
//! A stratum of `n` samples has `S` slots in memory, in two regions: the samples still to draw in
//! this epoch (current), and the drawn samples kept for the next one (next).
//!
//! ```text
//! epoch 0: current = the first S samples of the stratum's disk order
//! disk order of an epoch: chunks of 64 samples in a random order, without those in current at the
//!     start of the epoch; the stream of refills is taken from it
//! draw t = 0..n: a uniformly random sample of current leaves it
//!     if floor(S (t + 1) / n) > floor(S t / n): it goes to next, and no slot is free
//!     else: its slot is free, and the next sample of the stream comes into current
//!     without a slot: the next sample of the stream is drawn
//! end of the epoch: current is empty, next has S samples; next becomes current
//! ```
//!
//! Liquid does this batch by batch; here it is done draw by draw, so that the order does not depend
//! on the batch, which may change when a run continues. As in Liquid, every batch keeps and loads
//! the same number of samples, up or down by one. Its weakness remains: current shrinks as next
//! grows, and the last samples of an epoch come almost in disk order.
//!
//! The draws depend on the loads, so that an order requires a full replay: 17 bytes for each sample
//! and eight for each slot, and epoch `e` requires the epochs before it as well.
use crate::order::{Permutation, Place, Purpose, derive};
use fdconvert_core::KeyedRandom;

/// Number of consecutive samples that are contiguous on the disk.
const CHUNK: u64 = 64;

/// No refill.
const NONE: u64 = u64::MAX;

/// Events of one epoch, stratum by stratum.
#[derive(Debug)]
pub(super) struct Replay {
    strata: Vec<Regions>,
    seed: u64,
    epoch: u64,
}

/// One stratum in one epoch.
#[derive(Debug)]
struct Regions {
    len: u64,
    n_slots: u64,
    /// Sample of each draw.
    ids: Vec<u64>,
    /// Sample for the slot that each draw frees, or [`NONE`].
    refills: Vec<u64>,
    /// Whether the sample of each draw was loaded in this epoch.
    loaded: Vec<bool>,
    /// Samples in memory at the start of the epoch, ascending.
    at_start: Vec<u64>,
    /// Samples in memory at its end.
    next: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Draw {
    pub(super) keep: bool,
    /// True if a refill of this epoch loaded it; else it was in memory at the start.
    pub(super) loaded: bool,
    /// Sample of the same stratum to read into the slot that is now free.
    pub(super) refill: Option<u64>,
}

impl Replay {
    /// Creates epoch 0 of strata, each given by its numbers of samples and of slots (at most as
    /// many).
    pub(super) fn first(strata: &[(u64, u64)], seed: u64) -> Self {
        let regions = |(at, &(len, n_slots)): (usize, &(u64, u64))| {
            let current = disk_order(len, seed, [0, at as u64]).take(to_usize(n_slots)).collect();
            Regions::play(len, n_slots, current, seed, [0, at as u64])
        };
        Self { strata: strata.iter().enumerate().map(regions).collect(), seed, epoch: 0 }
    }

    /// Returns the next epoch.
    pub(super) fn after(&self) -> Self {
        let epoch = self.epoch + 1;
        let regions = |(at, regions): (usize, &Regions)| {
            let Regions { len, n_slots, next, .. } = regions;
            Regions::play(*len, *n_slots, next.clone(), self.seed, [epoch, at as u64])
        };
        let strata = self.strata.iter().enumerate().map(regions).collect();
        Self { strata, seed: self.seed, epoch }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns true if a sample is in memory at the start of the epoch.
    pub(super) fn begins_with(&self, place: Place) -> bool {
        let regions = self.strata.get(place.stratum as usize);
        regions.is_some_and(|regions| regions.at_start.binary_search(&place.id).is_ok())
    }

    pub(super) fn id(&self, stratum: u32, index: u64) -> Option<u64> {
        self.strata.get(stratum as usize)?.ids.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns the effect of draw number `index` of a stratum.
    pub(super) fn draw(&self, stratum: u32, index: u64) -> Option<Draw> {
        let regions = self.strata.get(stratum as usize)?;
        let at = usize::try_from(index).ok()?;
        let refill = Some(*regions.refills.get(at)?).filter(|refill| *refill != NONE);
        let keep = keeps(regions.n_slots, regions.len, index);
        Some(Draw { keep, loaded: *regions.loaded.get(at)?, refill })
    }
}

impl Regions {
    fn play(len: u64, n_slots: u64, mut current: Vec<u64>, seed: u64, parts: [u64; 2]) -> Self {
        let mut at_start = current.clone();
        at_start.sort_unstable();
        let is_loaded = |id: &u64| at_start.binary_search(id).is_err();
        let mut stream = disk_order(len, seed, parts).filter(is_loaded);
        let key = derive(seed, Purpose::Regions, parts);
        let mut random = KeyedRandom::new(&[key]);
        let n_draws = to_usize(len);
        let mut ids = Vec::with_capacity(n_draws);
        let mut refills = Vec::with_capacity(n_draws);
        let mut next = Vec::with_capacity(to_usize(n_slots));
        for index in 0..len {
            let mut refill = NONE;
            let id = if current.is_empty() {
                stream.next().unwrap_or_default()
            } else {
                let drawn = random.below(current.len() as u64);
                current.swap_remove(to_usize(drawn))
            };
            if keeps(n_slots, len, index) {
                next.push(id);
            } else if n_slots > 0
                && let Some(id) = stream.next()
            {
                current.push(id);
                refill = id;
            }
            ids.push(id);
            refills.push(refill);
        }
        let loaded = ids.iter().map(is_loaded).collect();
        Self { len, n_slots, ids, refills, loaded, at_start, next }
    }
}

/// Returns true if the sample of a draw is kept: as many draws as there are slots, spread evenly.
fn keeps(n_slots: u64, len: u64, index: u64) -> bool {
    let before = |index: u64| {
        let product = u128::from(n_slots) * u128::from(index);
        product.checked_div(u128::from(len)).unwrap_or_default()
    };
    before(index + 1) > before(index)
}

/// Yields all samples, chunk after chunk.
fn disk_order(len: u64, seed: u64, [epoch, stratum]: [u64; 2]) -> impl Iterator<Item = u64> {
    let n_chunks = len.div_ceil(CHUNK);
    let key = derive(derive(seed, Purpose::Regions, [epoch, stratum]), Purpose::Chunks, [0, 0]);
    let chunks = Permutation::new(n_chunks, key);
    (0..n_chunks).flat_map(move |at| {
        let start = chunks.at(at) * CHUNK;
        start..start.saturating_add(CHUNK).min(len)
    })
}

/// Lists are only made of strata that fit into memory.
fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_epoch_draws_each_sample_once_and_loads_evenly() {
        for (len, n_slots) in
            [(1, 0), (1, 1), (300, 0), (300, 1), (300, 90), (300, 299), (300, 300)]
        {
            let mut replay = Replay::first(&[(len, n_slots), (7, 3)], 5);
            for epoch in 0..4 {
                assert_eq!(replay.epoch(), epoch);
                let regions = &replay.strata[0];
                let ids: BTreeSet<u64> = regions.ids.iter().copied().collect();
                assert!(ids.into_iter().eq(0..len), "{len} {n_slots}");
                assert_eq!(
                    (regions.at_start.len(), regions.next.len()),
                    (n_slots as usize, n_slots as usize)
                );
                let mut memory: BTreeSet<u64> = regions.at_start.iter().copied().collect();
                for (index, &id) in (0..).zip(&regions.ids) {
                    let draw = replay.draw(0, index).unwrap();
                    assert!(memory.contains(&id) || n_slots == 0);
                    assert_eq!(draw.loaded, !replay.begins_with(Place { stratum: 0, id }));
                    if !draw.keep {
                        memory.remove(&id);
                    }
                    memory.extend(draw.refill);
                    assert!(memory.len() as u64 <= n_slots);
                }
                for batch in [1, 7, 32] {
                    let loads = (0..len / batch).map(|step| {
                        let draws = (step * batch..(step + 1) * batch).map(|at| replay.draw(0, at));
                        draws.filter(|draw| draw.unwrap().refill.is_some()).count()
                    });
                    let loads: BTreeSet<usize> = loads.collect();
                    assert!(loads.last().unwrap_or(&0) - loads.first().unwrap_or(&0) <= 1);
                }
                replay = replay.after();
            }
        }
    }

    #[test]
    fn the_replay_of_a_seed_never_changes() {
        let replay = Replay::first(&[(9, 3)], 7).after();
        assert_eq!(replay.strata[0].ids, PINNED);
        assert_eq!(replay.strata[0].at_start, PINNED_START);
    }

    pub(in super::super) const PINNED: [u64; 9] = [8, 0, 4, 6, 1, 2, 3, 5, 7];
    const PINNED_START: [u64; 3] = [4, 6, 8];
}
