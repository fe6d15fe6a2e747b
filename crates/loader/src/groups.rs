//! The strata of the order: the samples of the datasets, group by group, and the choice of those
//! kept in memory.

use crate::{
    dataset::{Datasets, Located},
    order::{
        BucketNumbers, Classes, Order, Owners, Permutation, Place, Sampler, Sampling, State,
        Stratum,
    },
    supply::{CachePolicy, Candidates, Choice, Method, Owned},
};
use fdconvert_core::{Error, Result};
use fdconvert_storage::on_threads;
use std::{num::NonZero, sync::Arc, thread};

/// Samples that one thread looks at, one after another.
const BLOCK: u64 = 1024;

/// Options for keeping samples.
pub(crate) struct KeepOptions {
    /// Bytes to keep on this rank; 0 for none.
    pub(crate) bytes: u64,
    pub(crate) policy: CachePolicy,
    /// Number of caches that own samples, if they do.
    pub(crate) n_owners: Option<u32>,
}

pub(crate) struct Groups {
    sampler: Sampler,
    groups: Vec<Group>,
    /// Method of keeping samples in memory, if they are kept.
    method: Option<&'static dyn Method>,
    /// The owner of each sample, if rows are assigned by owner, and the bytes of all owned samples.
    owned: Option<(Arc<Owners>, u64)>,
    /// The number of each sample's bucket, if batches are of several sizes.
    buckets: Option<Arc<BucketNumbers>>,
}

struct Group {
    dataset: u32,
    /// Number of the group in its dataset; `None` for the whole dataset.
    within: Option<usize>,
    draws: Stratum,
    /// Number of kept samples: by this rank, or by all ranks if each sample has an owner.
    n_slots: u64,
    /// The order in which samples become resident, for the whole run, if it is part of the order of
    /// the epochs.
    residence: Option<Permutation>,
}

impl Groups {
    /// Splits datasets into strata. `classes` returns the classes of their samples by a field. With
    /// a cache it reads the size of every image once, which takes some hundred nanoseconds each.
    ///
    /// # Errors
    /// `Usage`, with the name of the dataset that does not fit the options, and the errors of
    /// `classes`.
    pub(crate) fn new(
        datasets: &Datasets,
        sampling: &Sampling,
        classes: impl FnOnce(&str) -> Result<Classes>,
        seed: u64,
        keep: &KeepOptions,
    ) -> Result<Self> {
        let mut groups = Vec::new();
        for (dataset, (len, count)) in (0..).zip(datasets.counts()) {
            let strata = datasets.strata(dataset);
            if strata.iter().try_fold(0, |sum: u64, len| sum.checked_add(*len)) != Some(len) {
                let what = format!("the groups of {} are not its samples", datasets.name(dataset));
                return Err(Error::usage("dataset", what));
            }
            let is_whole = strata.len() <= 1 || !sampling.spreads_groups();
            let strata = if is_whole { vec![len] } else { strata };
            for (number, draws) in shares(&strata, len, count).into_iter().enumerate() {
                let within = (!is_whole).then_some(number);
                groups.push(Group { dataset, within, draws, n_slots: 0, residence: None });
            }
        }
        let strata: Vec<Stratum> = groups.iter().map(|group| group.draws).collect();
        let sampler = Sampler::new(strata.clone(), sampling, classes, seed)?;
        let mut groups = Self { sampler, groups, method: None, owned: None, buckets: None };
        if keep.bytes > 0 {
            refuse_changing(datasets)?;
            let method = keep.policy.method();
            method.check(&strata)?;
            groups.choose(method, datasets, keep)?;
            groups.method = Some(method);
        }
        if groups.groups.iter().any(|group| group.residence.is_some()) {
            let n_residents: Vec<u64> = groups.slots().map(|(_, n_slots)| n_slots).collect();
            groups.sampler = groups.sampler.with_residents(&n_residents)?;
        }
        Ok(groups)
    }

    /// Chooses the number of kept samples of each stratum: the budget's share of all bytes, equal
    /// for every stratum.
    fn choose(
        &mut self,
        method: &dyn Method,
        datasets: &Datasets,
        keep: &KeepOptions,
    ) -> Result<()> {
        let mut totals = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let mut total = 0_u64;
            for position in 0..group.draws.len {
                let located = group.at(datasets, position);
                total = total.saturating_add(datasets.image_len(located)?);
            }
            totals.push(total);
        }
        let seed = self.sampler.seed();
        let mut owned = keep.n_owners.map(|n| Owned::new(seed, n)).transpose()?;
        let all_bytes: u128 = totals.iter().map(|total| u128::from(*total)).sum();
        for ((group, n_bytes), number) in self.groups.iter_mut().zip(totals).zip(0..) {
            let size = |position| datasets.image_len(group.at(datasets, position));
            let candidates = Candidates {
                group: number,
                len: group.draws.len,
                n_bytes,
                budget: keep.bytes,
                all_bytes,
                seed,
                size: &size,
            };
            (group.n_slots, group.residence) = match &mut owned {
                None => {
                    let Choice { n_slots, residence } = method.choose(&candidates)?;
                    (n_slots, residence)
                }
                Some(owned) => (owned.choose(&candidates)?, None),
            };
        }
        self.owned = owned.map(Owned::done);
        // With owners, other ranks may keep images.
        if self.owned.is_none() && all_bytes > 0 && self.slots().all(|(_, n_slots)| n_slots == 0) {
            let what = format!(
                "{} bytes keep no image of those that have {all_bytes} together: take more, or 0 for \
                 no cache",
                keep.bytes
            );
            return Err(Error::usage("cache_bytes", what));
        }
        Ok(())
    }

    /// Puts the samples into buckets: `bucket` has that of each, and is asked by all processors.
    ///
    /// # Errors
    /// `Usage` for too many samples.
    pub(crate) fn with_buckets(
        self,
        datasets: &Datasets,
        n_buckets: u16,
        bucket: impl Fn(Located) -> u16 + Sync,
    ) -> Result<Self> {
        let blocks = |group: &'_ Group| (0..group.draws.len).step_by(BLOCK as usize);
        let blocks: Vec<_> =
            self.groups.iter().flat_map(|group| blocks(group).map(move |it| (group, it))).collect();
        let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
        let of = on_threads(n_threads, &blocks, |&(group, first)| {
            let end = first.saturating_add(BLOCK).min(group.draws.len);
            (first..end).map(|id| bucket(group.at(datasets, id))).collect::<Vec<_>>()
        });
        let of = of.concat();
        Ok(Self { buckets: Some(Arc::new(BucketNumbers::new(of, n_buckets)?)), ..self })
    }

    /// Returns the order of an epoch, with buckets in runs of that many samples.
    ///
    /// # Errors
    /// Those of a function that makes the list of the epoch.
    pub(crate) fn order(&self, epoch: u64, run: u32) -> Result<Order> {
        let order = self.sampler.order(epoch)?;
        match &self.buckets {
            None => Ok(order),
            Some(buckets) => order.in_buckets(buckets.clone(), run.into()),
        }
    }

    /// Returns true if the number of samples of an epoch is only known once its list is made.
    pub(crate) fn is_by_epoch(&self) -> bool {
        self.sampler.is_by_epoch()
    }

    /// Returns the state before the first step of an epoch.
    pub(crate) fn start(&self, dataset: u64, epoch: u64, global_batch: u32) -> State {
        self.sampler.start(self.buckets.as_deref(), dataset, epoch, global_batch)
    }

    /// Returns the owner of each sample, if rows are assigned by owner.
    pub(crate) fn owners(&self) -> Option<&Arc<Owners>> {
        self.owned.as_ref().map(|(owners, _)| owners)
    }

    /// Returns the bytes of the images of all owned samples.
    pub(crate) fn owned_bytes(&self) -> u64 {
        self.owned.as_ref().map_or(0, |(_, n_bytes)| *n_bytes)
    }

    /// Yields the numbers of samples and of kept samples of each stratum.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u64, u64)> {
        self.groups.iter().map(|group| (group.draws.len, group.n_slots))
    }

    /// Returns the method of keeping samples, if they are kept.
    pub(crate) fn method(&self) -> Option<&'static dyn Method> {
        self.method
    }

    /// Returns a fingerprint of everything outside the order that decides which samples are at
    /// which position.
    ///
    /// # Errors
    /// The errors of the readers.
    pub(crate) fn fingerprint(&self, datasets: &Datasets) -> Result<u64> {
        let datasets = datasets.fingerprint()?;
        let slots: Vec<_> = self.slots().collect();
        Ok(self.method.map_or(datasets, |method| method.fingerprint(datasets, &slots)))
    }

    /// Returns the sample at a place of the order.
    pub(crate) fn locate(&self, datasets: &Datasets, place: Place) -> Located {
        match self.groups.get(place.stratum as usize) {
            Some(group) => group.at(datasets, place.id),
            // An order has no other strata; the dataset will report the error.
            None => Located { dataset: u32::MAX, index: place.id },
        }
    }
}

impl Group {
    fn at(&self, datasets: &Datasets, id: u64) -> Located {
        let position = self.residence.map_or(id, |residence| residence.at(id));
        let index = match self.within {
            Some(stratum) => datasets.stratum_sample(self.dataset, stratum, position),
            None => position,
        };
        Located { dataset: self.dataset, index }
    }
}

/// Refuses datasets without any images worth keeping.
fn refuse_changing(datasets: &Datasets) -> Result<()> {
    for (reader, dataset) in datasets.readers().zip(0..) {
        if reader.as_generated().map_or(Ok(None), |it| it.at_epoch(0))?.is_some() {
            let what = format!(
                "{} makes new images in every epoch, so none is worth keeping",
                datasets.name(dataset)
            );
            return Err(Error::usage("cache_bytes", what));
        }
    }
    Ok(())
}

/// Divides `count` draws of `len` samples among strata of these sizes, by largest remainders, ties
/// to the first. Strata without samples get none: fewer draws are left over than there are strata
/// with a remainder.
fn shares(strata: &[u64], len: u64, count: u64) -> Vec<Stratum> {
    let exact = |size: &u64| u128::from(*size) * u128::from(count);
    let len = u128::from(len).max(1);
    // At most the count.
    let mut counts: Vec<u64> = strata.iter().map(|size| (exact(size) / len) as u64).collect();
    let left = count.saturating_sub(counts.iter().sum());
    let mut by_remainder: Vec<usize> = (0..strata.len()).collect();
    let remainder = |at: usize| strata.get(at).map_or(0, |size| exact(size) % len);
    by_remainder.sort_by_key(|&at| std::cmp::Reverse(remainder(at)));
    for at in by_remainder.into_iter().zip(0..left).map(|(at, _)| at) {
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    strata.iter().zip(counts).map(|(&len, count)| Stratum { len, count }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Stratum, shares};

    #[test]
    fn shares_are_exact_and_near() {
        let whole = shares(&[5, 0, 7], 12, 12);
        assert_eq!(whole, [5, 0, 7].map(Stratum::whole));
        for count in [0, 1, 5, 11, 13, 100, 12_000] {
            let found = shares(&[5, 0, 6, 1], 12, count);
            assert_eq!(found.iter().map(|it| it.count).sum::<u64>(), count);
            for Stratum { len, count: found } in found {
                let exact = len as f64 / 12.0 * count as f64;
                assert!((found as f64 - exact).abs() < 1.0 && (len > 0 || found == 0));
            }
        }
        let large = shares(&[1 << 62, 1 << 62], 1 << 63, 1 << 63);
        assert_eq!(large, [Stratum::whole(1 << 62); 2]);
    }
}
