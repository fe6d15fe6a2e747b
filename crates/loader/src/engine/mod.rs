//! The loader: plain threads around one queue.
//!
//! ```text
//! Loader              next() waits for the oldest batch, in order; dropping it gives its memory back
//! Device              (if any) has rows of the next batches decoded by a GPU
//! Producer, Queue     batches in the making -> rows; opens a batch when a buffer is free
//! decoding threads    claim a row, read its sample, decode it into the row, give it back
//!                     the one that makes the last row of a batch mixes them, if that is asked for
//! fetching threads    (if any) claim a row, read its sample, leave it to the decoding threads
//! Window              (for datasets in stores) announces the samples of the next rows
//! Board               (if ranks exchange samples) has those of moved rows, which a thread asks for
//! (drawn images)      are made by the decoding threads; there is nothing to read
//! ```
//!
//! A thread makes rows with its own `RowMaker`; all of them share an `Epoch`. Where bytes come
//! from, memory or storage, is the business of `supply`.
//!
//! Order, crops and augmentations follow from seed, epoch and sample alone, so batches are the same
//! for any number of threads. What is in flight is bounded by the buffers of the ring. A consumer
//! that keeps its batches and asks for more lets the ring grow up to `prefetch_bytes`, and stops the
//! threads then; nothing else can grow.

mod ahead;
mod drawn;
mod epoch;
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

/// Makes batches of datasets ahead of the loop that takes them, in the host's memory or, with
/// [`Options::device`], in that of a GPU.
///
/// ```no_run
/// use fdconvert_loader::{Datasets, Loader, Options};
///
/// let datasets = Datasets::open("train.beton")?;
/// let mut loader = Loader::new(datasets, Options { batch_size: 256, ..Options::default() })?;
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
/// A process that was forked off resumes where its parent was, with threads of its own.
pub struct Loader {
    setup: Arc<Setup>,
    producer: Producer,
    device: Option<Device>,
    /// State to resume from after the last batch that was handed over.
    state: State,
    since: Instant,
}

/// Outcome of waiting for a batch.
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
    /// `Corrupt` for a quarantine file. With a GPU also `Device` when there is no driver, no such
    /// GPU, or no nvJPEG where it is to decode all.
    pub fn new(datasets: Datasets, options: Options) -> Result<Self> {
        let device = setup::open_device(&datasets, &options)?;
        let offload = device.as_ref().map(Device::offload);
        let setup = Arc::new(Setup::new(datasets, options, offload)?);
        let producer = Producer::new(setup.clone())?;
        Ok(Self { state: producer.state(), setup, producer, device, since: Instant::now() })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.setup.options
    }

    /// The datasets.
    #[must_use]
    pub fn datasets(&self) -> &Datasets {
        &self.setup.datasets
    }

    /// The shape of a full batch.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.setup.shape(self.setup.options.batch_size as usize)
    }

    /// Batches of a whole epoch on this rank; the same on every rank.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.setup.steps(0).map_or(0, |steps| steps.len())
    }

    /// Returns whether an epoch has no batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Samples of an epoch, on all ranks together: those of datasets with a weight as often as they
    /// come.
    #[must_use]
    pub fn n_samples(&self) -> u64 {
        self.setup.order(0).map_or(0, |order| order.len())
    }

    /// For each group of samples that are spread evenly: how many there are, and how many of them
    /// are kept in memory. One for each codec of a mixed set, else one for each dataset.
    #[must_use]
    pub fn residents(&self) -> Vec<(u64, u64)> {
        self.setup.groups.slots().collect()
    }

    /// Why images that are to be read directly come from the page cache or from memory, where they
    /// do: file and reason. Known once files were opened, with the first batch.
    #[must_use]
    pub fn cached_because(&self) -> Option<String> {
        self.producer.cached_because()
    }

    /// Images of more than 8 bits per channel that were rounded to 8 so far, as
    /// [`Stats::rounded`] is, at no cost.
    #[must_use]
    pub fn rounded(&self) -> u64 {
        self.setup.counters.n_rounded()
    }

    /// Why moved rows are read from storage that were to come from their owners, where they are: what
    /// ended the exchange of [`Options::exchange`].
    #[must_use]
    pub fn exchange_failure(&self) -> Option<String> {
        self.producer.exchange_failure()
    }

    /// Ends the threads, as [`stop`](Self::stop) does, and leaves the exchange: moved rows are read
    /// from storage from now on, on all ranks. Waits up to that time until the others know, and
    /// returns whether they do; while all of them live that takes about half a second. A loader
    /// that is dropped leaves, too, and does not wait for its thread.
    pub fn leave_exchange(&mut self, patience: Duration) -> bool {
        self.stop();
        self.producer.leave_exchange(patience)
    }

    /// The epoch that the next batch belongs to.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Returns where to resume after the last batch that was handed over: the whole checkpoint,
    /// which a loader with or without a GPU takes. Batches that are made ahead do not count.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Resumes after a checkpoint, of this or another world size, number of threads or batch.
    ///
    /// # Errors
    /// `Usage` when the checkpoint is of other datasets or another seed, and when batches have been
    /// taken already: they would come twice.
    pub fn restore(&mut self, state: &State) -> Result<()> {
        if self.producer.is_running() || self.device.as_ref().is_some_and(Device::is_busy) {
            let what = "an epoch is under way; restore before the first batch is taken, or stop";
            return Err(Error::usage("state", what));
        }
        let cursor = self.setup.resume(state)?;
        self.state = if cursor.remaining() == 0 && state.consumed > 0 {
            self.setup.start(state.epoch.wrapping_add(1))?
        } else {
            *state
        };
        self.stop();
        Ok(())
    }

    /// Makes that epoch the next one. Changes nothing when the loader stands in it already, so that
    /// a loop over epochs may begin with a restored one.
    ///
    /// # Errors
    /// `Usage` for options that cannot be.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        if epoch != self.state.epoch {
            self.state = self.setup.start(epoch)?;
            self.stop();
        }
        Ok(())
    }

    /// The next batch, `None` at the end of the epoch; the call after that begins the next one. It
    /// waits where [`waits_for_memory`](Self::waits_for_memory), until a batch is dropped.
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

    /// As [`next_batch`](Self::next_batch), but comes back after that time at the latest. A batch
    /// that is handed over is complete, also on a GPU: nothing has to be waited for.
    ///
    /// # Errors
    /// Those of samples, as the policy says, and `Device` when the driver of a GPU fails; the epoch
    /// is over then.
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
            // Batches that were in flight are made again when the next one is asked for.
            Err(_) => self.stop(),
        }
        next
    }

    /// Returns whether the next batch waits until one that was handed over is dropped: those that
    /// are kept take all of [`Options::prefetch_bytes`].
    #[must_use]
    pub fn waits_for_memory(&self) -> bool {
        self.producer.waits_for_memory()
    }

    /// Ends the threads; batches made ahead are dropped. The next batch asked for starts them again
    /// where they were.
    pub fn stop(&mut self) {
        if let Some(device) = &mut self.device {
            device.clear();
        }
        self.producer.stop_at(self.state);
    }

    /// Returns what the loader has done since it was made or since
    /// [`reset_stats`](Self::reset_stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Setup { counters, options, .. } = &*self.setup;
        let stats = counters.read(options.n_threads(), self.since.elapsed());
        let decoded = self.device.as_ref().map(Device::decoded);
        Stats { kept: self.producer.n_kept(), decoded, ..stats }
    }

    /// Begins the statistics from zero.
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
