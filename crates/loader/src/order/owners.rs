//! The samples that the caches of all ranks keep together, and the cache of each.
use super::{
    Permutation, Place,
    key::{Purpose, derive},
};
use fdconvert_core::{Error, Result};

/// Owners of the samples: computed from seed, sample and the number of caches, so that every rank
/// knows them without a list or a message.
///
/// The resident samples of all strata are numbered in the order in which they become resident, and
/// are dealt to the caches in turn: each cache owns as many as any other, up or down by one.
///
/// ```
/// use fdconvert_loader::parts::{Owners, Place};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let mut owners = Owners::new(7, 4)?;
/// // Of a stratum of 100 samples as many as four caches of 20 samples keep.
/// let mut left = [20; 4];
/// owners.add_stratum(100, |cache, _id| {
///     let left = &mut left[cache as usize];
///     *left -= 1;
///     Ok(*left >= 0)
/// })?;
/// assert_eq!(owners.residents(), [80]);
/// let owned = (0..100).filter_map(|id| owners.of(Place { stratum: 0, id }));
/// assert_eq!(owned.filter(|slot| slot.cache == 3).count(), 20);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    seed: u64,
    n_caches: u32,
    strata: Vec<Residents>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Residents {
    /// The order in which its samples become resident.
    residence: Permutation,
    /// The first `n` of that order are resident.
    n: u64,
    /// Number of residents of the strata before it.
    before: u64,
}

/// Place of a resident sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Cache that owns it.
    pub cache: u32,
    /// Its number among the samples of that cache.
    pub index: u64,
}

impl Owners {
    /// Creates owners without any strata.
    ///
    /// # Errors
    /// If there is no cache.
    pub fn new(seed: u64, n_caches: u32) -> Result<Self> {
        if n_caches == 0 {
            return Err(Error::usage("world", "there is no cache to own samples"));
        }
        Ok(Self { seed, n_caches, strata: Vec::new() })
    }

    /// Adds the next stratum, of `len` samples. They become resident in a random order that is the
    /// same for the whole run, until `keeps` returns that the cache (the first argument) has no
    /// room for the sample with that id.
    ///
    /// # Errors
    /// The errors of `keeps`.
    pub fn add_stratum(
        &mut self,
        len: u64,
        mut keeps: impl FnMut(u32, u64) -> Result<bool>,
    ) -> Result<()> {
        let stratum = self.strata.len() as u64;
        let residence = Permutation::new(len, derive(self.seed, Purpose::Resident, [stratum, 0]));
        let before = self.n_residents();
        let mut n = 0;
        while n < len && keeps(self.slot(before + n).cache, residence.at(n))? {
            n += 1;
        }
        self.strata.push(Residents { residence, n, before });
        Ok(())
    }

    /// Returns the number of caches.
    #[must_use]
    pub fn n_caches(&self) -> u32 {
        self.n_caches
    }

    /// Returns the number of kept samples of each stratum, in all caches together.
    #[must_use]
    pub fn residents(&self) -> Vec<u64> {
        self.strata.iter().map(|stratum| stratum.n).collect()
    }

    /// Returns the number of samples that a cache owns.
    #[must_use]
    pub fn n_slots(&self, cache: u32) -> u64 {
        self.n_residents().saturating_sub(cache.into()).div_ceil(self.n_caches.into())
    }

    /// Returns the slot of a sample; `None` if no cache keeps it.
    #[inline]
    #[must_use]
    pub fn of(&self, Place { stratum, id }: Place) -> Option<Slot> {
        let Residents { residence, n, before } = self.strata.get(stratum as usize)?;
        let number = residence.position_of(id);
        (number < *n).then(|| self.slot(before + number))
    }

    fn n_residents(&self) -> u64 {
        self.strata.last().map_or(0, |stratum| stratum.before + stratum.n)
    }

    /// Returns the slot of the resident with that number among those of all strata.
    fn slot(&self, number: u64) -> Slot {
        let n_caches = u64::from(self.n_caches).max(1);
        // A remainder is below the number of caches.
        Slot { cache: (number % n_caches) as u32, index: number / n_caches }
    }
}

#[cfg(test)]
mod tests {
    use super::{Owners, Place, Slot};
    use std::collections::BTreeSet;

    #[test]
    fn every_resident_has_a_slot_of_its_own() {
        for (lens, n_caches) in [(vec![100], 1), (vec![7, 1, 30], 4), (vec![3, 0, 5], 9)] {
            for limit in [0, 1, 5, 100] {
                let mut owners = Owners::new(3, n_caches).unwrap();
                for len in &lens {
                    let mut n_asked = 0;
                    let keeps = |_, _| {
                        n_asked += 1;
                        Ok(n_asked <= limit)
                    };
                    owners.add_stratum(*len, keeps).unwrap();
                }
                let due: Vec<u64> = lens.iter().map(|len| *len.min(&limit)).collect();
                assert_eq!(owners.residents(), due);
                let places = (0..).zip(&lens).flat_map(|(stratum, len)| {
                    // An id without a sample has no owner.
                    (0..len + 1).map(move |id| Place { stratum, id })
                });
                let slots: Vec<Slot> = places.filter_map(|place| owners.of(place)).collect();
                let slots_of = |cache| slots.iter().filter(|slot| slot.cache == cache).count();
                for cache in 0..n_caches {
                    assert_eq!(slots_of(cache) as u64, owners.n_slots(cache));
                }
                let dense = |slot: &Slot| slot.index < owners.n_slots(slot.cache);
                assert!(slots.iter().all(dense));
                let different: BTreeSet<_> = slots.iter().map(|it| (it.cache, it.index)).collect();
                assert_eq!(different.len(), slots.len());
                assert_eq!(slots.len() as u64, due.iter().sum::<u64>());
            }
        }
        assert!(Owners::new(3, 0).is_err());
    }

    #[test]
    fn the_owner_of_a_sample_never_changes() {
        let mut owners = Owners::new(7, 3).unwrap();
        owners.add_stratum(10, |_, _| Ok(true)).unwrap();
        let cache = |id| owners.of(Place { stratum: 0, id }).map(|slot| slot.cache);
        assert_eq!((0..10).filter_map(cache).collect::<Vec<_>>(), PINNED);
    }

    const PINNED: [u32; 10] = [1, 1, 2, 0, 0, 2, 0, 1, 0, 2];
}
