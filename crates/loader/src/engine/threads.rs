//! The threads of an epoch.

use super::{
    ahead,
    epoch::Epoch,
    queue::{Done, Queue},
    row::RowMaker,
};
use crate::{
    batch::{Batch, Home, HostImages, Images, RowFacts},
    buffer,
    column::{Column, Columns},
    dataset::Located,
    device::{DeviceRows, Offload},
    follow::Followed,
    mix::Blend,
    order::Cursor,
};
use bytes::BytesMut;
use fdconvert_core::{Error, Result, Window};
use std::{
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
    thread::{self, JoinHandle},
    time::Instant,
};

pub(super) struct Running {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    pub(super) began: Instant,
}

pub(super) struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    /// Signals a row that was read and has to be decoded. Other threads wait for this than for
    /// work: a single notification must not wake a thread that cannot use it.
    arrived: Condvar,
    pub(super) ready: Condvar,
    /// Window of samples to read ahead, if a dataset can use it.
    ahead: Option<Window<'static, Located>>,
    process: u32,
    pub(super) epoch: Arc<Epoch>,
}

impl Running {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` if the system has no thread left; none runs then.
    pub(super) fn start(shared: Shared) -> Result<Self> {
        let mut running =
            Self { shared: Arc::new(shared), threads: Vec::new(), began: Instant::now() };
        let epoch = running.shared.epoch.clone();
        let options = &epoch.setup.options;
        let fetches = options.fetch_threads > 0;
        for number in 0..options.n_threads() {
            let (shared, rows) = (running.shared.clone(), RowMaker::new(epoch.clone()));
            running.spawn(format!("decode-{number}"), move || shared.decode(rows, !fetches))?;
        }
        for number in 0..options.fetch_threads {
            let shared = running.shared.clone();
            running.spawn(format!("fetch-{number}"), move || shared.fetch())?;
        }
        Ok(running)
    }

    /// Returns true if the threads belong to another process, from which this one was forked.
    pub(super) fn is_foreign(&self) -> bool {
        self.shared.process != process::id()
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(self) {
        self.shared.stop();
        for thread in self.threads {
            // Panics are caught per sample; nothing is left to report.
            let _ = thread.join();
        }
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
    pub(super) fn new(queue: Queue, epoch: Epoch, cursor: Cursor) -> Self {
        let epoch = Arc::new(epoch);
        Self {
            ahead: ahead::window(&epoch, cursor),
            queue: Mutex::new(queue),
            work: Condvar::new(),
            arrived: Condvar::new(),
            ready: Condvar::new(),
            process: process::id(),
            epoch,
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

    /// Runs a decoding thread; it `claims` rows if no other threads read for it.
    fn decode(&self, mut rows: RowMaker, claims: bool) {
        let batch_rows = self.epoch.setup.options.batch_size as usize;
        let mut queue = self.lock();
        loop {
            if queue.stopped || queue.is_exhausted() {
                return;
            }
            let task = queue
                .take_fetched()
                .or_else(|| if claims { queue.claim(batch_rows) } else { None });
            let Some(mut task) = task else {
                queue = self.wait(queue, if claims { &self.work } else { &self.arrived });
                continue;
            };
            drop(queue);
            // For a fetched row, another thread has announced this.
            let number = claims.then_some(task.number);
            let made = self.reading(number, || rows.fill(&mut task));
            let batch = task.batch;
            queue = self.lock();
            if queue.finish(task, made) {
                queue = self.mix(queue, batch);
                self.ready.notify_all();
            }
        }
    }

    /// Runs a thread that only reads.
    fn fetch(&self) {
        let batch_rows = self.epoch.setup.options.batch_size as usize;
        let mut queue = self.lock();
        loop {
            if queue.stopped || queue.is_exhausted() {
                return;
            }
            let Some(mut task) = queue.claim(batch_rows) else {
                queue = self.wait(queue, &self.work);
                continue;
            };
            drop(queue);
            let (position, draws) = (task.position, task.draws);
            task.fetched =
                self.reading(Some(task.number), || self.epoch.fetch_ahead(position, draws));
            queue = self.lock();
            queue.put_fetched(task);
            self.arrived.notify_one();
        }
    }

    /// Reads the sample of that claim, in the order of the announcements.
    fn reading<T>(&self, number: Option<u64>, read: impl FnOnce() -> T) -> T {
        let (Some(ahead), Some(number)) = (&self.ahead, number) else { return read() };
        ahead.before(number);
        let result = read();
        ahead.after(number);
        result
    }

    /// Waits for work. A thread that finds none may have opened a batch without rows, or found the
    /// end, so that it wakes the consumer to check.
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
            // A batch that a forked child inherited: a thread that the child does not have may hold
            // the lock.
            return;
        }
        self.lock().give_back(buffer);
        self.work.notify_all();
    }
}

/// Creates a batch for the consumer, and its rows that are left to a GPU.
///
/// # Errors
/// `Usage` for fields that a batch cannot hold, which were refused when the loader was created.
pub(super) fn batch(
    shared: &Arc<Shared>,
    done: Done,
    token: &Arc<()>,
) -> Result<(Batch, Option<Box<DeviceRows>>)> {
    let Done { step, bucket, images, apart, rows, facts, device_rows, labels, state } = done;
    let setup = &shared.epoch.setup;
    let images = if apart.is_empty() { images } else { buffer::gather(images, apart) };
    let no_form = || Error::usage("loader", "a batch has no form, which is a bug");
    let form = setup.form(bucket).ok_or_else(no_form)?;
    let home: Weak<dyn Home> = Arc::downgrade(&(shared.clone() as Arc<dyn Home>));
    let values = facts.iter().map(|facts| facts.values.fields.as_deref());
    let followed = |view| facts.iter().map(move |facts: &RowFacts| facts.followed.get(view));
    let objects =
        |view| followed(view).map(|followed: Option<&Followed>| followed?.objects.as_ref());
    let geometry = |view| {
        let row = |followed: Option<&Followed>| followed.map(|it| it.geometry).unwrap_or_default();
        followed(view).map(row).collect::<Vec<_>>()
    };
    let n_views = setup.views.each().count();
    let mut others = Vec::new();
    let (first, further) = form.fields.split_first().ok_or_else(no_form)?;
    for (fields, view) in further.iter().zip(1..) {
        let values = followed(view).map(|it: Option<&Followed>| it?.values.as_deref());
        others.push(Columns::new(fields, values, objects(view))?);
    }
    let blend = setup.mixing.as_ref().map(|mixing| mixing.blend(shared.epoch.number, step));
    let blend = blend.unwrap_or(Blend::None);
    let batch = Batch {
        images: Images::Host(HostImages { buffer: images, home, _token: token.clone() }),
        views: form.views.clone(),
        sizes: setup.options.sizes.clone(),
        row_sizes: facts.iter().map(|facts| facts.size).collect(),
        labels: match &setup.mixing {
            Some(mixing) => Some(match labels {
                Some(labels) => labels,
                // A batch without rows has no last row.
                None => mixing.labels(&blend, std::iter::empty())?,
            }),
            None => setup
                .has_int_labels()
                .then(|| Column::Int(facts.iter().map(|facts| facts.values.label).collect())),
        },
        blend,
        columns: Columns::new(first, values, objects(0))?,
        others,
        geometry: match setup.tells_geometry() {
            true => (0..n_views).map(geometry).collect(),
            false => Vec::new(),
        },
        samples: facts.iter().map(|facts| facts.sample).collect(),
        occurrences: facts.iter().map(|facts| facts.occurrence).collect(),
        valid: rows.iter().zip(&facts).map(|(row, facts)| row.valid && facts.filled).collect(),
        substituted: facts.iter().map(|facts| facts.substituted).collect(),
        epoch: shared.epoch.number,
        step,
        state,
    };
    let left = |offload: &Arc<Offload>| offload.rows(device_rows, rows, shared.epoch.clone());
    Ok((batch, setup.offload.as_ref().map(left).map(Box::new)))
}
