//! Walks through the steps of an epoch, from its start or from the point where a run stopped.
//!
//! A state counts the samples that the world has consumed. They are the positions below that number
//! for any batch and world, so that a run that continues starts at that position:
//!
//! ```text
//! batch 10    |0        |10       |20       | stopped, consumed = 30
//! batch 8                                   30|32     |40     |48 ...
//! ```
//!
//! With another global batch that does not divide the consumed number, the first step is short: it
//! takes the rest of the batch that contains the state, and the steps after it are those of every
//! run with this batch. Nothing is lost or repeated, and stopping again causes no further short
//! step. If shapes must not change, [`Last::Pad`](super::Last::Pad) also fills up this step.
use super::key::{Purpose, derive};
use super::state::State;
use super::steps::{Row, Steps};
use fdconvert_core::{Error, Result};

/// One of several worker processes of a rank that take its steps in turn, like those of PyTorch's
/// `DataLoader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Number of the worker, below `count`.
    pub id: u32,
    /// Number of workers.
    pub count: u32,
}

/// Step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Number of the step in the epoch.
    pub index: u64,
    /// Bucket of all its samples, on all ranks; 0 without buckets.
    pub bucket: u16,
    /// Rows of this rank.
    pub rows: Vec<Row>,
    /// State after the step: the one to save, on any rank, when the training has received its
    /// batch.
    pub state: State,
}

/// Remaining steps of an epoch, one by one.
///
/// ```
/// use fdconvert_loader::{Last, Sampling, State, World, parts::{Batching, Order, Steps, Stratum}};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let dataset = 0x1234; // A hash of the dataset.
/// let order = Order::new(vec![Stratum::whole(100)], &Sampling::Shuffle, 7, 0)?;
/// let world = World { rank: 0, size: 2 };
/// let batching = Batching { global_batch: 10, world, last: Last::Drop, uneven: false };
/// let mut unbroken = Steps::new(&order, batching)?.start(dataset);
/// let saved = unbroken.nth(2).map(|step| step.state.to_bytes()).unwrap_or([0; 40]);
///
/// let state = State::from_bytes(&saved)?;
/// let order = Order::new(vec![Stratum::whole(100)], &Sampling::Shuffle, state.seed, state.epoch)?;
/// let resumed = Steps::new(&order, batching)?.resume(dataset, &state)?;
/// assert!(resumed.eq(unbroken));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Cursor {
    steps: Steps,
    fingerprint: u64,
    /// Fingerprint of the state at the start of the epoch.
    opening: u64,
    /// Position of the first row of this worker's next step.
    start: u64,
    /// Distance between the steps of this worker.
    stride: u64,
}

impl Steps {
    /// Returns all steps of the epoch. `dataset` is a hash of the dataset, for the states.
    #[must_use]
    pub fn start(self, dataset: u64) -> Cursor {
        let fingerprint = of_dataset(self.fingerprint, dataset);
        let opening = of_dataset(self.opening, dataset);
        Cursor { fingerprint, opening, start: 0, stride: 1, steps: self }
    }

    /// Returns the steps after a state: none if the epoch was complete.
    ///
    /// The world, the threads and the policy for the last batch may have changed. So may the global
    /// batch; the first step is then short if the state lies within a batch.
    ///
    /// # Errors
    /// If the state has another dataset, order, seed or epoch, or lies beyond the end of the epoch.
    pub fn resume(self, dataset: u64, state: &State) -> Result<Cursor> {
        let wrong = |what: String| Err(Error::usage("state", what));
        let cursor = self.start(dataset);
        let Steps { seed, epoch, n_samples, .. } = cursor.steps;
        let expected = cursor.state_at(state.consumed).fingerprint;
        if state.fingerprint != expected {
            return wrong(format!(
                "it is of another dataset, choice of samples, sampling or size of the cache, which \
                 is part of the order except with `locality`: its fingerprint is {:016x}, that of this run is {expected:016x}",
                state.fingerprint
            ));
        }
        if (state.seed, state.epoch) != (seed, epoch) {
            return wrong(format!(
                "it is of seed {} and epoch {}, the order of seed {seed} and epoch {epoch}",
                state.seed, state.epoch
            ));
        }
        if state.consumed > n_samples {
            let consumed = state.consumed;
            return wrong(format!("{consumed} samples consumed of an epoch of {n_samples}"));
        }
        Ok(Cursor { start: state.consumed, ..cursor })
    }
}

impl Cursor {
    /// Returns the number of remaining steps.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        if self.start >= self.steps.end() {
            return 0;
        }
        self.steps.len().saturating_sub(self.index()).div_ceil(self.stride)
    }

    /// Returns the state before the next step.
    #[must_use]
    pub fn state(&self) -> State {
        self.state_at(self.start)
    }

    /// Keeps only the steps of one worker: of the remaining steps, counted from zero, every
    /// `count`-th one from number `id` on. Counting from the next step, and not from the start of
    /// the epoch, preserves the order: a consumer that collects from the workers in turn begins
    /// with worker 0, after a resume as well.
    ///
    /// # Errors
    /// If the worker's number is not below its count.
    pub fn of_worker(mut self, worker: Worker) -> Result<Self> {
        let Worker { id, count } = worker;
        if id >= count {
            let what = format!("worker {id} is not one of 0 to {count}, the count, not included");
            return Err(Error::usage("worker", what));
        }
        self.skip_steps(u64::from(id).saturating_mul(self.stride));
        self.stride = self.stride.saturating_mul(u64::from(count));
        Ok(self)
    }

    /// Returns the number of the next step in the epoch.
    pub(crate) fn index(&self) -> u64 {
        self.steps.step_of(self.start)
    }

    fn skip_steps(&mut self, n: u64) {
        if n > 0 {
            self.start = self.steps.start_of(self.index().saturating_add(n));
        }
    }

    fn state_at(&self, consumed: u64) -> State {
        let Steps { seed, epoch, .. } = self.steps;
        let fingerprint = if consumed == 0 { self.opening } else { self.fingerprint };
        let global_batch = self.steps.batch_of_state();
        State { fingerprint, seed, epoch, consumed, global_batch }
    }
}

impl Iterator for Cursor {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.start >= self.steps.end() {
            return None;
        }
        let state = self.state_at(self.steps.end_of_step(self.start));
        let (index, bucket) = (self.index(), self.steps.bucket(self.start));
        let step = Step { index, bucket, rows: self.steps.rows_from(self.start), state };
        self.skip_steps(self.stride);
        Some(step)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.remaining());
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

/// Returns the fingerprint of states, of that of an order and that of the dataset.
pub(crate) fn of_dataset(order: u64, dataset: u64) -> u64 {
    derive(order, Purpose::Fingerprint, [dataset, 0])
}

#[cfg(test)]
mod tests {
    use super::{State, Step, Steps, Worker};
    use crate::order::{Batching, Last, Order, Sampling, Stratum, World};

    fn steps(n: u64, seed: u64, global_batch: u32, last: Last) -> Steps {
        let order = Order::new(vec![Stratum::whole(n)], &Sampling::Shuffle, seed, 4).unwrap();
        let world = World::ALONE;
        Steps::new(&order, Batching { global_batch, world, last, uneven: false }).unwrap()
    }

    fn positions(step: &Step) -> Vec<u64> {
        let valid = step.rows.iter().filter(|row| row.valid);
        let mut positions: Vec<u64> = valid.map(|row| row.position).collect();
        positions.sort_unstable();
        positions
    }

    #[test]
    fn another_batch_makes_one_short_step() {
        let state = steps(50, 1, 10, Last::Drop).start(9).nth(2).unwrap().state;
        assert_eq!(state.consumed, 30);
        for (last, n_rows) in [(Last::Drop, 2), (Last::Short, 2), (Last::Pad, 8)] {
            let mut resumed = steps(50, 1, 8, last).resume(9, &state).unwrap();
            let step = resumed.next().unwrap();
            assert_eq!((step.index, step.rows.len()), (3, n_rows));
            assert_eq!(positions(&step), [30, 31]);
            assert_eq!((step.state.consumed, step.state.global_batch), (32, 8));
            // From there on the steps are the same as if the batch had always been this one.
            assert!(resumed.eq(steps(50, 1, 8, last).start(9).skip(4)));
        }
    }

    #[test]
    fn an_epoch_that_is_over_stays_over() {
        for (last, n_steps, consumed) in [(Last::Drop, 2, 20), (Last::Short, 3, 23)] {
            let cursor = steps(23, 1, 10, last).start(9);
            assert_eq!(cursor.remaining(), n_steps);
            let state = cursor.last().unwrap().state;
            assert_eq!(state.consumed, consumed);
            let resumed = steps(23, 1, 10, last).resume(9, &state).unwrap();
            assert_eq!((resumed.remaining(), resumed.count()), (0, 0));
        }
    }

    #[test]
    fn states_of_other_runs_are_refused() {
        let state = steps(50, 1, 10, Last::Drop).start(9).state();
        let refused = |steps: Steps, dataset, state| {
            steps.resume(dataset, &state).map(|_| ()).unwrap_err().to_string()
        };
        let same = || steps(50, 1, 10, Last::Drop);
        let message = refused(same(), 8, state);
        assert!(message.contains(&format!("{:016x}", state.fingerprint)), "{message}");
        assert!(message.contains(&format!("{:016x}", same().start(8).fingerprint)), "{message}");
        refused(steps(51, 1, 10, Last::Drop), 9, state);
        assert!(refused(steps(50, 2, 10, Last::Drop), 9, state).contains("seed 1"));
        assert!(refused(same(), 9, State { epoch: 5, ..state }).contains("epoch 5"));
        assert!(refused(same(), 9, State { consumed: 51, ..state }).contains("51"));
        assert!(same().resume(9, &State { consumed: 50, ..state }).is_ok());
    }

    #[test]
    fn workers_in_turn_give_the_order_of_one() {
        let state = steps(95, 1, 7, Last::Drop).start(9).nth(3).unwrap().state;
        for batch in [7, 10] {
            let resumed = || steps(95, 1, batch, Last::Short).resume(9, &state).unwrap();
            let all: Vec<Step> = resumed().collect();
            let mut workers: Vec<_> =
                (0..4).map(|id| resumed().of_worker(Worker { id, count: 4 }).unwrap()).collect();
            let left: u64 = workers.iter().map(super::Cursor::remaining).sum();
            assert_eq!(left, all.len() as u64);
            let in_turn: Vec<Step> =
                (0..all.len()).map(|turn| workers[turn % 4].next().unwrap()).collect();
            assert_eq!(in_turn, all);
            assert!(workers.iter_mut().all(|worker| worker.next().is_none()));
        }
        let cursor = steps(95, 1, 7, Last::Drop).start(9);
        assert!(cursor.of_worker(Worker { id: 4, count: 4 }).is_err());
    }
}
