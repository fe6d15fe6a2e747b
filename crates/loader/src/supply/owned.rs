//! Counts the samples that fit into the caches of all ranks together, if each has one owner.

use super::Candidates;
use crate::order::Owners;
use fdconvert_core::Result;
use std::sync::Arc;

/// Builds the owners, stratum by stratum.
pub(crate) struct Owned {
    owners: Owners,
    left: Vec<u64>,
    n_bytes: u64,
}

impl Owned {
    /// Creates caches that own nothing yet.
    ///
    /// # Errors
    /// `Usage` without caches.
    pub(crate) fn new(seed: u64, n_caches: u32) -> Result<Self> {
        Ok(Self {
            owners: Owners::new(seed, n_caches)?,
            left: vec![0; n_caches as usize],
            n_bytes: 0,
        })
    }

    /// Chooses the samples of the next group that fit, and returns their number. Each cache uses
    /// the group's share of its budget, and the rest of earlier groups: for a group smaller than
    /// the number of caches, no share would hold a sample.
    ///
    /// # Errors
    /// The errors of reading the sizes of images.
    pub(crate) fn choose(&mut self, candidates: &Candidates<'_>) -> Result<u64> {
        let Self { owners, left, n_bytes } = self;
        let share = candidates.share_of(candidates.n_bytes);
        left.iter_mut().for_each(|left| *left = left.saturating_add(share));
        owners.add_stratum(candidates.len, |cache, id| {
            let size = (candidates.size)(id)?;
            let Some(left) = left.get_mut(cache as usize) else { return Ok(false) };
            let Some(rest) = left.checked_sub(size) else { return Ok(false) };
            *left = rest;
            *n_bytes = n_bytes.saturating_add(size);
            Ok(true)
        })?;
        Ok(owners.residents().last().copied().unwrap_or_default())
    }

    /// Returns the owners of the samples of all groups, and the bytes of all owned samples.
    pub(crate) fn done(self) -> (Arc<Owners>, u64) {
        (Arc::new(self.owners), self.n_bytes)
    }
}
