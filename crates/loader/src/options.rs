/// Calls a macro with the options that have a setter.
macro_rules! each_option {
    ($with:ident) => {
        $with! {
            classes: Option<Arc<[String]>>,
            objects: Option<ObjectOptions>,
            cache_folder: Option<PathBuf>,
            device: Option<DeviceOptions>,
            ;
            batch_size: u32,
            seed: u64,
            sampling: Sampling,
            world: World,
            last: Last,
            views: Vec<ViewGroup>,
            view_layout: ViewLayout,
            sizes: Sizes,
            label: Label,
            fields: Vec<String>,
            masks: Vec<MaskOptions>,
            geometry: bool,
            orient: bool,
            failures: Failures,
            verify: bool,
            limits: Limits,
            cache_bytes: u64,
            locality: bool,
            ranks_per_cache: u32,
            cache_policy: CachePolicy,
            access: Access,
            threads: usize,
            fetch_threads: usize,
            ahead_bytes: u64,
            prefetch: usize,
            prefetch_bytes: u64,
            exchange: Option<Arc<dyn Exchange>>,
        }
    };
}

mod builder;
mod device;

use crate::{
    classes,
    dataset::Label,
    failure::Failures,
    follow::{MaskOptions, ObjectOptions},
    order::{Last, Sampling, World},
    sizes::Sizes,
    supply::{Access, CachePolicy},
    transform::{DType, Output, TransformList},
    transport::Exchange,
    views::{ViewGroup, ViewLayout, Views},
};
pub use builder::Builder;
pub use device::{DeviceDecoder, DeviceOptions};
use fdconvert_core::{Error, Limits, Result, setters};
use std::{path::PathBuf, sync::Arc};

/// Options for making batches. The images, labels and their order depend on the fields up to
/// `cache_policy` and never on those after it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Rows of a batch on this rank; the global batch is this times the number of ranks.
    pub batch_size: u32,
    /// Seed of the order and of all that transforms draw.
    pub seed: u64,
    /// Method of choosing and ordering the samples of an epoch.
    pub sampling: Sampling,
    /// This process among those that train together.
    pub world: World,
    /// Treatment of samples at the end of an epoch that do not fill a batch.
    pub last: Last,
    /// Views of each image: what is done to it, and the form of the rows. Empty for one view of the
    /// default list, or none if the samples have no images. Not part of a state: it may change
    /// between two runs.
    pub views: Vec<ViewGroup>,
    /// Order of the views of a group in memory.
    pub view_layout: ViewLayout,
    /// Sizes of the images of batches. Not part of a state, but for buckets, which are part of the
    /// order.
    pub sizes: Sizes,
    /// Field that is the label. Batches leave out all other fields except the first one of images
    /// and `fields`; see [`Datasets::left_out`](crate::Datasets::left_out).
    pub label: Label,
    /// Class names of the label, in the order of their numbers in batches, such as those of the
    /// dataset that a model was trained on. They also apply to `objects`, as when these are packed
    /// with such a list. Every class of the datasets must be in the list; for a dataset without
    /// names, the list names its numbers. `None` for the list of the datasets or, if they differ,
    /// all their names in sorted order. Not part of a state.
    pub classes: Option<Arc<[String]>>,
    /// Names of further fields of batches; every dataset must have them, in the same kind. Images
    /// follow the sample's first image where it is cut, resized, flipped and warped, and must have
    /// its size; gray ones of 16 bits by nearest neighbour. All other fields come as stored: an array of
    /// boxes does not follow the crop. See [`Batch::field`](crate::Batch::field). Not part of a
    /// state.
    pub fields: Vec<String>,
    /// Image fields with pixel labels: they have one channel, no colours, and follow the image by
    /// nearest neighbour. They need not be in `fields`. Not part of a state.
    pub masks: Vec<MaskOptions>,
    /// Field with the objects in the image, which move with it. It need not be in `fields`. Not
    /// part of a state.
    pub objects: Option<ObjectOptions>,
    /// Whether batches describe how each row shows its image, as they do with any field that
    /// follows it. See [`Batch::geometry`](crate::Batch::geometry).
    pub geometry: bool,
    /// Whether to turn images upright by their EXIF orientation.
    pub orient: bool,
    /// Treatment of samples that cannot be read or decoded.
    pub failures: Failures,
    /// Whether to check stored checksums before decoding, if there are any.
    pub verify: bool,
    /// Limits that no image may exceed.
    pub limits: Limits,
    /// Memory for encoded images that need not be read again, in bytes of images, on this rank;
    /// about 200 bytes for each are added, and the values of `fields`. 0 for none. Without
    /// `locality`, the number that fits is part of the order: a state of a run with another number
    /// is refused. Requires [`Sampling::Shuffle`], and a dataset that knows sizes without reading and
    /// is the same in every epoch. A new loader reads the size of every image.
    pub cache_bytes: u64,
    /// Gives each row to the rank with the cache that owns its sample, as far as all ranks keep
    /// equally many rows: with caches that together hold the dataset, ranks hardly read it again.
    /// All ranks need the same `cache_bytes`, which is then each rank's share of the common cache,
    /// and not part of the order: the global batches and states are those of a run without a cache,
    /// for any number of ranks. Only the rank of a row differs, so that each rank sees mostly the
    /// same samples again: consider this if batches are normalised within a rank.
    pub locality: bool,
    /// With `locality`, the number of ranks that share the `cache_folder` and own its samples
    /// together: consecutive ranks of one machine. 1 if each rank has a separate cache.
    pub ranks_per_cache: u32,
    /// Choice of the kept images.
    pub cache_policy: CachePolicy,
    /// Folder that keeps them instead of memory: on a local disk, for datasets in a store. Loaders
    /// that draw the same samples with the same seed share it, including those of other ranks and
    /// later runs; others use a separate folder in it. Its contents may be deleted at any time.
    pub cache_folder: Option<PathBuf>,
    /// Transport by which ranks send each other the samples of moved rows; `None` to read them from
    /// storage. With `locality`, for all ranks or none: they wait for each other, so that they must
    /// train together, each in a separate process or thread. Failures cost reads.
    pub exchange: Option<Arc<dyn Exchange>>,
    /// Access to stored images.
    pub access: Access,
    /// Number of decoding threads; 0 for one per core.
    pub threads: usize,
    /// Number of threads that only read, each one sample at a time: the number of requests in
    /// flight at slow storage, which is its queue depth; with [`Access::Direct`], for which the
    /// system reads nothing ahead, take 8 or more. 0 lets the decoding threads read.
    pub fetch_threads: usize,
    /// Bytes of encoded images that are fetched before a thread reads them, from datasets in
    /// stores: near ones with one request, and up to 128 requests of the process in flight, for any
    /// number of threads. 0 for none. With `exchange`, also the limit on the samples from other
    /// ranks and, in a round, on the samples sent to them.
    pub ahead_bytes: u64,
    /// Number of batches made ahead, at least one, as far as `prefetch_bytes` allows.
    pub prefetch: usize,
    /// Memory for batches, including delivered ones that are not dropped yet: a consumer that keeps
    /// batches gets new memory up to this limit. Two batches are always allowed.
    pub prefetch_bytes: u64,
    /// GPU that decodes and holds the batches; `None` for batches in host memory. Requires the
    /// feature `gpu`.
    pub device: Option<DeviceOptions>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch_size: 64,
            seed: 0,
            sampling: Sampling::Shuffle,
            world: World::ALONE,
            last: Last::Short,
            views: Vec::new(),
            view_layout: ViewLayout::Views,
            sizes: Sizes::One,
            label: Label::Auto,
            classes: None,
            fields: Vec::new(),
            masks: Vec::new(),
            objects: None,
            geometry: false,
            orient: true,
            failures: Failures::default(),
            verify: true,
            limits: Limits::DEFAULT,
            cache_bytes: 0,
            cache_policy: CachePolicy::RESIDENT,
            cache_folder: None,
            locality: false,
            ranks_per_cache: 1,
            exchange: None,
            access: Access::Mapped,
            threads: 0,
            fetch_threads: 0,
            ahead_bytes: 64 << 20,
            prefetch: 3,
            prefetch_bytes: 1 << 30,
            device: None,
        }
    }
}

/// More threads than any machine can use.
const MAX_THREADS: usize = 4096;

impl Options {
    each_option!(setters);

    /// Shows one view of each image, drawn from this list.
    #[must_use]
    pub fn transform(self, transform: TransformList) -> Self {
        self.views(vec![ViewGroup::new("", 1, transform)])
    }

    /// Refuses invalid options.
    ///
    /// # Errors
    /// `Usage`, with the name of the option.
    pub(crate) fn check(&self, views: &Views) -> Result<()> {
        let refuse = |option, what: String| Err(Error::usage(option, what));
        if self.batch_size == 0 {
            return refuse("batch_size", "a batch has at least one row".into());
        }
        let World { rank, size } = self.world;
        if size == 0 {
            return refuse("world_size", "there is at least one process".into());
        }
        if rank >= size {
            let what = format!("must be 0 to {} for world_size={size}, got {rank}", size - 1);
            return refuse("rank", what);
        }
        if self.batch_size.checked_mul(self.world.size).is_none() {
            let (batch, size) = (self.batch_size, self.world.size);
            return refuse("batch_size", format!("{batch} rows on {size} ranks are too many"));
        }
        for (option, threads) in [("threads", self.threads), ("fetch_threads", self.fetch_threads)]
        {
            if threads > MAX_THREADS {
                return refuse(option, format!("must be at most {MAX_THREADS}"));
            }
        }
        if self.prefetch == 0 {
            return refuse("prefetch", "one batch is made ahead at least: take 1".into());
        }
        if !(0.0..=1.0).contains(&self.failures.max_share) {
            return refuse("max_share", format!("{} is not a share", self.failures.max_share));
        }
        if self.cache_bytes > 0 && !matches!(self.sampling, Sampling::Shuffle) {
            let what = "a cache needs the sampling `Shuffle`, which spreads what is in it evenly: \
                        take that one, or 0 for no cache";
            return refuse("cache_bytes", what.into());
        }
        if self.cache_folder.is_some() && self.cache_bytes == 0 {
            let what = "set `cache_bytes` to the size that the folder may have";
            return refuse("cache_folder", what.into());
        }
        if let Some(objects) = &self.objects {
            for group in views.groups() {
                let is_own = matches!(self.sizes, Sizes::Own | Sizes::Patches(_));
                objects.check(if is_own { (u32::MAX, u32::MAX) } else { group.output.size })?;
            }
        }
        if let Some(classes) = &self.classes {
            classes::check(classes)?;
        }
        self.check_locality()?;
        let row = views.row_bytes() as u64;
        if row.checked_mul(self.batch_size.into()).is_none_or(|bytes| bytes > 1 << 40) {
            return refuse(
                "batch_size",
                format!("{} rows of {row} bytes are too large", self.batch_size),
            );
        }
        // A later refusal of the system would end the process.
        let n_bytes = views.row_bytes().saturating_mul(self.batch_size as usize);
        if self.device.is_none() && Vec::<u8>::new().try_reserve_exact(n_bytes).is_err() {
            let what = format!(
                "there is no memory for {} rows of {row} bytes: take fewer, or smaller ones",
                self.batch_size
            );
            return refuse("batch_size", what);
        }
        Ok(())
    }

    /// Refuses caches that cannot own samples.
    fn check_locality(&self) -> Result<()> {
        let refuse = |option, what: String| Err(Error::usage(option, what));
        let (ranks, size) = (self.ranks_per_cache, self.world.size);
        if self.locality && self.cache_bytes == 0 {
            let what = "no rank has a cache that could own samples: `cache_bytes` gives each one";
            return refuse("locality", what.into());
        }
        if self.locality && self.cache_policy != CachePolicy::RESIDENT {
            let what = format!(
                "the policy `{}` keeps other samples all the time; `resident` keeps the same ones",
                self.cache_policy.name()
            );
            return refuse("cache_policy", what);
        }
        if self.exchange.is_some() && !self.locality {
            let what = "it brings samples from the ranks that own them, which takes `locality`";
            return refuse("exchange", what.into());
        }
        if self.exchange.is_some() && self.ahead_bytes == 0 {
            let what = "samples that other ranks send come before they are needed, and \
                        `ahead_bytes` allows none";
            return refuse("exchange", what.into());
        }
        if ranks == 0 || size % ranks != 0 {
            let what = format!("{size} ranks are no multiple of {ranks}; take a divisor of {size}");
            return refuse("ranks_per_cache", what);
        }
        if ranks > 1 && !self.locality {
            let what = "it says who owns samples, which only matters with `locality`";
            return refuse("ranks_per_cache", what.into());
        }
        if ranks > 1 && self.cache_folder.is_none() {
            let what = "processes share no memory: name the `cache_folder` that they share, or \
                        leave it at 1";
            return refuse("ranks_per_cache", what.into());
        }
        Ok(())
    }

    /// Returns the number of caches of all ranks together.
    pub(crate) fn n_caches(&self) -> u32 {
        self.world.size.checked_div(self.ranks_per_cache).unwrap_or_default()
    }

    /// Returns the number of the cache that this rank shares.
    pub(crate) fn cache(&self) -> u32 {
        self.world.rank.checked_div(self.ranks_per_cache).unwrap_or_default()
    }

    /// Returns the form of the rows on a GPU, and whether levels may be changed there.
    ///
    /// # Errors
    /// `Usage`, with the name of an option that a GPU does not support.
    pub(crate) fn check_device(
        &self,
        device: &DeviceOptions,
        views: &Views,
    ) -> Result<(Output, bool)> {
        if views.groups().is_empty() {
            let what =
                "the samples of the dataset have no images, which a GPU is for: leave it out";
            return Err(Error::usage("device", what));
        }
        let Some(view) = views.single() else {
            let what = "several views of an image are made on the CPU only: take batches in the host's \
                        memory (no `device`)";
            return Err(Error::usage("device", what));
        };
        if view.transform.mix().is_some() {
            let what = "batches on a GPU are not mixed: mix them there with what the training has \
                        for it, such as torchvision's v2.MixUp, or make batches in the host's memory";
            return Err(Error::usage("transform", what));
        }
        if view.transform.bands().is_some() {
            let what =
                "Bands are read on the CPU only: take batches in the host's memory (no `device`)";
            return Err(Error::usage("device", what));
        }
        if view.output.dtype == DType::Bf16 {
            let what = "a GPU makes u8, f16 and f32: take one of these, and convert batches there";
            return Err(Error::usage("transform", what));
        }
        let excluded = self.cache_policy.method().excludes_device_cache();
        if let Some(what) = excluded.filter(|_| device.device_cache_bytes > 0) {
            return Err(Error::usage("device_cache_bytes", what));
        }
        if !self.masks.is_empty() || self.objects.is_some() || self.geometry {
            let what = "masks, objects and the geometry of rows are made on the CPU only: take batches \
                        in the host's memory (no `device`)";
            return Err(Error::usage("device", what));
        }
        Ok((view.output, !view.transform.only_resamples()))
    }

    pub(crate) fn n_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Returns the number of buffers in the ring: batches made ahead, batches in flight on a GPU,
    /// and one that the consumer holds.
    pub(crate) fn n_buffers(&self, views: &Views) -> usize {
        let in_flight = self.device.as_ref().map_or(0, |device| device.in_flight.max(1));
        let ahead = self.prefetch.saturating_add(in_flight);
        let affordable = usize::try_from(self.most_buffers(views)).unwrap_or(usize::MAX);
        // Memory for rows that a GPU decodes is hardly ever touched.
        ahead.saturating_add(1).min(affordable)
    }

    /// Returns the number of batches that fit into memory, including those that the consumer keeps.
    pub(crate) fn most_buffers(&self, views: &Views) -> u64 {
        let bytes = (views.row_bytes() as u64 * u64::from(self.batch_size)).max(1);
        (self.prefetch_bytes / bytes).max(2)
    }
}
