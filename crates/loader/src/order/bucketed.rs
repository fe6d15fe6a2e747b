//! Steps of one bucket each: samples that become batches of one size.
//!
//! The order without buckets is walked once. Each sample joins the run of its bucket that is being
//! filled, and a run is complete with as many samples as a global batch has. Complete runs follow one
//! another as they are completed, and the incomplete ones, in the order of the buckets, are last:
//!
//! ```text
//! order      a1 b1 a2 a3 b2 c1 a4 b3        batch 2
//! in buckets a1 a2 | b1 b2 | a3 a4 | b3 | c1
//! ```
//!
//! So steps have one bucket on all ranks, and a state counts samples as in any order. The length of
//! the runs is part of the state: an epoch that continues with another batch keeps its runs, and
//! steps take at most a run, so that nothing is lost or repeated.
use super::key::{Purpose, derive};
use super::{Place, epoch::Order, kept::Kept};
use fdconvert_core::{Error, Result};
use std::{ops::Range, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// The number of each sample's bucket, by the numbers of the samples among those of all strata.
#[derive(Debug)]
pub struct BucketNumbers {
    of: Vec<u16>,
    n_buckets: u16,
    fingerprint: u64,
    made: Kept<Bucketed, (u64, u64, u64)>,
}

/// The order of an epoch in buckets.
#[derive(Debug)]
pub(crate) struct Bucketed {
    /// For each position, that in the order without buckets.
    line: Vec<u32>,
    pub(crate) runs: Runs,
}

/// The runs of an epoch: neighbouring positions of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Length of a complete run.
    len: u64,
    /// The buckets of the complete runs, which come first.
    complete: Vec<u16>,
    /// First position and bucket of the others.
    others: Vec<(u64, u16)>,
    n_samples: u64,
}

impl BucketNumbers {
    /// Takes the numbers of all samples' buckets, each below `n_buckets`.
    ///
    /// # Errors
    /// `Usage` for a number that is too large, for no bucket, and for 2^32 samples or more.
    pub fn new(of: Vec<u16>, n_buckets: u16) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("sizes", what));
        if let Some(wrong) = of.iter().find(|bucket| **bucket >= n_buckets) {
            return refuse(format!("bucket {wrong} is not one of {n_buckets}"));
        }
        if n_buckets == 0 || u32::try_from(of.len()).is_err() {
            return refuse(format!("{} samples cannot be in {n_buckets} buckets", of.len()));
        }
        let mut hash = Xxh3::new();
        of.iter().for_each(|bucket| hash.update(&bucket.to_le_bytes()));
        Ok(Self { of, n_buckets, fingerprint: hash.digest(), made: Kept::default() })
    }

    /// Returns the number of samples.
    pub(crate) fn n_samples(&self) -> u64 {
        self.of.len() as u64
    }

    /// Returns a hash of the buckets, for an order with this one.
    pub(crate) fn fingerprint(&self, order: u64) -> u64 {
        derive(order, Purpose::Fingerprint, [self.n_buckets.into(), self.fingerprint])
    }

    /// Returns the order in runs of `len` samples. `starts` are the numbers of the first samples of
    /// the strata.
    ///
    /// # Errors
    /// `Usage` for 2^32 draws or more.
    pub(crate) fn order(&self, order: &Order, starts: &[u64], len: u64) -> Result<Arc<Bucketed>> {
        let key = (order.epoch(), len, order.fingerprint(order.seed()));
        self.made.of(key, || self.make(order, starts, len.max(1)))
    }

    fn make(&self, order: &Order, starts: &[u64], len: u64) -> Result<Bucketed> {
        let Ok(n_samples) = u32::try_from(order.len()) else {
            let what = format!("{} draws of an epoch are too many for buckets", order.len());
            return Err(Error::usage("sizes", what));
        };
        let mut line = Vec::with_capacity(n_samples as usize);
        let mut filling: Vec<Vec<u32>> = vec![Vec::new(); self.n_buckets.into()];
        let mut complete = Vec::new();
        for (place, position) in order.iter_from(0).zip(0..) {
            let bucket = self.at(place, starts);
            let Some(run) = filling.get_mut(usize::from(bucket)) else { continue };
            run.push(position);
            if run.len() as u64 == len {
                line.append(run);
                complete.push(bucket);
            }
        }
        let mut others = Vec::new();
        for (run, bucket) in filling.iter_mut().zip(0..).filter(|(run, _)| !run.is_empty()) {
            others.push((line.len() as u64, bucket));
            line.append(run);
        }
        let n_samples = line.len() as u64;
        Ok(Bucketed { line, runs: Runs { len, complete, others, n_samples } })
    }

    fn at(&self, Place { stratum, id }: Place, starts: &[u64]) -> u16 {
        let number = starts.get(stratum as usize).map_or(id, |start| start.saturating_add(id));
        self.of.get(number as usize).copied().unwrap_or_default()
    }
}

impl Bucketed {
    /// Returns the position in the order without buckets.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> Option<u64> {
        self.line.get(usize::try_from(position).ok()?).copied().map(u64::from)
    }
}

impl Runs {
    /// The run of all positions, for orders without buckets.
    pub(crate) fn whole(n_samples: u64) -> Self {
        let others = if n_samples > 0 { vec![(0, 0)] } else { Vec::new() };
        Self { len: n_samples.max(1), complete: Vec::new(), others, n_samples }
    }

    /// Returns the length of complete runs.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the bucket of a position.
    pub(crate) fn bucket(&self, position: u64) -> u16 {
        match self.complete.get((position / self.len) as usize) {
            Some(bucket) => *bucket,
            None => self.other(position).and_then(|at| self.others.get(at)).map_or(0, |it| it.1),
        }
    }

    /// Returns the positions of the run of a position.
    pub(crate) fn around(&self, position: u64) -> Range<u64> {
        let start = position - position % self.len;
        if start < self.end_of_complete() {
            return start..start + self.len;
        }
        let bounds = |at: usize| {
            let (start, _) = self.others.get(at)?;
            let end = self.others.get(at + 1).map_or(self.n_samples, |(next, _)| *next);
            Some(*start..end)
        };
        let found = self.other(position).and_then(bounds);
        found.unwrap_or(self.n_samples..self.n_samples)
    }

    /// Returns the end of the steps that no incomplete run has.
    pub(crate) fn end_of_complete(&self) -> u64 {
        self.complete.len() as u64 * self.len
    }

    /// Returns the number of steps of `batch` samples that begin before a position.
    // Positions up to 2^63, and batches from 1 on: nothing overflows.
    pub(crate) fn steps_before(&self, position: u64, batch: u64) -> u64 {
        let complete = position.min(self.end_of_complete());
        let in_complete =
            complete / self.len * self.len.div_ceil(batch) + (complete % self.len).div_ceil(batch);
        let mut n_steps = in_complete;
        for (start, _) in self.others.iter().take_while(|(start, _)| *start < position) {
            let end = self.around(*start).end.min(position);
            n_steps += (end - start).div_ceil(batch);
        }
        n_steps
    }

    /// Returns the first position of a step of `batch` samples; the end if there are fewer steps.
    pub(crate) fn start_of(&self, step: u64, batch: u64) -> u64 {
        let of_run = self.len.div_ceil(batch);
        let n_complete = self.complete.len() as u64;
        let run = step / of_run;
        if run < n_complete {
            return run * self.len + step % of_run * batch;
        }
        let mut left = step - n_complete * of_run;
        for (start, _) in &self.others {
            let n_steps = (self.around(*start).end - start).div_ceil(batch);
            if left < n_steps {
                return start + left * batch;
            }
            left -= n_steps;
        }
        self.n_samples
    }

    /// Returns the number of the incomplete run of a position.
    fn other(&self, position: u64) -> Option<usize> {
        self.others.partition_point(|(start, _)| *start <= position).checked_sub(1)
    }
}

#[cfg(test)]
mod tests;
