//! What the threads of an epoch do.

use super::{
    queue::{Done, Queue, Task},
    sample::{self, Epoch, RowFacts, Worker},
};
use crate::{
    batch::{Batch, Home, Shape},
    buffer,
    dataset::Fetched,
    failure::Quarantine,
    options::{Label, Options},
    order::Row,
    parcel::Parcels,
};
use bytes::BytesMut;
use fdconvert_core::{Error, Result};
use std::{
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Instant,
};

/// The threads of an epoch.
pub(super) struct Running {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    pub(super) began: Instant,
}

/// What the threads share.
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// There may be a row to claim.
    work: Condvar,
    /// A row was read that somebody has to decode. Not the same threads wait for this: a single
    /// notification must not wake one that has no use for it.
    arrived: Condvar,
    /// There may be a batch to hand over.
    pub(super) ready: Condvar,
    /// The process that the threads belong to.
    process: u32,
    pub(super) epoch: Epoch,
    options: Options,
    quarantine: Option<Arc<Quarantine>>,
}

impl Running {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` when the system has no thread left; none runs then.
    pub(super) fn start(shared: Shared) -> Result<Self> {
        let mut running =
            Self { shared: Arc::new(shared), threads: Vec::new(), began: Instant::now() };
        let options = running.shared.options.clone();
        let fetches = options.fetch_threads > 0;
        for number in 0..options.n_threads() {
            let (shared, worker) = (running.shared.clone(), Worker::new(&options)?);
            running.spawn(format!("decode-{number}"), move || shared.decode(worker, !fetches))?;
        }
        for number in 0..options.fetch_threads {
            let shared = running.shared.clone();
            running.spawn(format!("fetch-{number}"), move || shared.fetch())?;
        }
        Ok(running)
    }

    /// Whether the threads belong to another process, of which this one was forked off.
    pub(super) fn is_foreign(&self) -> bool {
        self.shared.process != process::id()
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(self) -> Arc<Shared> {
        self.shared.stop();
        for thread in self.threads {
            // Panics are caught per sample; nothing is left to report.
            let _ = thread.join();
        }
        self.shared
    }

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
    pub(super) fn new(
        queue: Queue,
        epoch: Epoch,
        options: Options,
        quarantine: Option<Arc<Quarantine>>,
    ) -> Self {
        Self {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            arrived: Condvar::new(),
            ready: Condvar::new(),
            process: process::id(),
            epoch,
            options,
            quarantine,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.epoch.stopped.store(true, Ordering::Relaxed);
        self.lock().stopped = true;
        self.wake_workers();
        self.ready.notify_all();
    }

    pub(super) fn wake_workers(&self) {
        self.work.notify_all();
        self.arrived.notify_all();
    }

    /// A decoding thread; `claims` when nobody else reads for it.
    fn decode(&self, mut worker: Worker, claims: bool) {
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
                &mut worker,
                &mut task,
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
            task.fetched = sample::fetch_at(&self.epoch, &self.options, task.position, task.draws);
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
        if self.process != process::id() {
            // A batch that a forked child inherited: the lock may be held by a thread that the
            // child does not have.
            return;
        }
        self.lock().give_back(buffer);
        self.work.notify_all();
    }
}

/// A batch for the consumer.
pub(super) fn batch(shared: &Arc<Shared>, done: Done, token: &Arc<()>) -> Batch {
    let Done { step, images, rows, facts, parcels, state } = done;
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
        labels: (shared.options.label != Label::None)
            .then(|| facts.iter().map(|facts| facts.label).collect()),
        samples: facts.iter().map(|facts| facts.sample).collect(),
        valid: rows.iter().zip(&facts).map(|(row, facts)| row.valid && facts.filled).collect(),
        substituted: facts.iter().map(|facts| facts.substituted).collect(),
        epoch: shared.epoch.number,
        step,
        state,
        parcels: shared.epoch.elsewhere.is_some().then(|| {
            let again = Again { shared: shared.clone(), rows, worker: Mutex::default() };
            Box::new(Parcels { rows: parcels, again })
        }),
        home,
        _token: token.clone(),
    }
}

/// Makes rows of a batch again, when the decoder that they were left to has failed with them.
pub(crate) struct Again {
    shared: Arc<Shared>,
    rows: Vec<Row>,
    /// Behind a lock only so that batches may be looked at by several threads.
    worker: Mutex<Option<Worker>>,
}

impl Again {
    /// Counts a row that was decoded elsewhere.
    pub(crate) fn is_done(&self, row: usize) {
        let epoch = &self.shared.epoch;
        if let Some(place) = self.rows.get(row).and_then(|row| epoch.samples.at(row.position)) {
            epoch.counters.sample(place.stratum);
        }
    }

    /// Makes a row on the thread that calls; `fetched` is its sample, where it was read already.
    ///
    /// # Errors
    /// Those of the sample, as the policy says.
    pub(crate) fn make(
        &mut self,
        row: usize,
        fetched: Option<Fetched>,
    ) -> Result<(RowFacts, BytesMut)> {
        let Shared { epoch, options, quarantine, .. } = &*self.shared;
        let no_row = || Error::usage("row", format!("there is no {row} in the batch"));
        let Row { position, valid } = *self.rows.get(row).ok_or_else(no_row)?;
        let mut task = Task {
            batch: 0,
            row,
            position,
            draws: valid,
            buffer: buffer::allocate(options.output.n_bytes()),
            fetched: fetched.map(Ok),
            again: true,
            parcel: None,
        };
        let worker = self.worker.get_mut().unwrap_or_else(PoisonError::into_inner);
        let worker = match worker {
            Some(worker) => worker,
            none => none.insert(Worker::new(options)?),
        };
        let facts = sample::fill_row(epoch, options, quarantine.as_deref(), worker, &mut task)?;
        let is_filled = facts.filled && valid;
        Ok((RowFacts { filled: is_filled, ..facts }, task.buffer))
    }
}
