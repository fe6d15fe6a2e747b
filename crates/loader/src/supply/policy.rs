//! The interface between the loader and a method of keeping samples in memory.

use super::Cache;
use crate::{
    order::{Owners, Permutation, Stratum},
    supply::resident,
};
use fdconvert_core::Result;
use std::{fmt, path::Path, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// Choice of the images kept in memory.
///
/// Use [`RESIDENT`](Self::RESIDENT); the others in [`research`](crate::research) are baselines.
#[derive(Clone, Copy)]
pub struct CachePolicy(&'static dyn Method);

impl CachePolicy {
    /// Keeps the images of a choice that the seed makes once, from their first use on, spread
    /// evenly over every epoch: each batch has the same number of them, the shuffle is that of the
    /// whole dataset, and a state is enough for a run to resume. With several ranks, each keeps the
    /// samples that come to it, up to `cache_bytes` on each; with
    /// [`Options::locality`](crate::Options::locality) the ones it owns.
    pub const RESIDENT: Self = Self::of(&resident::Method);

    pub(crate) const fn of(method: &'static dyn Method) -> Self {
        Self(method)
    }

    /// Returns its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub(crate) fn method(self) -> &'static dyn Method {
        self.0
    }
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self::RESIDENT
    }
}

impl PartialEq for CachePolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for CachePolicy {}

impl fmt::Debug for CachePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A method of choosing samples and keeping them.
pub(crate) trait Method: Sync {
    fn name(&self) -> &'static str;

    /// Refuses groups with samples that it cannot keep.
    ///
    /// # Errors
    /// `Usage`, with the name of the option.
    fn check(&self, _groups: &[Stratum]) -> Result<()> {
        Ok(())
    }

    /// Chooses the kept samples of a group, and their number.
    ///
    /// # Errors
    /// The errors of reading the sizes of images.
    fn choose(&self, candidates: &Candidates<'_>) -> Result<Choice>;

    /// Returns a fingerprint of everything outside the order that decides the order of the samples.
    /// `slots` are, for each group, the numbers of samples and of kept samples.
    fn fingerprint(&self, datasets: u64, _slots: &[(u64, u64)]) -> u64 {
        datasets
    }

    /// Creates a cache with these slots: an empty one, or one in a folder.
    ///
    /// # Errors
    /// `Usage` for a folder that the method does not use; `Io`.
    fn cache(&self, slots: &Slotted<'_>) -> Result<Box<dyn Cache>>;

    /// Returns the reason if images cannot also be kept in GPU memory.
    fn excludes_device_cache(&self) -> Option<&'static str> {
        None
    }
}

pub(crate) struct Candidates<'a> {
    pub(crate) group: u64,
    pub(crate) len: u64,
    pub(crate) n_bytes: u64,
    /// The budget of all groups, and the bytes of all their images.
    pub(crate) budget: u64,
    pub(crate) all_bytes: u128,
    pub(crate) seed: u64,
    pub(crate) size: &'a dyn Fn(u64) -> Result<u64>,
}

impl Candidates<'_> {
    /// Returns the share of `n` that the budget is of all groups, and at most `n`.
    pub(crate) fn share_of(&self, n: u64) -> u64 {
        let product = u128::from(self.budget) * u128::from(n);
        u64::try_from(product.checked_div(self.all_bytes).unwrap_or(u128::from(n)))
            .map_or(n, |it| it.min(n))
    }
}

pub(crate) struct Slotted<'a> {
    pub(crate) slots: &'a [(u64, u64)],
    pub(crate) seed: u64,
    /// With several ranks, another rank may draw a sample that this one has read ahead.
    pub(crate) n_ranks: u32,
    /// Fingerprint of the datasets and of the draws from them.
    pub(crate) fingerprint: u64,
    /// Folder of the cache, if it is not in memory.
    pub(crate) folder: Option<&'a Path>,
    /// Owner of each sample, and the number of this cache, if samples have owners.
    pub(crate) owners: Option<(&'a Arc<Owners>, u32)>,
    /// True if this cache could hold the samples of all caches.
    pub(crate) owned_fit: bool,
}

impl Slotted<'_> {
    /// Returns a value that differs between choices of kept samples.
    pub(crate) fn identity(&self) -> u64 {
        let Self { slots, seed, fingerprint, owners, .. } = self;
        let mut identity = Xxh3::new();
        let slots = slots.iter().map(|(_, n_slots)| *n_slots);
        // Samples with owners have other ids.
        let caches = owners.map(|(owners, _)| u64::from(owners.n_caches()));
        let parts = [*fingerprint, *seed].into_iter().chain(slots).chain(caches);
        parts.for_each(|part| identity.update(&part.to_le_bytes()));
        identity.digest()
    }
}

pub(crate) struct Choice {
    pub(crate) n_slots: u64,
    /// The order in which samples are chosen, for the whole run: those with slots come first and
    /// are spread evenly over every epoch. `None` if the samples change.
    pub(crate) residence: Option<Permutation>,
}
