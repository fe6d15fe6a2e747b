//! Steps: the positions of an epoch that a rank takes at each step of the training.
use super::assign::assign;
use super::bucketed::Runs;
use super::epoch::Order;
use super::key::{Purpose, derive};
use super::owners::Owners;
use super::permutation::Permutation;
use fdconvert_core::{Error, Result};
use std::{ops::Range, sync::Arc};

/// One of the processes that train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// Number of this process, below `size`.
    pub rank: u32,
    /// Number of processes.
    pub size: u32,
}

impl World {
    /// The world of a process that trains alone.
    pub const ALONE: Self = Self { rank: 0, size: 1 };
}

/// Treatment of the samples at the end of an epoch that do not fill a batch.
///
/// In every case all ranks make the same number of steps, because ranks wait for each other at each
/// step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Last {
    /// They are left out of this epoch. For training.
    #[default]
    Drop,
    /// They form a short batch, split over the ranks as evenly as possible. With fewer samples than
    /// ranks, some ranks get no rows; their step comes nevertheless, empty.
    Short,
    /// As `Short`, but every rank's rows are filled up with the samples at positions 0, 1, ... of
    /// the same epoch, marked as not valid. For evaluation: shapes never change, and each sample
    /// counts once.
    Pad,
}

/// Distribution of the samples of an epoch over steps and ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// Samples per step, over all ranks.
    pub global_batch: u32,
    /// This rank.
    pub world: World,
    /// Treatment of the samples that do not fill a batch.
    pub last: Last,
    /// Whether the ranks may have unequal shares: the first ones get one row more. Off by default,
    /// because the mean over ranks of the mean over rows is then not the mean.
    pub uneven: bool,
}

/// Row of a rank's batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// Position in the order of the epoch.
    pub position: u64,
    /// True if the row counts, rather than fills up the last batch.
    pub valid: bool,
}

/// Steps of one epoch on one rank.
///
/// ```
/// use fdconvert_loader::{Last, Sampling, World, parts::{Batching, Order, Steps, Stratum}};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let order = Order::new(vec![Stratum::whole(1000)], &Sampling::Shuffle, 7, 0)?;
/// let world = World { rank: 1, size: 4 };
/// let batching = Batching { global_batch: 256, world, last: Last::Drop, uneven: false };
/// let steps = Steps::new(&order, batching)?;
/// assert_eq!(steps.len(), 3);
/// assert_eq!(steps.rows(0).len(), 64);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Steps {
    pub(crate) batching: Batching,
    pub(crate) n_samples: u64,
    /// Runs of positions that no step crosses: one, or those of buckets.
    runs: Runs,
    has_buckets: bool,
    pub(crate) seed: u64,
    pub(crate) epoch: u64,
    /// Hash of everything that a state must match, except the dataset.
    pub(crate) fingerprint: u64,
    /// The same for a state at the start of the epoch.
    pub(crate) opening: u64,
    /// True if rows are shuffled within a step; false in the order of the dataset or of a list.
    shuffled: bool,
    /// The locality of rows, if ranks do not take them in turn.
    locality: Option<Arc<Locality>>,
}

/// Order and owners, which together determine the owner of a row.
#[derive(Debug)]
struct Locality {
    order: Order,
    owners: Arc<Owners>,
}

impl Steps {
    /// Creates the steps of an epoch.
    ///
    /// # Errors
    /// If the rank is not in the world, if the batch has no row for each rank, if the ranks cannot
    /// share it equally and `uneven` is off, or if it splits the rows of [`Sampling::Repeated`].
    ///
    /// [`Sampling::Repeated`]: crate::Sampling::Repeated
    pub fn new(order: &Order, batching: Batching) -> Result<Self> {
        let Batching { global_batch, world: World { rank, size }, uneven, .. } = batching;
        if rank >= size {
            let what = format!("rank {rank} is not one of 0 to {size}, the size, not included");
            return Err(Error::usage("world", what));
        }
        if global_batch < size {
            let what = format!("{global_batch} samples are too few for {size} ranks");
            return Err(Error::usage("global_batch", what));
        }
        if global_batch % size != 0 && !uneven {
            let what = format!(
                "{global_batch} samples cannot be shared equally by {size} ranks: \
                 take a multiple of {size}, or allow `uneven`"
            );
            return Err(Error::usage("global_batch", what));
        }
        let each = order.each();
        if u64::from(global_batch).checked_rem(each) != Some(0) {
            let what = format!(
                "each sample comes {each} times in a global batch, and {global_batch} rows are no \
                 multiple of {each}: take another `batch_size`"
            );
            return Err(Error::usage("sampling", what));
        }
        Ok(Self {
            batching,
            n_samples: order.len(),
            runs: order.runs(),
            has_buckets: order.has_buckets(),
            seed: order.seed(),
            epoch: order.epoch(),
            fingerprint: order.fingerprint(0),
            opening: order.opening_fingerprint(0),
            shuffled: order.is_shuffled(),
            locality: None,
        })
    }

    /// Gives each rank the rows that its cache owns, as far as its share allows. Steps, the sizes
    /// of batches and states do not change.
    ///
    /// `order` is that of the steps. With fewer caches than ranks, equally many consecutive ranks
    /// share each cache.
    ///
    /// # Errors
    /// If the ranks cannot share the caches equally.
    pub fn with_owners(self, order: Order, owners: Arc<Owners>) -> Result<Self> {
        let (size, n_caches) = (self.batching.world.size, owners.n_caches());
        if size % n_caches != 0 {
            let what = format!("{size} ranks cannot share {n_caches} caches equally");
            return Err(Error::usage("world", what));
        }
        Ok(Self { locality: Some(Arc::new(Locality { order, owners })), ..self })
    }

    /// Returns the number of steps in the epoch: the same on every rank, after any failures.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.runs.steps_before(self.end(), self.batch())
    }

    /// Returns true if the epoch has no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns this rank's rows of a step; none from the end of the epoch on.
    #[must_use]
    pub fn rows(&self, step: u64) -> Vec<Row> {
        match step < self.len() {
            true => self.rows_from(self.start_of(step)),
            false => Vec::new(),
        }
    }

    /// Returns the number of samples per step.
    pub(crate) fn batch(&self) -> u64 {
        // At least the size of the world, which is not empty.
        u64::from(self.batching.global_batch).max(1)
    }

    /// Returns the position after the last one of any step.
    pub(crate) fn end(&self) -> u64 {
        match self.batching.last {
            Last::Drop if self.has_buckets => self.runs.end_of_complete(),
            Last::Drop => self.n_samples - self.n_samples % self.batch(),
            Last::Short | Last::Pad => self.n_samples,
        }
    }

    /// Returns the position after those of the step that contains `start`.
    pub(crate) fn end_of_step(&self, start: u64) -> u64 {
        let run = self.runs.around(start);
        let within = start.saturating_sub(run.start);
        let end = (within / self.batch()).saturating_add(1).saturating_mul(self.batch());
        run.start.saturating_add(end).min(run.end)
    }

    /// Returns the number of the step that contains `start`.
    pub(crate) fn step_of(&self, start: u64) -> u64 {
        self.runs.steps_before(start.saturating_add(1), self.batch()).saturating_sub(1)
    }

    /// Returns the first position of a step; the end of the epoch if it has fewer.
    pub(crate) fn start_of(&self, step: u64) -> u64 {
        self.runs.start_of(step, self.batch())
    }

    /// Returns the bucket of the step that contains `start`; 0 without buckets.
    pub(crate) fn bucket(&self, start: u64) -> u16 {
        self.runs.bucket(start)
    }

    /// Returns the number of samples that states count in the field of the batch: with buckets the
    /// length of a run, which an epoch keeps.
    pub(crate) fn batch_of_state(&self) -> u32 {
        match self.has_buckets {
            true => u32::try_from(self.runs.len()).unwrap_or(u32::MAX),
            false => self.batching.global_batch,
        }
    }

    /// Returns this rank's rows of the step that begins at `start`: at a multiple of the batch, or
    /// within one at the point where a run with another batch stopped.
    pub(crate) fn rows_from(&self, start: u64) -> Vec<Row> {
        let n_valid = self.end_of_step(start).saturating_sub(start);
        let step = self.step_of(start);
        let key = derive(self.seed, Purpose::Batch, [self.epoch, step]);
        let permutation = Permutation::new(n_valid, key);
        let valid = self.share(n_valid);
        let row = |at| Row {
            position: start + if self.shuffled { permutation.at(at) } else { at },
            valid: true,
        };
        let mut rows: Vec<Row> = match &self.locality {
            None => valid.clone().map(row).collect(),
            Some(locality) => {
                let all: Vec<Row> = (0..n_valid).map(row).collect();
                self.owned(locality, start, &all, &valid)
            }
        };
        if self.batching.last == Last::Pad {
            // A rank's share of a whole batch is never smaller than of a part of one, so that the
            // padding rows of all ranks are numbered from zero.
            let whole = self.share(self.batch());
            let padding = whole.start - valid.start..whole.end - valid.end;
            // Of the same bucket; without buckets these are the first positions of the epoch.
            let Range { start, end } = self.runs.around(start);
            let wrapped = |at: u64| start + at.checked_rem(end - start).unwrap_or_default();
            rows.extend(padding.map(|at| Row { position: wrapped(at), valid: false }));
        }
        rows
    }

    /// Returns this rank's rows of the step that begins at `start`, assigned by owner: as many as
    /// are in `share`.
    fn owned(&self, locality: &Locality, start: u64, all: &[Row], share: &Range<u64>) -> Vec<Row> {
        let Locality { order, owners } = locality;
        let cache_of = |place| owners.of(place).map(|slot| slot.cache);
        // In the order of the line, which is faster than row by row.
        let by_position: Vec<Option<u32>> =
            order.iter_from(start).take(all.len()).map(cache_of).collect();
        let owner = |row: &Row| {
            let at = usize::try_from(row.position.checked_sub(start)?).ok()?;
            *by_position.get(at)?
        };
        let of_rows: Vec<Option<u32>> = all.iter().map(owner).collect();
        let World { rank, size } = self.batching.world;
        // Equal for all caches: see `with_owners`.
        let ranks_per_cache = size.checked_div(owners.n_caches()).unwrap_or(1).max(1);
        let begin = |cache: u32| self::share(all.len() as u64, cache * ranks_per_cache, size).start;
        let shares: Vec<usize> = (0..owners.n_caches())
            .map(|cache| (begin(cache + 1) - begin(cache)) as usize)
            .collect();
        let assigned = assign(&of_rows, &shares).rows;
        let cache = rank / ranks_per_cache;
        let own = assigned.get(cache as usize).map_or(&[][..], Vec::as_slice);
        // The ranks of one cache take its rows in turn, each its share.
        let skipped = share.start.saturating_sub(begin(cache)) as usize;
        let own = own.iter().skip(skipped).take(share.clone().count());
        own.filter_map(|row| all.get(*row).copied()).collect()
    }

    /// Returns this rank's part of `n` rows.
    fn share(&self, n: u64) -> Range<u64> {
        let World { rank, size } = self.batching.world;
        share(n, rank, size)
    }
}

/// Returns a rank's part of `n` rows: equal parts, and one row more for the first ranks until none
/// is left.
pub(super) fn share(n: u64, rank: u32, size: u32) -> Range<u64> {
    let (rank, size) = (u64::from(rank), u64::from(size).max(1));
    let before = |rank: u64| n / size * rank + (n % size).min(rank);
    before(rank)..before(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::{Batching, Last, Order, Row, Steps, World};
    use crate::order::{Sampling, Stratum};

    fn steps(n: u64, global_batch: u32, [rank, size]: [u32; 2], last: Last) -> Steps {
        let order = Order::new(vec![Stratum::whole(n)], &Sampling::Shuffle, 3, 4).unwrap();
        let world = World { rank, size };
        Steps::new(&order, Batching { global_batch, world, last, uneven: true }).unwrap()
    }

    #[test]
    fn the_rows_of_a_step_never_change() {
        let positions = steps(20, 8, [0, 1], Last::Drop).rows(1);
        let positions: Vec<u64> = positions.into_iter().map(|row| row.position).collect();
        assert_eq!(positions, PINNED);
    }

    const PINNED: [u64; 8] = [15, 10, 8, 12, 9, 11, 14, 13];

    #[test]
    fn the_last_batch_is_as_asked() {
        for (last, n_steps, sizes) in [
            (Last::Drop, 2, [0, 0, 0, 0]),
            (Last::Short, 3, [1, 1, 1, 0]),
            (Last::Pad, 3, [3, 3, 2, 2]),
        ] {
            for (rank, size) in (0..4).zip(sizes) {
                let steps = steps(23, 10, [rank, 4], last);
                assert_eq!(steps.len(), n_steps);
                let rows = steps.rows(2);
                assert_eq!(rows.len(), size, "{last:?}");
                let valid = rows.iter().filter(|row| row.valid).count();
                assert_eq!(valid, size.min(usize::from(rank < 3)));
                assert!(steps.rows(n_steps).is_empty() && steps.rows(u64::MAX).is_empty());
            }
        }
    }

    #[test]
    fn padding_repeats_the_start_of_the_epoch() {
        let all = (0..4).flat_map(|rank| steps(3, 10, [rank, 4], Last::Pad).rows(0));
        let padding: Vec<u64> = all.filter(|row| !row.valid).map(|row| row.position).collect();
        assert_eq!(padding, [0, 1, 2, 0, 1, 2, 0]);
        assert!(steps(0, 10, [0, 4], Last::Pad).is_empty());
    }

    #[test]
    fn rows_of_the_order_of_the_dataset_are_in_order() {
        let order = Order::new(vec![Stratum::whole(9)], &Sampling::Sequential, 3, 4).unwrap();
        let world = World::ALONE;
        let batching = Batching { global_batch: 4, world, last: Last::Short, uneven: false };
        let steps = Steps::new(&order, batching).unwrap();
        let rows = (0..3).flat_map(|step| steps.rows(step));
        assert!(rows.eq((0..9).map(|position| Row { position, valid: true })));
    }

    #[test]
    fn impossible_worlds_are_refused() {
        let order = Order::new(vec![Stratum::whole(9)], &Sampling::Sequential, 3, 4).unwrap();
        let new = |global_batch, rank, size, uneven| {
            let world = World { rank, size };
            Steps::new(&order, Batching { global_batch, world, last: Last::Drop, uneven })
        };
        assert!(new(4, 1, 1, false).is_err());
        assert!(new(4, 0, 0, true).is_err());
        assert!(new(0, 0, 1, true).is_err());
        assert!(new(4, 0, 5, true).is_err());
        let refused = new(4, 0, 3, false).unwrap_err().to_string();
        assert!(refused.contains("multiple of 3"), "{refused}");
        assert!(new(4, 0, 3, true).is_ok() && new(6, 0, 3, false).is_ok());
    }
}
