//! The samples of an epoch: their order, their reads, and the handling of failures.
use super::{
    forms,
    reading::{Reading, panicked},
    setup::Setup,
};
use crate::{
    batch::RowFacts,
    dataset::{Datasets, Fetched, Located},
    device::CachedImage,
    exchange::Board,
    failure::{OnError, SUBSTITUTES},
    fields::RowValues,
    options::Options,
    order::{Order, Place, State},
    stats::Stage,
    supply::{Request, Samples, Supply},
    transform::{Change, DrawKey},
};
use fdconvert_core::{Error, Result};
use fdconvert_storage::sigbus;
use std::{
    any::Any,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

/// Smallest unit in which a memory map is read.
const PAGE_BYTES: usize = 4096;

pub(crate) struct Epoch {
    pub(crate) setup: Arc<Setup>,
    pub(crate) number: u64,
    pub(crate) n_samples: u64,
    /// The consumer no longer needs the batches of this epoch.
    pub(crate) stopped: AtomicBool,
    datasets: Datasets,
    supply: Arc<Supply>,
    samples: Box<dyn Samples>,
    /// Order that tells the occurrences of a sample apart, if any sample may repeat.
    repeating: Option<Order>,
    /// Board for the samples of moved rows, if ranks exchange them.
    board: Option<Arc<Board>>,
    max_failures: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Chosen {
    pub(crate) place: Place,
    pub(super) located: Located,
    /// Its number among all samples of all datasets.
    pub(crate) number: u64,
    /// Differs between its occurrences in this epoch.
    pub(super) occurrence: u64,
}

pub(super) enum Remedy {
    /// Skip the row.
    Skip,
    /// Show the next sample instead.
    Substitute(Error),
}

impl Epoch {
    /// Starts the epoch of a state at that state.
    ///
    /// # Errors
    /// The errors of the datasets.
    pub(super) fn new(
        setup: Arc<Setup>,
        supply: Arc<Supply>,
        board: Option<Arc<Board>>,
        state: &State,
    ) -> Result<Self> {
        let order = setup.order(state)?;
        let n_samples = order.len();
        Ok(Self {
            number: state.epoch,
            n_samples,
            stopped: AtomicBool::new(false),
            datasets: setup.datasets.at_epoch(state.epoch)?,
            repeating: order.repeats().then(|| order.clone()),
            samples: supply.samples(order, state.consumed),
            supply,
            board,
            max_failures: setup.options.failures.limit(n_samples),
            setup,
        })
    }

    /// Returns the sample at a position.
    ///
    /// # Errors
    /// `Usage` beyond the end.
    pub(crate) fn at(&self, position: u64) -> Result<Chosen> {
        let place = self.samples.at(position).ok_or_else(|| {
            let what = format!("{position} of {} in the epoch", self.n_samples);
            Error::usage("position", what)
        })?;
        let located = self.setup.groups.locate(&self.datasets, place);
        let occurrence = self.repeating.as_ref().map_or(0, |order| order.occurrence(position));
        Ok(Chosen { place, located, number: self.datasets.number(located), occurrence })
    }

    /// Returns the datasets as they are in this epoch.
    pub(super) fn datasets(&self) -> &Datasets {
        &self.datasets
    }

    /// Returns the sample that the row at a position will read from storage, as far as is known
    /// now.
    pub(super) fn to_read(&self, position: u64) -> Option<Located> {
        let sample = self.at(position).ok()?;
        let is_sent = self.board.as_ref().is_some_and(|board| board.is_open())
            && self.setup.rank_to_ask(sample.place).is_some();
        (!is_sent && self.is_needed(&sample)).then_some(sample.located)
    }

    /// Returns the place, the owning rank and an estimate of the bytes of the sample at a position.
    /// `None` if no other rank owns it, or it is in memory here.
    pub(crate) fn to_ask(&self, position: u64) -> Option<(Place, u32, u64)> {
        let sample = self.at(position).ok()?;
        let rank = self.setup.rank_to_ask(sample.place)?;
        let n_bytes = self.datasets.image_len(sample.located).unwrap_or_default();
        self.is_needed(&sample).then_some((sample.place, rank, n_bytes))
    }

    /// Returns true if a sample from another rank equals that of the dataset, as far as the dataset
    /// can tell.
    pub(crate) fn is_as_stored(&self, place: Place, fetched: &Fetched) -> bool {
        let located = self.setup.groups.locate(&self.datasets, place);
        self.supply.store.is_as_stored(&self.datasets, located, fetched)
    }

    /// Returns true if a sample has to be read or received, as far as is known now.
    fn is_needed(&self, sample: &Chosen) -> bool {
        let is_here = self.cached(sample).is_some() || self.samples.is_kept(sample.place);
        !is_here && !self.is_quarantined(sample)
    }

    /// Returns a sample in the GPU's cache.
    pub(crate) fn cached(&self, sample: &Chosen) -> Option<CachedImage> {
        self.setup.offload.as_ref()?.cached(sample.number)
    }

    /// Returns true if a sample is drawn when its row is made, and never read.
    pub(super) fn is_drawn(&self, sample: &Chosen) -> bool {
        self.datasets.is_drawn(sample.located.dataset)
    }

    /// Draws the changes of each view of a sample in a batch of a bucket, whose image has this width
    /// and height.
    ///
    /// # Errors
    /// `Sample` with the key if an image of this size cannot be changed so.
    pub(crate) fn changes(
        &self,
        sample: &Chosen,
        bucket: u16,
        size: (u32, u32),
    ) -> Result<Vec<Vec<Change>>> {
        let Chosen { number, occurrence, .. } = *sample;
        let Options { seed, sizes, .. } = &self.setup.options;
        let refuse = |what| Error::sample(self.datasets.key(sample.located), what);
        let before = forms::before(sizes, size).map_err(refuse)?;
        let views = self.setup.form(bucket).into_iter().flat_map(|form| form.views.each()).zip(0..);
        let changes = views.map(|(group, view)| {
            let (seed, epoch) = (*seed, self.number);
            let key = DrawKey { seed, epoch, sample: number, occurrence, view };
            let Some(before) = &before else { return group.transform.draw(size, key) };
            let drawn = group.transform.draw(before.size(size), key)?;
            Ok(std::iter::once(before.clone()).chain(drawn).collect())
        });
        changes.collect::<Result<_>>().map_err(|error| match error {
            Error::Usage { what, .. } => Error::sample(self.datasets.key(sample.located), what),
            other => other,
        })
    }

    /// Reads the sample at a position before its decoding, for the row that draws it or for one
    /// that fills up a batch. `None` if nothing needs to be read, and beyond the end of the epoch.
    pub(crate) fn fetch_ahead(&self, position: u64, draws: bool) -> Option<Result<Fetched>> {
        let sample = self.at(position).ok()?;
        if self.cached(&sample).is_some() || self.is_drawn(&sample) {
            return None;
        }
        let fetched = self.fetch(&sample, draws.then_some(position));
        let fetched = fetched.and_then(|fetched| {
            // A memory map reads nothing before its bytes are touched, which is this thread's work.
            let look = || {
                let pages = fetched.image.bytes.iter().step_by(PAGE_BYTES);
                std::hint::black_box(pages.fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
                Ok(())
            };
            if fetched.is_owned { look() } else { sigbus::caught(look) }.map(|()| fetched)
        });
        Some(fetched)
    }

    /// Returns a sample from memory or storage, for the row that draws it or for a row that repeats
    /// or replaces another.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn fetch(&self, sample: &Chosen, drawn_at: Option<u64>) -> Result<Fetched> {
        let began = Instant::now();
        let (counters, stopped) = (&self.setup.counters, &self.stopped);
        let place = sample.place;
        let (read, exchanged) = (&|place| self.read(place), &|at| self.exchanged(at));
        let request = Request { place, drawn_at, counters, stopped, read, exchanged };
        let fetched = self.samples.fetch(request);
        if let Ok(fetched) = &fetched {
            counters.fetched(fetched.image.bytes.len() as u64);
        }
        counters.spent(Stage::Fetch, began.elapsed());
        fetched
    }

    /// Returns the sample of a moved row from its owner; `None` if it has to come from storage.
    ///
    /// # Errors
    /// `Cancelled` if the row is no longer needed.
    fn exchanged(&self, position: u64) -> Result<Option<Fetched>> {
        let Some(board) = &self.board else { return Ok(None) };
        let fetched = board.take(position)?;
        let counters = &self.setup.counters;
        match &fetched {
            Some(fetched) => counters.exchanged(fetched.image.bytes.len() as u64),
            None => counters.not_exchanged(),
        }
        Ok(fetched)
    }

    /// Reads the sample at a place from storage, with retries if they may help.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn read(&self, place: Place) -> Result<Fetched> {
        let Self { setup, supply, datasets, stopped, .. } = self;
        Reading { setup, store: &supply.store, datasets, stopped }.read(place)
    }

    /// Converts a panic over a sample to an error of the sample.
    pub(super) fn panicked(&self, located: Located, panic: &(dyn Any + Send)) -> Error {
        panicked(&self.datasets, located, panic)
    }

    pub(crate) fn count(&self, sample: &Chosen) {
        self.setup.counters.sample(sample.place.stratum);
    }

    /// Returns true if a sample must not be read.
    pub(super) fn is_quarantined(&self, sample: &Chosen) -> bool {
        self.setup.quarantine.as_ref().is_some_and(|it| it.holds(sample.number))
    }

    /// Counts a failure and applies the policy.
    ///
    /// # Errors
    /// The failure if it ends the epoch, and the errors of the quarantine file.
    pub(super) fn failed(&self, sample: &Chosen, error: Error) -> Result<Remedy> {
        let n_failures = self.setup.counters.failed();
        let policy = &self.setup.options.failures.on_error;
        if matches!(policy, OnError::Raise) {
            return Err(self.named(sample, error));
        }
        let key = self.datasets.key(sample.located);
        if n_failures > self.max_failures {
            let (epoch, most) = (self.number, self.max_failures);
            let what = error.remark().reworded(|last| {
                format!(
                    "{n_failures} samples failed in epoch {epoch}, more than {most} are not borne; \
                     the last: {last}"
                )
            });
            return Err(Error::sample(key, what));
        }
        if matches!(policy, OnError::Skip) {
            return Ok(Remedy::Skip);
        }
        if let Some(quarantine) = &self.setup.quarantine {
            quarantine.add(sample.number, &key, &error)?;
        }
        Ok(Remedy::Substitute(error))
    }

    /// Adds dataset, number and key of the sample to the error, so that it can be found.
    fn named(&self, sample: &Chosen, error: Error) -> Error {
        let dataset = self.datasets.name(sample.located.dataset);
        let key = self.datasets.key(sample.located);
        let which = format!("(number {} of {dataset})", sample.number);
        let what = match error {
            Error::Sample { what, .. } => what,
            // Errors of the system keep their kind, because the data are not at fault.
            Error::Io { .. } | Error::Cancelled => return error,
            other => other.remark(),
        };
        Error::sample(key, what.reworded(|what| format!("{which} {what}")))
    }

    /// Returns the error for a row without any usable sample: neither its sample nor a substitute.
    pub(super) fn exhausted(&self, sample: &Chosen, last: Option<Error>) -> Error {
        let cause = last.map_or_else(|| "all are in quarantine".into(), |error| error.remark());
        let what = cause.reworded(|cause| {
            format!("neither it nor the {SUBSTITUTES} samples after it can be read: {cause}")
        });
        Error::sample(self.datasets.key(sample.located), what)
    }
}

impl RowFacts {
    /// Returns the facts of a skipped row.
    pub(super) fn skipped(sample: &Chosen) -> Self {
        let values = RowValues::default();
        Self {
            sample: sample.number,
            occurrence: sample.occurrence,
            values,
            followed: Vec::new(),
            filled: false,
            substituted: false,
            size: (0, 0),
        }
    }
}
