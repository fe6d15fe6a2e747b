//! The loader: plain threads around one queue.
//!
//! ```text
//! consumer            next() waits for the oldest batch, in order; dropping it gives its memory back
//! queue (one lock)    batches in the making -> rows; opens a batch when a buffer is free
//! decoding threads    claim a row, read its sample, decode it into the row, give it back
//! fetching threads    (if any) claim a row, read its sample, leave it to the decoding threads
//! ```
//!
//! Order, crops and augmentations follow from seed, epoch and sample alone, so batches are the same
//! for any number of threads. What is in flight is bounded by the buffers of the ring: a consumer
//! that keeps its batches stops the threads, and nothing else can grow.

mod queue;
mod sample;

use crate::{
    batch::{Batch, Home, Shape},
    dataset::Datasets,
    failure::{OnError, Quarantine},
    options::Options,
    order::{Batching, Order, State, Steps, Stratum},
    stats::{Counters, Stats},
};
use bytes::BytesMut;
use fdconvert_core::{Error, Result};
use queue::{Done, Next, Queue};
use sample::{Epoch, Kitchen};
use std::{
    process,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

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
    options: Options,
    fingerprint: u64,
    quarantine: Option<Arc<Quarantine>>,
    /// Where the next batch begins.
    state: State,
    running: Option<Running>,
    /// Statistics of epochs that are over.
    counters: Arc<Counters>,
    since: Instant,
}

/// The threads of an epoch.
struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    began: Instant,
    /// The process that they belong to.
    process: u32,
}

/// What the threads share.
struct Shared {
    queue: Mutex<Queue>,
    /// There may be a row to claim.
    work: Condvar,
    /// A row was read that somebody has to decode. Not the same threads wait for this: a single
    /// notification must not wake one that has no use for it.
    arrived: Condvar,
    /// There may be a batch to hand over.
    ready: Condvar,
    epoch: Epoch,
    options: Options,
    quarantine: Option<Arc<Quarantine>>,
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
    /// `Usage`, naming the option that cannot be; `Io` and `Corrupt` for a quarantine file.
    pub fn new(datasets: Datasets, options: Options) -> Result<Self> {
        options.check()?;
        let quarantine = match &options.failures.policy {
            OnError::Quarantine(path) => Some(Arc::new(Quarantine::open(path)?)),
            _ => None,
        };
        // Crops and augmentations are not part of it: they may change between two runs.
        let fingerprint = datasets.fingerprint();
        let mut loader = Self {
            datasets,
            options,
            fingerprint,
            quarantine,
            state: State { fingerprint, seed: 0, epoch: 0, consumed: 0, global_batch: 0 },
            running: None,
            counters: Arc::default(),
            since: Instant::now(),
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
            let what = "an epoch is under way; restore before the first batch is taken, or stop";
            return Err(Error::usage("state", what));
        }
        let steps = self.steps(state.epoch)?;
        let cursor = steps.resume(self.fingerprint, state)?;
        self.state = if cursor.remaining() == 0 && state.consumed > 0 {
            self.steps(state.epoch + 1)?.start(self.fingerprint).state()
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
        if self.running.as_ref().is_some_and(|running| running.process != process::id()) {
            // We are a child of the process that had the threads. Its lock may be held for ever.
            std::mem::forget(self.running.take());
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
                let batch = batch(shared, done);
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
                self.state = self.steps(epoch + 1)?.start(self.fingerprint).state();
                Ok(Waited::End)
            }
        }
    }

    /// Ends the threads; batches made ahead are dropped. The next batch asked for starts them again
    /// where they were.
    pub fn stop(&mut self) {
        let Some(running) = self.running.take() else { return };
        if running.process != process::id() {
            std::mem::forget(running);
            return;
        }
        running.shared.stop();
        for thread in running.threads {
            // Panics are caught per sample; nothing is left to report.
            let _ = thread.join();
        }
        self.counters.add(&running.shared.epoch.counters);
    }

    /// What the loader has done since it was made or since [`reset_stats`](Self::reset_stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        let sum = Counters::default();
        sum.add(&self.counters);
        if let Some(running) = &self.running {
            sum.add(&running.shared.epoch.counters);
        }
        sum.read(self.options.n_threads(), self.since.elapsed())
    }

    /// Begins the statistics anew.
    pub fn reset_stats(&mut self) {
        self.counters = Arc::default();
        if let Some(running) = &self.running {
            running.shared.epoch.counters.reset();
        }
        self.since = Instant::now();
    }

    fn order(&self, epoch: u64) -> Result<Order> {
        let strata = self.datasets.counts();
        let strata = strata.into_iter().map(|(len, count)| Stratum { len, count }).collect();
        Order::new(strata, self.options.shuffle, self.options.seed, epoch)
    }

    fn steps(&self, epoch: u64) -> Result<Steps> {
        let Options { batch, world, last, .. } = self.options;
        let global_batch = batch.saturating_mul(world.size);
        let batching = Batching { global_batch, world, last, uneven: false };
        Steps::new(&self.order(epoch)?, batching)
    }

    fn start(&self) -> Result<Running> {
        let number = self.state.epoch;
        let cursor = self.steps(number)?.resume(self.fingerprint, &self.state)?;
        let order = self.order(number)?;
        let options = self.options.clone();
        let n_buffers = options.n_buffers();
        let epoch = Epoch {
            datasets: self.datasets.at_epoch(number)?,
            number,
            max_failures: options.failures.limit(order.len()),
            order,
            counters: Counters::default(),
            stopped: AtomicBool::new(false),
        };
        let queue = Queue::new(cursor, options.output.n_bytes(), n_buffers);
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            arrived: Condvar::new(),
            ready: Condvar::new(),
            epoch,
            quarantine: self.quarantine.clone(),
            options,
        });
        let mut running = Running {
            shared: shared.clone(),
            threads: Vec::new(),
            began: Instant::now(),
            process: process::id(),
        };
        let kitchens = (0..self.options.n_threads()).map(|_| Kitchen::new(&self.options));
        for (number, kitchen) in kitchens.enumerate() {
            let (shared, kitchen) = (shared.clone(), kitchen?);
            let fetches = self.options.fetch_threads > 0;
            let work = move || shared.decode(kitchen, !fetches);
            running.spawn(format!("decode-{number}"), work)?;
        }
        for number in 0..self.options.fetch_threads {
            let shared = shared.clone();
            running.spawn(format!("fetch-{number}"), move || shared.fetch())?;
        }
        Ok(running)
    }
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

impl Running {
    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
        match thread::Builder::new().name(name).spawn(work) {
            Ok(thread) => {
                self.threads.push(thread);
                Ok(())
            }
            Err(cause) => {
                self.shared.stop();
                Err(Error::io("start", "a thread of the loader")(cause))
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.epoch.stopped.store(true, Ordering::Relaxed);
        self.lock().stopped = true;
        self.wake_workers();
        self.ready.notify_all();
    }

    fn wake_workers(&self) {
        self.work.notify_all();
        self.arrived.notify_all();
    }

    /// A decoding thread; `claims` when nobody else reads for it.
    fn decode(&self, mut kitchen: Kitchen, claims: bool) {
        let mut queue = self.lock();
        loop {
            if queue.stopped || queue.is_exhausted() {
                return;
            }
            let task = queue
                .take_fetched()
                .or_else(|| if claims { queue.claim(self.options.batch as usize) } else { None });
            let Some(mut task) = task else {
                queue = self.wait(queue, if claims { &self.work } else { &self.arrived });
                continue;
            };
            drop(queue);
            let made = sample::fill_row(
                &self.epoch,
                &self.options,
                self.quarantine.as_deref(),
                &mut kitchen,
                task.position,
                task.fetched.take(),
                &mut task.buffer,
            );
            queue = self.lock();
            if queue.finish(task, made) {
                self.ready.notify_all();
            }
        }
    }

    /// A thread that only reads.
    fn fetch(&self) {
        let mut queue = self.lock();
        loop {
            if queue.stopped || queue.is_exhausted() {
                return;
            }
            let Some(mut task) = queue.claim(self.options.batch as usize) else {
                queue = self.wait(queue, &self.work);
                continue;
            };
            drop(queue);
            task.fetched = sample::fetch_at(&self.epoch, &self.options, task.position);
            queue = self.lock();
            queue.put_fetched(task);
            self.arrived.notify_one();
        }
    }

    /// Waits for work. A thread that finds none may have opened a batch without rows, or found the
    /// end: the consumer has to look.
    fn wait<'a>(
        &'a self,
        queue: MutexGuard<'a, Queue>,
        for_what: &Condvar,
    ) -> MutexGuard<'a, Queue> {
        self.ready.notify_all();
        if queue.is_exhausted() {
            self.wake_workers();
            return queue;
        }
        for_what.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Home for Shared {
    fn give_back(&self, buffer: BytesMut) {
        self.lock().give_back(buffer);
        self.work.notify_all();
    }
}

fn batch(shared: &Arc<Shared>, done: Done) -> Batch {
    let Done { step, images, rows, facts, state } = done;
    let output = shared.options.output;
    let home: Weak<dyn Home> = Arc::downgrade(&(shared.clone() as Arc<dyn Home>));
    Batch {
        images,
        shape: Shape {
            rows: rows.len(),
            height: output.size.1,
            width: output.size.0,
            channels: 3,
            layout: output.layout,
            dtype: output.dtype,
        },
        labels: facts.iter().map(|facts| facts.label).collect(),
        samples: facts.iter().map(|facts| facts.sample).collect(),
        valid: rows.iter().zip(&facts).map(|(row, facts)| row.valid && facts.filled).collect(),
        substituted: facts.iter().map(|facts| facts.substituted).collect(),
        epoch: shared.epoch.number,
        step,
        state,
        home,
    }
}
