//! What a loader is made of: the same for all its epochs and threads.
use crate::{
    batch::Shape,
    dataset::Datasets,
    device::Offload,
    failure::{OnError, Quarantine},
    groups::Groups,
    mix::Mixing,
    options::{Label, Options},
    order::{Batching, Cursor, Order, Place, State, Steps},
    stats::Counters,
};
use fdconvert_core::{Categories, Error, Result};
use std::sync::Arc;

pub(crate) struct Setup {
    pub(crate) datasets: Datasets,
    pub(crate) groups: Groups,
    pub(crate) options: Options,
    pub(crate) quarantine: Option<Quarantine>,
    pub(crate) categories: Option<Categories>,
    pub(crate) mixing: Option<Mixing>,
    pub(crate) offload: Option<Arc<Offload>>,
    pub(crate) counters: Counters,
    fingerprint: u64,
}

impl Setup {
    /// # Errors
    /// `Usage`, naming the option that cannot be, or the dataset that does not fit it; `Io` and
    /// `Corrupt` for a quarantine file.
    pub(crate) fn new(
        datasets: Datasets,
        options: Options,
        offload: Option<Arc<Offload>>,
    ) -> Result<Self> {
        options.check()?;
        let datasets = datasets.showing(&options)?;
        let has_several = options.objects.is_some() && datasets.readers().nth(1).is_some();
        // By a list of classes they are the same everywhere.
        let are_compared = has_several && options.classes.is_none();
        let categories = are_compared.then(Categories::default);
        let mixing = Mixing::new(&datasets, &options)?;
        let quarantine = match &options.failures.policy {
            OnError::Quarantine(path) => Some(Quarantine::open(path)?),
            _ => None,
        };
        // Crops, augmentations and mixing are not part of it, nor is the size at which images are drawn: they
        // may change between two runs.
        let groups = Groups::new(&datasets, &options)?;
        let fingerprint = groups.fingerprint(&datasets)?;
        let datasets = datasets.drawn_for(&options)?;
        let counters = Counters::of_strata(groups.slots().count());
        let setup = Self {
            datasets,
            groups,
            options,
            quarantine,
            categories,
            mixing,
            offload,
            counters,
            fingerprint,
        };
        setup.refuse_empty()?;
        Ok(setup)
    }

    /// Refuses epochs without a batch, in which a training would do nothing.
    fn refuse_empty(&self) -> Result<()> {
        if !self.steps(0)?.is_empty() {
            return Ok(());
        }
        let Options { batch, world, .. } = self.options;
        let n_samples = self.order(0)?.len();
        if n_samples == 0 {
            return Err(Error::usage("weight", "no dataset gives a sample to an epoch"));
        }
        let what = format!(
            "an epoch has no batch: its {n_samples} samples are fewer than the {} of a whole one, and \
             `last` drops what does not fill a batch; take a smaller batch or another `last`",
            u64::from(batch) * u64::from(world.size)
        );
        Err(Error::usage("batch", what))
    }

    /// Returns whether batches have labels that are integers.
    pub(crate) fn has_int_labels(&self) -> bool {
        self.options.label != Label::None && self.datasets.fields().label().is_none()
    }

    /// The order of an epoch.
    ///
    /// # Errors
    /// `Usage` for options that cannot be.
    pub(crate) fn order(&self, epoch: u64) -> Result<Order> {
        self.groups.order(&self.options, epoch)
    }

    /// The steps of an epoch on this rank.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub(crate) fn steps(&self, epoch: u64) -> Result<Steps> {
        let Options { batch, world, last, .. } = self.options;
        let global_batch = batch.saturating_mul(world.size);
        let batching = Batching { global_batch, world, last, uneven: false };
        let order = self.order(epoch)?;
        let steps = Steps::new(&order, batching)?;
        match self.groups.owners() {
            None => Ok(steps),
            Some(owners) => steps.with_owners(order, owners.clone()),
        }
    }

    /// The rank that is asked for a sample, where another cache than that of this rank owns it. The
    /// ranks of a cache share what they are asked for.
    pub(crate) fn rank_to_ask(&self, place: Place) -> Option<u32> {
        let slot = self.groups.owners()?.of(place)?;
        let n_ranks = self.options.ranks_per_cache;
        let which = slot.index.checked_rem(n_ranks.into())?;
        let is_elsewhere = slot.cache != self.options.cache();
        // Less than the ranks of a cache, and together a rank.
        is_elsewhere.then(|| slot.cache * n_ranks + which as u32)
    }

    /// The state before the first batch of an epoch.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub(crate) fn start(&self, epoch: u64) -> Result<State> {
        Ok(self.steps(epoch)?.start(self.fingerprint).state())
    }

    /// The steps after a state.
    ///
    /// # Errors
    /// `Usage` when the state is of other datasets or another seed.
    pub(crate) fn resume(&self, state: &State) -> Result<Cursor> {
        self.steps(state.epoch)?.resume(self.fingerprint, state)
    }

    /// Returns whether batches tell how each row shows its image.
    pub(crate) fn tells_geometry(&self) -> bool {
        self.options.geometry || self.datasets.fields().follow()
    }

    /// The shape of a batch with so many rows.
    pub(crate) fn shape(&self, rows: usize) -> Shape {
        let output = self.options.output;
        let (width, height) = output.size;
        Shape { rows, height, width, channels: 3, layout: output.layout, dtype: output.dtype }
    }
}
