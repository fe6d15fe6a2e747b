//! The loader: plain threads around one queue.
//!
//! ```text
//! Loader              next() waits for the oldest batch; dropping it returns its memory
//! Device              (if any) decodes rows of the next batches on a GPU
//! Producer, Queue     batches in the making -> rows; opens a batch when a buffer is free
//! decoding threads    claim a row, read its sample, decode it into the row, give it back
//!                     the one that makes the last row of a batch mixes them, if requested
//! fetching threads    (if any) claim a row, read its sample, leave it to the decoding threads
//! Window              (for datasets in stores) announces the samples of the next rows
//! Board               (if ranks exchange samples) has those of moved rows, which a thread requests
//! (drawn images)      are made by the decoding threads; there is nothing to read
//! ```
//!
//! A thread makes rows with its own `RowMaker`; all of them share an `Epoch`. `supply` provides the
//! bytes, from memory or storage.
//!
//! Order, crops and augmentations follow from seed, epoch and sample alone, so that batches are the
//! same for any number of threads. The buffers of the ring bound the work in flight. A consumer
//! that keeps its batches lets the ring grow up to `prefetch_bytes`, and then the threads stop;
//! nothing else can grow.

mod ahead;
mod drawn;
mod epoch;
mod forms;
mod mixed;
mod producer;
mod queue;
mod reading;
mod row;
mod setup;
mod threads;

pub(crate) use epoch::Epoch;
pub(crate) use producer::Produced;
pub(crate) use reading::Reading;
#[cfg(feature = "gpu")]
pub(crate) use row::RowMaker;
pub(crate) use setup::Setup;

use crate::{
    batch::{Batch, Shape},
    dataset::Datasets,
    device::Device,
    options::Options,
    order::State,
    stats::Stats,
};
use fdconvert_core::{Error, Result};
use producer::Producer;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Loader that makes batches ahead of the consumer, in host memory or, with [`Options::device`], in
/// GPU memory.
///
/// ```no_run
/// use fdconvert_loader::{Datasets, Loader, Options};
///
/// let datasets = Datasets::open("train.beton")?;
/// let mut loader = Loader::new(datasets, Options::default().batch_size(256))?;
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
/// A forked process resumes at the point of its parent, with new threads.
pub struct Loader {
    setup: Arc<Setup>,
    producer: Producer,
    device: Option<Device>,
    /// State to resume from after the last delivered batch.
    state: State,
    since: Instant,
}

/// Outcome of waiting for a batch.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once, and is mostly a batch")]
pub enum Waited {
    /// Next batch.
    Batch(Batch),
    /// End of the epoch.
    End,
    /// Timeout before the batch was ready.
    NotYet,
}

impl Loader {
    /// Creates a loader for epoch 0. Threads start with the first requested batch.
    ///
    /// # Errors
    /// `Usage`, with the name of the invalid option or of the dataset that does not fit it; `Io`
    /// and `Corrupt` for a quarantine file. With a GPU also `Device` without a driver, without such
    /// a GPU, or without a required nvJPEG.
    pub fn new(datasets: Datasets, options: Options) -> Result<Self> {
        let device = setup::open_device(&datasets, &options)?;
        let offload = device.as_ref().map(Device::offload);
        let setup = Arc::new(Setup::new(datasets, options, offload)?);
        let producer = Producer::new(setup.clone())?;
        Ok(Self { state: producer.state(), setup, producer, device, since: Instant::now() })
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.setup.options
    }

    /// Returns the datasets.
    #[must_use]
    pub fn datasets(&self) -> &Datasets {
        &self.setup.datasets
    }

    /// Returns the shape of the first view of a full batch; with sizes, of the largest.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.setup.views.shape(self.setup.options.batch_size as usize)
    }

    /// Returns the number of batches in a whole epoch on this rank; it is the same on every rank.
    /// With [`SampleList::ByEpoch`](crate::SampleList::ByEpoch) it is that of the epoch of the next
    /// batch, and 0 if its list is wrong.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.setup.steps(&self.state).map_or(0, |steps| steps.len())
    }

    /// Returns true if an epoch has no batches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of samples in an epoch on all ranks together, with repetitions; of the same
    /// epoch as [`len`](Self::len).
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.setup.order(&self.state).map_or(0, |order| order.len())
    }

    /// Returns the number of samples, and the number kept in memory, of each group of samples that
    /// are spread evenly. There is one group for each codec of a mixed set, if the sampling spreads
    /// them, else one for each dataset.
    #[must_use]
    pub fn residents(&self) -> Vec<(u64, u64)> {
        self.setup.groups.slots().collect()
    }

    /// Returns the file and the reason if direct reads come from the page cache or memory instead.
    /// It is known once files are open, with the first batch.
    #[must_use]
    pub fn cached_because(&self) -> Option<String> {
        self.producer.cached_because()
    }

    /// Returns the number of images of more than 8 bits per channel that were rounded to 8 so far.
    /// It is [`Stats::rounded`] at no cost.
    #[must_use]
    pub fn rounded(&self) -> u64 {
        self.setup.counters.n_rounded()
    }

    /// Returns the reason if moved rows are read from storage instead of received from their
    /// owners: the failure that ended the exchange of [`Options::exchange`].
    #[must_use]
    pub fn exchange_failure(&self) -> Option<String> {
        self.producer.exchange_failure()
    }

    /// Ends the threads like [`stop`](Self::stop) and leaves the exchange: from then on all ranks
    /// read moved rows from storage. Waits at most `patience` until the other ranks know, and
    /// returns whether they do; while all of them live, that takes about half a second. Dropping a
    /// loader also leaves, without waiting for its thread.
    pub fn leave_exchange(&mut self, patience: Duration) -> bool {
        self.stop();
        self.producer.leave_exchange(patience)
    }

    /// Returns the epoch of the next batch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Returns the state to resume from after the last delivered batch: the whole checkpoint, valid
    /// for a loader with or without a GPU. Batches made ahead do not count.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Resumes from a checkpoint, with the same or another world size, number of threads or batch
    /// size.
    ///
    /// # Errors
    /// `Usage` if the checkpoint has other datasets or another seed, and if batches have been taken
    /// already, because they would repeat.
    pub fn restore(&mut self, state: &State) -> Result<()> {
        if self.producer.is_running() || self.device.as_ref().is_some_and(Device::is_busy) {
            let what = "an epoch is under way; restore before the first batch is taken, or stop";
            return Err(Error::usage("state", what));
        }
        let cursor = self.setup.resume(state)?;
        self.state = if cursor.remaining() == 0 && state.consumed > 0 {
            self.setup.start(state.epoch.wrapping_add(1))
        } else {
            *state
        };
        self.stop();
        Ok(())
    }

    /// Makes `epoch` the next one. Does nothing if the loader is in that epoch already, so that a
    /// loop over epochs may begin with a restored one.
    ///
    /// # Errors
    /// `Usage` for invalid options.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        if epoch != self.state.epoch {
            self.state = self.setup.start(epoch);
            self.stop();
        }
        Ok(())
    }

    /// Returns the next batch, `None` at the end of the epoch; the call after that begins the next
    /// one. If [`waits_for_memory`](Self::waits_for_memory), blocks until a batch is dropped.
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

    /// As [`next_batch`](Self::next_batch), but returns after `patience` at the latest. A delivered
    /// batch is complete, also on a GPU, so that no synchronisation is needed.
    ///
    /// # Errors
    /// The errors of samples, subject to the policy, and `Device` if the driver of a GPU fails; the
    /// epoch is over then.
    pub fn next_for(&mut self, patience: Duration) -> Result<Waited> {
        let Self { producer, device, .. } = self;
        let next = match device {
            None => producer.next_for(patience).map(|(next, _)| next),
            Some(device) => device.next_for(patience, |patience| producer.next_for(patience)),
        };
        match &next {
            Ok(Waited::Batch(batch)) => self.state = batch.state(),
            Ok(Waited::End) => self.state = self.producer.state(),
            Ok(Waited::NotYet) => {}
            // The next request makes the batches in flight again.
            Err(_) => self.stop(),
        }
        next
    }

    /// Returns true if the next batch waits for a delivered one to be dropped, because the kept
    /// ones take all of [`Options::prefetch_bytes`].
    #[must_use]
    pub fn waits_for_memory(&self) -> bool {
        self.producer.waits_for_memory()
    }

    /// Ends the threads and drops batches made ahead. The next requested batch restarts them at the
    /// same point.
    pub fn stop(&mut self) {
        if let Some(device) = &mut self.device {
            device.clear();
        }
        self.producer.stop_at(self.state);
    }

    /// Returns the statistics since the loader was created or since
    /// [`reset_stats`](Self::reset_stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Setup { counters, options, .. } = &*self.setup;
        let stats = counters.read(options.n_threads(), self.since.elapsed());
        let decoded = self.device.as_ref().map(Device::decoded);
        Stats { kept: self.producer.n_kept(), decoded, ..stats }
    }

    /// Resets the statistics to zero.
    pub fn reset_stats(&mut self) {
        self.setup.counters.reset();
        if let Some(device) = &mut self.device {
            device.reset_stats();
        }
        self.since = Instant::now();
    }
}

impl Iterator for Loader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch()
    }
}
