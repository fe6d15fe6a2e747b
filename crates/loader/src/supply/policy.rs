//! Which samples are kept in memory: the seam between the loader and a method of keeping them.

use super::Cache;
use crate::{
    order::{Owners, Permutation, Stratum},
    supply::resident,
};
use fdconvert_core::Result;
use std::{fmt, path::Path, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// Which images are kept in memory.
///
/// [`RESIDENT`](Self::RESIDENT) is what to use; others are kept in
/// [`research`](crate::research) to be compared with it.
#[derive(Clone, Copy)]
pub struct CachePolicy(&'static dyn Method);

impl CachePolicy {
    /// Those of a choice that the seed makes once, from their first use on, spread evenly over
    /// every epoch: each batch has the same number of them, the shuffle is that of the whole
    /// dataset, and a state is all that a run needs to resume. With several ranks, each keeps what
    /// comes to it, up to `cache_bytes` on each; with [`Options::locality`](crate::Options::locality)
    /// what it owns.
    pub const RESIDENT: Self = Self::of(&resident::Method);

    pub(crate) const fn of(method: &'static dyn Method) -> Self {
        Self(method)
    }

    /// Its name in options and reports.
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

/// A way to choose what is kept, and to keep it.
pub(crate) trait Method: Sync {
    fn name(&self) -> &'static str;

    /// Refuses groups of which it cannot keep samples.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    fn check(&self, _groups: &[Stratum]) -> Result<()> {
        Ok(())
    }

    /// Chooses how many samples of a group are kept, and which.
    ///
    /// # Errors
    /// Those of asking for the sizes of images.
    fn choose(&self, candidates: &Candidates<'_>) -> Result<Choice>;

    /// Changes with all that decides the order of the samples and is not in the order itself.
    /// `slots` are the samples of each group, and how many of them are kept.
    fn fingerprint(&self, datasets: u64, _slots: &[(u64, u64)]) -> u64 {
        datasets
    }

    /// A cache with these slots, which is empty, or in a folder.
    ///
    /// # Errors
    /// `Usage` where a folder is named and not used; `Io`.
    fn cache(&self, slots: &Slotted<'_>) -> Result<Box<dyn Cache>>;

    /// Why images cannot be kept in the memory of a GPU besides, if they cannot.
    fn excludes_device_cache(&self) -> Option<&'static str> {
        None
    }
}

/// A group of samples to choose from.
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
    /// The share of `n` that the budget is of all groups, and at most all of it.
    pub(crate) fn share_of(&self, n: u64) -> u64 {
        let product = u128::from(self.budget) * u128::from(n);
        u64::try_from(product.checked_div(self.all_bytes).unwrap_or(u128::from(n)))
            .map_or(n, |it| it.min(n))
    }
}

/// Parameters of a cache.
pub(crate) struct Slotted<'a> {
    pub(crate) slots: &'a [(u64, u64)],
    pub(crate) seed: u64,
    /// With several ranks a sample that is read ahead of its draw may be drawn by another one.
    pub(crate) n_ranks: u32,
    /// Tells the datasets, and what is drawn of them, from others.
    pub(crate) fingerprint: u64,
    /// Folder of the cache, if it is not in memory.
    pub(crate) folder: Option<&'a Path>,
    /// Which cache keeps which sample, and the number of this one, where each sample has an owner.
    pub(crate) owners: Option<(&'a Arc<Owners>, u32)>,
    /// True if what all caches own would fit into this one.
    pub(crate) owned_fit: bool,
}

impl Slotted<'_> {
    /// Tells a choice of samples that are kept from others.
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

/// Choice of the samples of a group that are kept.
pub(crate) struct Choice {
    pub(crate) n_slots: u64,
    /// The order in which samples are chosen, for the whole run: those with slots come first and
    /// are spread evenly over every epoch. `None` where it is not always the same samples.
    pub(crate) residence: Option<Permutation>,
}
