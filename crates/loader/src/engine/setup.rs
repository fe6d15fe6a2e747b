//! The parts of a loader that are the same for all its epochs and threads.
//!
//! The parts of the loader do not see [`Options`]: each gets its share from here.
use super::forms::{self, Form};
use crate::{
    dataset::{Datasets, Label},
    decoding::DecodeOptions,
    device::{Device, Offload},
    exchange::ExchangeOptions,
    failure::{OnError, Quarantine},
    fields::{Asked, Fields},
    follow::FollowOptions,
    groups::{Groups, KeepOptions},
    mix::Mixing,
    options::Options,
    order::{Batching, Cursor, Order, Place, State, Steps},
    sizes::Sizes,
    stats::Counters,
    supply::{Supply, SupplyOptions},
    views::Views,
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
    /// The views of the largest form.
    pub(crate) views: Views,
    /// The forms of batches, by bucket.
    forms: Vec<Form>,
    pub(crate) offload: Option<Arc<Offload>>,
    pub(crate) counters: Counters,
    fingerprint: u64,
}

impl Setup {
    /// # Errors
    /// `Usage`, with the name of the invalid option or of the dataset that does not fit it; `Io`
    /// and `Corrupt` for a quarantine file.
    pub(crate) fn new(
        datasets: Datasets,
        options: Options,
        offload: Option<Arc<Offload>>,
    ) -> Result<Self> {
        let all_views = forms::views_of(&options, datasets.have_images())?;
        let largest = all_views.iter().max_by_key(|views| views.row_bytes());
        // There is a form.
        let Some(views) = largest.cloned() else { return Err(Error::usage("sizes", "no form")) };
        options.check(&views)?;
        let asked = asked(&options, &views);
        let datasets = datasets.showing(&options.label, &asked, options.batch_size)?;
        refuse_following(datasets.fields(), &options, &views)?;
        refuse_images(datasets.fields(), &options)?;
        let form = |views| Form::new(views, datasets.fields());
        let forms = all_views.into_iter().map(form).collect();
        let has_several = options.objects.is_some() && datasets.readers().nth(1).is_some();
        // With a list of classes the numbers are the same everywhere.
        let are_compared = has_several && options.classes.is_none();
        let categories = are_compared.then(Categories::default);
        let Options { batch_size, seed, .. } = options;
        let mixed = views.single().and_then(|view| Some((*view.transform.mix()?, view.output)));
        let mixing =
            mixed.map(|(mix, output)| Mixing::new(&datasets, mix, batch_size, output, seed));
        let mixing = mixing.transpose()?;
        let quarantine = match &options.failures.on_error {
            OnError::Quarantine(path) => Some(Quarantine::open(path)?),
            _ => None,
        };
        // Views, mixing and the size of drawn images are not included: they may change between two
        // runs.
        let keep = KeepOptions {
            bytes: options.cache_bytes,
            policy: options.cache_policy,
            n_owners: options.locality.then(|| options.n_caches()),
        };
        let classes = |field: &str| datasets.classes_of(field, options.classes.as_ref());
        if views.bands().is_some() && datasets.have_drawn() {
            let what = "Bands are read from files, and a recipe draws RGB: leave Bands out";
            return Err(Error::usage("transform", what));
        }
        let groups = Groups::new(&datasets, &options.sampling, classes, seed, &keep)?;
        let groups = match &options.sizes {
            Sizes::Buckets(buckets) => {
                let orient = options.orient;
                let nearest = |located| buckets.nearest(datasets.image_size(located, orient));
                groups.with_buckets(&datasets, buckets.sizes().len() as u16, nearest)?
            }
            _ => groups,
        };
        let fingerprint = groups.fingerprint(&datasets)?;
        let datasets = datasets.drawn_for(views.draw_side())?;
        let counters = Counters::of_strata(groups.slots().count());
        let setup = Self {
            datasets,
            groups,
            options,
            quarantine,
            categories,
            mixing,
            views,
            forms,
            offload,
            counters,
            fingerprint,
        };
        // A function that makes lists is not called before the epoch of its list.
        if !setup.groups.is_by_epoch() {
            setup.refuse_empty(&setup.steps(&setup.start(0))?)?;
        }
        Ok(setup)
    }

    /// Refuses epochs without a batch, in which a training would do nothing.
    fn refuse_empty(&self, steps: &Steps) -> Result<()> {
        if !steps.is_empty() {
            return Ok(());
        }
        let Options { batch_size, world, .. } = self.options;
        let n_samples = steps.n_samples;
        if n_samples == 0 {
            return Err(Error::usage("weight", "no dataset gives a sample to an epoch"));
        }
        if let Sizes::Buckets(_) = self.options.sizes {
            let what = format!(
                "an epoch has no batch: no bucket has the {} samples of a whole one, and `last` drops \
                 what does not fill a batch; take a smaller batch, fewer buckets or another `last`",
                self.global_batch()
            );
            return Err(Error::usage("batch_size", what));
        }
        let what = format!(
            "an epoch has no batch: its {n_samples} samples are fewer than the {} of a whole one, and \
             `last` drops what does not fill a batch; take a smaller batch or another `last`",
            u64::from(batch_size) * u64::from(world.size)
        );
        Err(Error::usage("batch_size", what))
    }

    /// Returns true if batches have integer labels.
    pub(crate) fn has_int_labels(&self) -> bool {
        self.options.label != Label::None && self.datasets.fields().label().is_none()
    }

    /// Creates a supply without open files.
    ///
    /// # Errors
    /// As [`Supply::new`].
    pub(super) fn supply(&self) -> Result<Supply> {
        let Self { options, datasets, groups, .. } = self;
        let supply = SupplyOptions {
            access: options.access,
            verify: options.verify,
            seed: options.seed,
            n_ranks: options.world.size,
            label: &options.label,
            cache_bytes: options.cache_bytes,
            cache_folder: options.cache_folder.as_deref(),
            cache: options.cache(),
        };
        Supply::new(datasets, groups, &supply)
    }

    /// Returns the options of the exchange between ranks, if there is one.
    pub(super) fn exchanging(&self) -> Option<ExchangeOptions> {
        let Options { world, ahead_bytes, .. } = self.options;
        let exchange = self.options.exchange.clone().filter(|_| world.size > 1)?;
        Some(ExchangeOptions {
            exchange,
            world,
            ahead_bytes,
            n_buffers: self.options.n_buffers(&self.views),
        })
    }

    pub(super) fn decoding(&self) -> DecodeOptions {
        let Options { limits, orient, .. } = self.options;
        DecodeOptions { limits, orient }
    }

    pub(super) fn following(&self) -> FollowOptions {
        let objects = self.options.objects.clone();
        FollowOptions { decode: self.decoding(), objects }
    }

    /// Returns the form of the batches of a bucket.
    pub(crate) fn form(&self, bucket: u16) -> Option<&Form> {
        self.forms.get(usize::from(bucket))
    }

    /// Returns the number of samples per step, over all ranks.
    fn global_batch(&self) -> u32 {
        self.options.batch_size.saturating_mul(self.options.world.size)
    }

    /// Returns the order of the epoch of a state.
    ///
    /// # Errors
    /// `Usage` for a list of samples that is wrong, and the errors of the function that makes it.
    pub(crate) fn order(&self, state: &State) -> Result<Order> {
        // An epoch keeps the runs of its buckets, whatever batch it continues with.
        let run = if state.consumed == 0 { self.global_batch() } else { state.global_batch };
        self.groups.order(state.epoch, run)
    }

    /// Returns the steps of the epoch of a state on this rank.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub(crate) fn steps(&self, state: &State) -> Result<Steps> {
        let Options { world, last, .. } = self.options;
        let global_batch = self.global_batch();
        let batching = Batching { global_batch, world, last, uneven: false };
        let order = self.order(state)?;
        let steps = Steps::new(&order, batching)?;
        match self.groups.owners() {
            None => Ok(steps),
            Some(owners) => steps.with_owners(order, owners.clone()),
        }
    }

    /// Returns the rank to ask for a sample that a cache other than this rank's owns. The ranks of
    /// a cache share the requests to it.
    pub(crate) fn rank_to_ask(&self, place: Place) -> Option<u32> {
        let slot = self.groups.owners()?.of(place)?;
        let n_ranks = self.options.ranks_per_cache;
        let which = slot.index.checked_rem(n_ranks.into())?;
        let is_elsewhere = slot.cache != self.options.cache();
        // Less than the number of ranks of a cache; with the cache's first rank it gives a rank.
        is_elsewhere.then(|| slot.cache * n_ranks + which as u32)
    }

    /// Returns the state before the first batch of an epoch.
    pub(crate) fn start(&self, epoch: u64) -> State {
        self.groups.start(self.fingerprint, epoch, self.global_batch())
    }

    /// Returns the steps after a state.
    ///
    /// # Errors
    /// `Usage` if the state has other datasets or another seed, and as [`order`](Self::order).
    pub(crate) fn resume(&self, state: &State) -> Result<Cursor> {
        let steps = self.steps(state)?;
        self.refuse_empty(&steps)?;
        steps.resume(self.fingerprint, state).map_err(|error| self.with_versions(error))
    }

    /// Adds to the refusal of a checkpoint that it may be of another version of a dataset.
    fn with_versions(&self, error: Error) -> Error {
        let versions = self.datasets.versions();
        let edited = versions.iter().flatten().filter(|(_, version)| *version > 1);
        let edited: Vec<_> = edited
            .map(|(name, version)| {
                format!(
                    "{name} is version {version} of a dataset that changes: open the one that the \
                     checkpoint is of, such as {name}@{}, if an edit has kept it (`fdconvert log` \
                     lists them)",
                    version - 1
                )
            })
            .collect();
        match error {
            Error::Usage { option, what } if !edited.is_empty() => {
                let edited = edited.join("; ");
                Error::Usage { option, what: what.reworded(|what| format!("{what}; {edited}")) }
            }
            error => error,
        }
    }

    /// Returns true if batches describe the placement of the image in each row.
    pub(crate) fn tells_geometry(&self) -> bool {
        self.options.geometry || self.datasets.fields().follow()
    }
}

/// Opens the GPU in the options, if there is one.
///
/// # Errors
/// As [`Device::open`]; `Usage` for options that a GPU does not support.
pub(super) fn open_device(datasets: &Datasets, options: &Options) -> Result<Option<Device>> {
    let Some(device) = &options.device else { return Ok(None) };
    forms::views_of(options, datasets.have_images())?;
    let views = Views::new(&options.views, options.view_layout, datasets.have_images())?;
    let (output, changes) = options.check_device(device, &views)?;
    Device::open(datasets, device, output, changes).map(Some)
}

fn asked<'a>(options: &'a Options, views: &Views) -> Asked<'a> {
    Asked {
        fields: &options.fields,
        masks: &options.masks,
        objects: options.objects.as_ref(),
        classes: options.classes.as_ref(),
        size: views.first().map_or((1, 1), |group| group.output.size),
    }
}

/// Refuses further images in rows that have their own sizes.
fn refuse_images(fields: &Fields, options: &Options) -> Result<()> {
    let has_own = matches!(options.sizes, Sizes::Own | Sizes::Patches(_));
    match has_own && fields.have_images() {
        true => {
            let what = "further images are columns of one size: take buckets, or leave them out of \
                        `fields`";
            Err(Error::usage("sizes", what))
        }
        false => Ok(()),
    }
}

/// Refuses fields that follow the image if rows show several images, or are made elsewhere.
fn refuse_following(fields: &Fields, options: &Options, views: &Views) -> Result<()> {
    let mixes = views.groups().iter().any(|group| group.transform.mix().is_some());
    if mixes && fields.follow() {
        // Half a mask is not a mask, and boxes of two images are not boxes of their mixture.
        let what = "masks, further images and objects belong to one image, and rows that are \
                    mixed show two: leave those fields, or MixUp and CutMix, out";
        return Err(Error::usage("transform", what));
    }
    if views.groups().is_empty() && (fields.follow() || options.geometry) {
        let what = "masks, objects and geometry belong to images, and the samples of the dataset have \
                    none: leave them out";
        return Err(Error::usage("fields", what));
    }
    if fields.follow() && views.groups().iter().any(|group| group.transform.mixes_copies()) {
        let what = "masks, further images and objects cannot follow AugMix, whose images are mixtures \
                    of copies that were moved differently: leave those fields or AugMix out";
        return Err(Error::usage("transform", what));
    }
    if options.device.is_some() && fields.follow() {
        let what = "further images follow the first one on the CPU only: take batches in the \
                    host's memory (no `device`)";
        return Err(Error::usage("device", what));
    }
    Ok(())
}
