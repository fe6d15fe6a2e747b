mod device;

use crate::{
    classes,
    dataset::Label,
    draw::DrawSize,
    failure::Failures,
    follow::ObjectOptions,
    mix::Mix,
    order::{Last, Shuffle, World},
    supply::{Access, CachePolicy},
    transform::{Augment, Crop, Output},
    transport::Exchange,
};
pub use device::{DeviceDecoder, DeviceOptions};
use fdconvert_core::{Error, Limits, Result};
use std::{path::PathBuf, sync::Arc};

/// Options for making batches. The images, labels and their order depend on the fields up to
/// `cache_policy` and never on those after it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rows of a batch, on this rank; the global batch is this times the ranks.
    pub batch_size: u32,
    /// Draws the order, the crops, the flips and the augmentations.
    pub seed: u64,
    /// Method that puts samples into an order.
    pub shuffle: Shuffle,
    /// Which of the processes that train together this one is.
    pub world: World,
    /// Treatment of the samples at the end of an epoch that do not fill a batch.
    pub last: Last,
    /// Size, type and order of the images in memory.
    pub output: Output,
    /// Crop of the images.
    pub crop: Crop,
    /// Size at which images are drawn that are stored nowhere. Not part of a state: it may change
    /// between two runs, as size and crop may.
    pub draw_size: DrawSize,
    /// Probability of a left-right flip.
    pub flip: f64,
    /// Which field is the label. All other fields but the first one of images and `fields` are left
    /// out of batches; see [`Datasets::left_out`](crate::Datasets::left_out).
    pub label: Label,
    /// Names of the classes of the label, in the order of the numbers that batches give them, such as
    /// those of the dataset that a model was trained on; those of `objects` take them, too, as when
    /// they are packed with such a list. Every class of the datasets has to be among
    /// them; of a dataset without names they name the numbers. `None` for the list of the datasets,
    /// or the names of all of them in sorted order where they have different ones. Not part of a
    /// state.
    pub classes: Option<Arc<[String]>>,
    /// Names of further fields of batches; every dataset has to have them, in the same kind. Images
    /// take the crop, the resize and the flip of the sample's first image, which they have to be of
    /// the size of; gray ones of 16 bits by the nearest neighbour. All else comes as it is stored: an
    /// array of boxes does not follow the crop. See [`Batch::field`](crate::Batch::field). Not part
    /// of a state.
    pub fields: Vec<String>,
    /// Names of fields of images whose values are labels of pixels: of one channel, not of
    /// colours, and by the nearest neighbour. They need not stand in `fields`. Not part of a state.
    pub masks: Vec<String>,
    /// The value of a mask, and of gray of 16 bits, where [`Crop::Letterbox`] leaves nothing.
    pub mask_fill: u16,
    /// The field that tells of the objects in the image, which are moved as the image is. It need not
    /// stand in `fields`. Not part of a state.
    pub objects: Option<ObjectOptions>,
    /// Batches tell how each row shows its image, as they do with any field that follows it. See
    /// [`Batch::geometry`](crate::Batch::geometry).
    pub geometry: bool,
    /// Augmentation of the small image; `None` for none.
    pub augment: Option<Augment>,
    /// Mixing of rows of a batch with each other; `None` for none. Labels are soft with it: see
    /// [`Batch::label_column`](crate::Batch::label_column). Not part of a state.
    pub mix: Option<Mix>,
    /// Turn images upright by their EXIF orientation.
    pub orient: bool,
    /// Treatment of samples that cannot be read or decoded.
    pub failures: Failures,
    /// Check stored checksums before decoding, where there are any.
    pub verify: bool,
    /// Limits that no image may exceed.
    pub limits: Limits,
    /// Memory for encoded images that are not to be read again, in bytes of images, on this rank;
    /// about 200 bytes for each come on top,
    /// and the values of `fields`. 0 for none. How many fit is part of the order, but
    /// with `locality`: a state of a run with another number is refused. Needs
    /// [`Shuffle::Global`], and a dataset that tells sizes without reading and is the same in every
    /// epoch. It is asked for the size of every image when the loader is made.
    pub cache_bytes: u64,
    /// Gives each row to the rank whose cache owns its sample, as far as all ranks keep as many
    /// rows as each other: with caches that together hold the dataset, ranks hardly read it again.
    /// All ranks need the same `cache_bytes`, which is then the part of each in what they keep
    /// together, and not part of the order: the global batches and states are those of a run
    /// without a cache, whatever the number of ranks. Only which rank a row is on is different, so
    /// each sees mostly the same samples again: mind that where batches are normalised within a
    /// rank.
    pub locality: bool,
    /// With `locality`, how many ranks share the `cache_folder` and own its samples together: those
    /// of one machine, which follow each other. 1 where each rank has a cache of its own.
    pub ranks_per_cache: u32,
    /// Which images are kept.
    pub cache_policy: CachePolicy,
    /// The folder in which they are kept instead of in memory: on a local disk, for datasets in a
    /// store. Loaders that draw the same samples with the same seed share it, those of other ranks
    /// and later runs, too; others have a folder of their own in it. What is in it may be deleted
    /// at any time.
    pub cache_folder: Option<PathBuf>,
    /// Transport by which ranks send each other the samples of moved rows; `None` to read them from
    /// storage. With `locality`, all ranks or none: they wait for each other, so they have to train
    /// together, each in its own process or thread. What fails costs reads.
    pub exchange: Option<Arc<dyn Exchange>>,
    /// Access to stored images.
    pub access: Access,
    /// Threads that decode; 0 for one per core.
    pub threads: usize,
    /// Threads that only read, each one sample at a time: as many as requests are to be in flight
    /// at storage that takes its time. That is the queue depth of the storage; with
    /// [`Access::Direct`], where nothing is read ahead by the system, take 8 or more. 0 lets the
    /// decoding threads read.
    pub fetch_threads: usize,
    /// Bytes of encoded images that are fetched before a thread reads them, from datasets in stores:
    /// near ones with one request, and up to 128 requests of the process in flight, whatever the
    /// threads. 0 for none. With `exchange` as many of those that other ranks send, and, in a round,
    /// of those that are sent to them.
    pub ahead_bytes: u64,
    /// Batches that are made ahead, at least one, as far as `prefetch_bytes` allows.
    pub prefetch: usize,
    /// Memory for batches, those that were handed over and not dropped yet included: a consumer that
    /// keeps batches gets new memory up to here. Two batches are always allowed.
    pub prefetch_bytes: u64,
    /// The GPU that decodes and holds the batches; `None` for batches in the host's memory. Needs
    /// the feature `gpu`.
    pub device: Option<DeviceOptions>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch_size: 64,
            seed: 0,
            shuffle: Shuffle::Global,
            world: World::ALONE,
            last: Last::Short,
            output: Output {
                size: (224, 224),
                dtype: crate::DType::U8,
                layout: crate::Layout::Nhwc,
                normalise: None,
            },
            crop: Crop::Center { resize: 256 },
            draw_size: DrawSize::Auto,
            flip: 0.0,
            label: Label::Auto,
            classes: None,
            fields: Vec::new(),
            masks: Vec::new(),
            mask_fill: 0,
            objects: None,
            geometry: false,
            augment: None,
            mix: None,
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

/// More threads than any machine has use for.
const MAX_THREADS: usize = 4096;

impl Options {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |option, what: String| Err(Error::usage(option, what));
        if self.batch_size == 0 {
            return refuse("batch_size", "a batch has at least one row".into());
        }
        if !(0.0..=1.0).contains(&self.flip) {
            return refuse("flip", format!("{} is not a probability", self.flip));
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
        if self.cache_bytes > 0 && self.shuffle != Shuffle::Global {
            let what = "a cache needs the global shuffle, which spreads what is in it evenly";
            return refuse("cache_bytes", what.into());
        }
        if self.cache_folder.is_some() && self.cache_bytes == 0 {
            let what = "set `cache_bytes` to the size that the folder may have";
            return refuse("cache_folder", what.into());
        }
        if let Some(objects) = &self.objects {
            objects.check(self.output.size)?;
        }
        if let Some(classes) = &self.classes {
            classes::check(classes)?;
        }
        self.check_locality()?;
        self.crop.check()?;
        self.output.check()?;
        if let Some(mix) = &self.mix {
            mix.check()?;
        }
        let row = self.output.n_bytes() as u64;
        if row.checked_mul(self.batch_size.into()).is_none_or(|bytes| bytes > 1 << 40) {
            return refuse(
                "batch_size",
                format!("{} rows of {row} bytes are too large", self.batch_size),
            );
        }
        // What the system refuses later ends the process.
        let n_bytes = self.output.n_bytes().saturating_mul(self.batch_size as usize);
        if self.device.is_none() && Vec::<u8>::new().try_reserve_exact(n_bytes).is_err() {
            let what = format!(
                "there is no memory for {} rows of {row} bytes: take fewer, or a smaller `size`",
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

    /// Caches of all ranks together.
    pub(crate) fn n_caches(&self) -> u32 {
        self.world.size.checked_div(self.ranks_per_cache).unwrap_or_default()
    }

    /// Number of the cache that this rank has a part in.
    pub(crate) fn cache(&self) -> u32 {
        self.world.rank.checked_div(self.ranks_per_cache).unwrap_or_default()
    }

    /// Refuses what a GPU has no use for.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub(crate) fn check_device(&self, device: &DeviceOptions) -> Result<()> {
        if let Some(mix) = &self.mix {
            let what = "batches on a GPU are not mixed: mix them there with what the training has \
                        for it, such as torchvision's v2.MixUp, or make batches in the host's memory";
            return Err(Error::usage(mix.option(), what));
        }
        let excluded = self.cache_policy.method().excludes_device_cache();
        if let Some(what) = excluded.filter(|_| device.device_cache_bytes > 0) {
            return Err(Error::usage("device_cache_bytes", what));
        }
        let follows = !self.masks.is_empty() || self.objects.is_some() || self.geometry;
        if follows || matches!(self.crop, Crop::Letterbox { .. }) {
            let what = "masks, objects, letterboxes and the geometry of rows are made on the CPU only: \
                        take batches in the host's memory (no `device`)";
            return Err(Error::usage("device", what));
        }
        Ok(())
    }

    /// Decoding threads.
    pub(crate) fn n_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Buffers of the ring: what is made ahead, what is on its way on a GPU, and one that the
    /// consumer holds.
    pub(crate) fn n_buffers(&self) -> usize {
        let in_flight = self.device.as_ref().map_or(0, |device| device.in_flight.max(1));
        let ahead = self.prefetch.saturating_add(in_flight);
        let affordable = usize::try_from(self.most_buffers()).unwrap_or(usize::MAX);
        // Rows that a GPU decodes are memory that is hardly ever touched.
        ahead.saturating_add(1).min(affordable)
    }

    /// Batches that there is memory for, those that the consumer keeps included.
    pub(crate) fn most_buffers(&self) -> u64 {
        let bytes = (self.output.n_bytes() as u64 * u64::from(self.batch_size)).max(1);
        (self.prefetch_bytes / bytes).max(2)
    }
}
