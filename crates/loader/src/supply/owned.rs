//! How many samples fit into the caches of all ranks together, where each has one owner.

use super::Candidates;
use crate::order::Owners;
use fdconvert_core::Result;
use std::sync::Arc;

/// Owners in the making, stratum by stratum.
pub(crate) struct Owned {
    owners: Owners,
    left: Vec<u64>,
    n_bytes: u64,
}

impl Owned {
    /// Caches that own nothing yet.
    ///
    /// # Errors
    /// `Usage` when there is none.
    pub(crate) fn new(seed: u64, n_caches: u32) -> Result<Self> {
        Ok(Self {
            owners: Owners::new(seed, n_caches)?,
            left: vec![0; n_caches as usize],
            n_bytes: 0,
        })
    }

    /// Chooses as many samples of the next group as fit, and returns how many. Each cache has the
    /// share of its budget that the group is of all, and what the groups before it have left: of a
    /// group smaller than the number of caches, no share would hold a sample.
    ///
    /// # Errors
    /// Those of asking for the sizes of images.
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

    /// The owners of the samples of all groups, and the bytes of what they own.
    pub(crate) fn done(self) -> (Arc<Owners>, u64) {
        (Arc::new(self.owners), self.n_bytes)
    }
}
