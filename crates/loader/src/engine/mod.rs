//! The loader: plain threads around one queue.
//!
//! ```text
//! consumer            next() waits for the oldest batch, in order; dropping it gives its memory back
//! queue (one lock)    batches in the making -> rows; opens a batch when a buffer is free
//! decoding threads    claim a row, read its sample, decode it into the row, give it back
//! fetching threads    (if any) claim a row, read its sample, leave it to the decoding threads
//! ```
//!
//! Where bytes come from, memory or storage, is the business of `supply`.
//!
//! Order, crops and augmentations follow from seed, epoch and sample alone, so batches are the same
//! for any number of threads. What is in flight is bounded by the buffers of the ring: a consumer
//! that keeps its batches stops the threads, and nothing else can grow.

mod queue;
mod sample;
mod threads;

pub(crate) use sample::RowFacts;
pub(crate) use threads::Again;

use crate::{
    batch::Batch,
    dataset::Datasets,
    failure::{OnError, Quarantine},
    groups::Groups,
    options::Options,
    order::{Batching, Order, State, Steps},
    parcel::Elsewhere,
    stats::{Counters, Stats},
    supply::Supply,
};
use fdconvert_core::{Error, Result};
use queue::{Next, Queue};
use sample::Epoch;
use std::{
    sync::{Arc, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};
use threads::{Running, Shared};

/// Makes batches of datasets, ahead of whoever takes them.
///
/// ```no_run
/// use fdconvert_loader::{Datasets, Loader, Options};
///
/// let datasets = Datasets::open("train.beton".as_ref())?;
/// let mut loader = Loader::new(datasets, Options { batch: 256, ..Options::default() })?;
/// for epoch in 0..90 {
///     loader.set_epoch(epoch)?;
///     while let Some(batch) = loader.next_batch() {
///         let batch = batch?;
///         println!("{} images, labels {:?}", batch.len(), batch.labels());
///         std::fs::write("state", batch.state().to_bytes()).ok();
///     }
/// }
/// # Ok::<(), fdconvert_core::Error>(())
/// ```
///
/// A process that was forked off goes on where its parent was, with threads of its own.
pub struct Loader {
    datasets: Datasets,
    groups: Arc<Groups>,
    /// Open files and images in memory, for all epochs.
    supply: Arc<Supply>,
    options: Options,
    fingerprint: u64,
    quarantine: Option<Arc<Quarantine>>,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Where the next batch begins.
    state: State,
    running: Option<Running>,
    /// Statistics of all epochs.
    counters: Arc<Counters>,
    since: Instant,
    /// Each batch has one, for counting them.
    token: Arc<()>,
}

/// What became of waiting for a batch.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once, and is mostly a batch")]
pub enum Waited {
    /// The next batch.
    Batch(Batch),
    /// The epoch is over.
    End,
    /// The time is up and the batch is not ready.
    NotYet,
}

impl Loader {
    /// A loader for epoch 0. Threads start with the first batch that is asked for.
    ///
    /// # Errors
    /// `Usage`, naming the option that cannot be, or the dataset that does not fit it; `Io` and
    /// `Corrupt` for a quarantine file.
    pub fn new(datasets: Datasets, options: Options) -> Result<Self> {
        Self::with(datasets, options, None)
    }

    /// The same with a decoder elsewhere, for which batches have parcels.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with(
        datasets: Datasets,
        options: Options,
        elsewhere: Option<Arc<dyn Elsewhere>>,
    ) -> Result<Self> {
        options.check()?;
        let datasets = datasets.labelled(&options.label)?;
        let quarantine = match &options.failures.policy {
            OnError::Quarantine(path) => Some(Arc::new(Quarantine::open(path)?)),
            _ => None,
        };
        // Crops and augmentations are not part of it: they may change between two runs.
        let groups = Groups::new(&datasets, &options)?;
        let fingerprint = groups.fingerprint(&datasets);
        let supply = Arc::new(Supply::new(&datasets, &groups, &options)?);
        let n_strata = groups.slots().count();
        let mut loader = Self {
            datasets,
            groups: Arc::new(groups),
            supply,
            options,
            fingerprint,
            quarantine,
            elsewhere,
            state: State { fingerprint, seed: 0, epoch: 0, consumed: 0, global_batch: 0 },
            running: None,
            counters: Arc::new(Counters::of_strata(n_strata)),
            since: Instant::now(),
            token: Arc::default(),
        };
        loader.state = loader.steps(0)?.start(fingerprint).state();
        Ok(loader)
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The datasets.
    #[must_use]
    pub fn datasets(&self) -> &Datasets {
        &self.datasets
    }

    /// Batches of a whole epoch on this rank; the same on every rank.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.steps(0).map_or(0, |steps| steps.len())
    }

    /// Whether an epoch has no batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For each group of samples that are spread evenly: how many there are, and how many of them
    /// are kept in memory. One for each codec of a mixed set, else one for each dataset.
    #[must_use]
    pub fn residents(&self) -> Vec<(u64, u64)> {
        self.groups.slots().collect()
    }

    /// Why images that are to be read directly come from the page cache or from memory, where they
    /// do: file and reason. Known once files were opened, with the first batch.
    #[must_use]
    pub fn cached_because(&self) -> Option<String> {
        self.supply.store.cached_because()
    }

    /// The epoch that the next batch belongs to.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Where to go on after the last batch that was handed over: the whole checkpoint. Batches
    /// that are made ahead do not count.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Goes on after a checkpoint, of this or another world size, number of threads or batch.
    ///
    /// # Errors
    /// `Usage` when the checkpoint is of other datasets or another seed, and when batches have been
    /// taken already: they would come twice.
    pub fn restore(&mut self, state: &State) -> Result<()> {
        if self.running.is_some() {
            return Err(under_way());
        }
        let steps = self.steps(state.epoch)?;
        let cursor = steps.resume(self.fingerprint, state)?;
        self.state = if cursor.remaining() == 0 && state.consumed > 0 {
            self.steps(state.epoch.wrapping_add(1))?.start(self.fingerprint).state()
        } else {
            *state
        };
        Ok(())
    }

    /// Makes that epoch the next one. Says nothing when the loader stands in it already, so that a
    /// loop over epochs may begin with a restored one.
    ///
    /// # Errors
    /// `Usage` for options that cannot be.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        if epoch != self.state.epoch {
            self.stop();
            self.state = self.steps(epoch)?.start(self.fingerprint).state();
        }
        Ok(())
    }

    /// The next batch, `None` at the end of the epoch; the call after that begins the next one.
    pub fn next_batch(&mut self) -> Option<Result<Batch>> {
        loop {
            match self.next_for(Duration::from_secs(3600)) {
                Ok(Waited::Batch(batch)) => return Some(Ok(batch)),
                Ok(Waited::End) => return None,
                Ok(Waited::NotYet) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// As [`next_batch`](Self::next_batch), but comes back after that time at the latest.
    ///
    /// # Errors
    /// Those of samples, as the policy says; the epoch is over then.
    pub fn next_for(&mut self, patience: Duration) -> Result<Waited> {
        if self.running.as_ref().is_some_and(Running::is_foreign) {
            // We are a child of the process that had the threads. Its lock may be held for ever.
            std::mem::forget(self.running.take());
            // Neither can it be told whether a thread was filling a slot. What is in memory is
            // left to the parent, and read again.
            let fresh = Supply::new(&self.datasets, &self.groups, &self.options)?;
            std::mem::forget(std::mem::replace(&mut self.supply, Arc::new(fresh)));
        }
        let running = match &self.running {
            Some(running) => running,
            None => {
                let started = self.start()?;
                self.running.insert(started)
            }
        };
        let began = Instant::now();
        let shared = &running.shared;
        let mut queue = shared.lock();
        let next = loop {
            match queue.next() {
                Next::NotYet => {}
                next => break next,
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(Waited::NotYet);
            }
            let waited = shared.ready.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(queue);
        match next {
            Next::Done(done) => {
                // It may have been the last one.
                shared.wake_workers();
                shared.epoch.counters.delivered(began.elapsed(), running.began.elapsed());
                let batch = threads::batch(shared, done, &self.token);
                self.state = batch.state;
                Ok(Waited::Batch(batch))
            }
            Next::Failed(error) => {
                self.stop();
                Err(error)
            }
            Next::End | Next::NotYet => {
                let epoch = self.state.epoch;
                self.stop();
                self.state = self.steps(epoch.wrapping_add(1))?.start(self.fingerprint).state();
                Ok(Waited::End)
            }
        }
    }

    /// Ends the threads; batches made ahead are dropped. The next batch asked for starts them again
    /// where they were.
    pub fn stop(&mut self) {
        let Some(running) = self.running.take() else { return };
        if running.is_foreign() {
            std::mem::forget(running);
            return;
        }
        running.stop();
    }

    /// Ends the threads and goes back to a state that was the loader's own, an epoch's end included.
    pub(crate) fn rewind(&mut self, state: State) {
        self.stop();
        self.state = state;
    }

    /// What the loader has done since it was made or since [`reset_stats`](Self::reset_stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        let stats = self.counters.read(self.options.n_threads(), self.since.elapsed());
        Stats { kept: Arc::strong_count(&self.token).saturating_sub(1) as u64, ..stats }
    }

    /// Begins the statistics anew.
    pub fn reset_stats(&mut self) {
        self.counters.reset();
        self.since = Instant::now();
    }

    fn order(&self, epoch: u64) -> Result<Order> {
        self.groups.order(&self.options, epoch)
    }

    fn steps(&self, epoch: u64) -> Result<Steps> {
        let Options { batch, world, last, .. } = self.options;
        let global_batch = batch.saturating_mul(world.size);
        let batching = Batching { global_batch, world, last, uneven: false };
        Steps::new(&self.order(epoch)?, batching)
    }

    fn start(&mut self) -> Result<Running> {
        let number = self.state.epoch;
        let cursor = self.steps(number)?.resume(self.fingerprint, &self.state)?;
        let order = self.order(number)?;
        let options = self.options.clone();
        let n_buffers = options.n_buffers();
        let epoch = Epoch {
            datasets: self.datasets.at_epoch(number)?,
            groups: self.groups.clone(),
            supply: self.supply.clone(),
            number,
            n_samples: order.len(),
            max_failures: options.failures.limit(order.len()),
            samples: self.supply.samples(order, self.state.consumed),
            counters: self.counters.clone(),
            elsewhere: self.elsewhere.clone(),
            stopped: AtomicBool::new(false),
        };
        let queue = Queue::new(cursor, options.output.n_bytes(), n_buffers);
        Running::start(Shared::new(queue, epoch, options, self.quarantine.clone()))
    }
}

/// Why a loader that has handed over batches goes nowhere else.
pub(crate) fn under_way() -> Error {
    let what = "an epoch is under way; restore before the first batch is taken, or stop";
    Error::usage("state", what)
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Iterator for Loader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch()
    }
}
