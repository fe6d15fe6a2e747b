//! Batches in the memory of a GPU.
//!
//! ```text
//! threads of the loader   read samples -> parcels: encoded bytes, checkpoints, geometry
//!                         (what the GPU cannot decode they decode, as ever)
//! next_for()              submits batches, as many as may be in flight
//!                         waits for the oldest; rows the GPU failed with are made here; uploads
//! ```
//!
//! Order, crops, failures and states are those of [`Loader`], bit for bit. Pixels are not: the GPU
//! resizes with single precision from the full image, the CPU with integers, from an image that
//! was decoded smaller where that is enough.

mod batch;
mod keeper;
mod options;

pub use batch::DeviceBatch;
pub use options::{DeviceDecoder, DeviceOptions};

use crate::{
    Batch, DType, Datasets, Layout, Loader, Options, State, Stats, Waited,
    engine::{RowFacts, under_way},
    parcel::{Content, Parcel, Parcels},
    transform::Rect,
};
use fdconvert_core::{Error, Result};
use fdconvert_gpu::{
    Crop, Decoder, Driver, Gpu, LibraryShare, LibraryUse, Limits, NvJpeg, Order, Output, Pending,
    Request, SampleType, Status, Tensor,
};
use fdconvert_storage::sigbus;
use keeper::{Filling, Keeper};
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// Makes batches of datasets in the memory of a GPU: [`Loader`], with another decoder.
///
/// ```no_run
/// use fdconvert_loader::{Datasets, DeviceLoader, DeviceOptions, Options};
///
/// let datasets = Datasets::open("train.beton".as_ref())?;
/// let options = Options { batch: 256, ..Options::default() };
/// let mut loader = DeviceLoader::new(datasets, options, DeviceOptions::default())?;
/// while let Some(batch) = loader.next_batch() {
///     let batch = batch?;
///     println!("{} images at {:#x}", batch.len(), batch.address());
/// }
/// # Ok::<(), fdconvert_core::Error>(())
/// ```
pub struct DeviceLoader {
    loader: Loader,
    keeper: Arc<Keeper>,
    filling: Option<Filling>,
    /// Before the decoder: they use its memory.
    in_flight: VecDeque<InFlight>,
    decoder: Decoder,
    tensor: Tensor,
    n_in_flight: usize,
    ordinal: u32,
    /// What comes after the batches in flight.
    end: Option<Result<()>>,
    /// Where to go on after the last batch that was handed over.
    state: State,
    decoded: Decoded,
}

/// What became of waiting for a batch.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once, and is mostly a batch")]
pub enum DeviceWaited {
    /// The next batch.
    Batch(DeviceBatch),
    /// The epoch is over.
    End,
    /// The time is up and the batch is not ready.
    NotYet,
}

/// What decoded the rows of the batches that were handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// Rows that the kernels decoded from checkpoints.
    pub by_index: u64,
    /// Rows that nvJPEG decoded.
    pub by_nvjpeg: u64,
    /// Rows that the CPU decoded, and that were uploaded.
    pub by_cpu: u64,
    /// Those of them that were tried on the GPU first: damaged, or of a kind it does not know.
    pub failed_on_gpu: u64,
    /// Bytes of encoded images that the GPU keeps.
    pub stored_bytes: u64,
}

/// A batch on its way.
struct InFlight {
    batch: Batch,
    parcels: Box<Parcels>,
    pending: Option<Pending>,
}

impl DeviceLoader {
    /// Opens the GPU. Threads start with the first batch that is asked for.
    ///
    /// # Errors
    /// `Device` when there is no driver, no such GPU, or no nvJPEG where it is to decode all;
    /// `Usage` for options that a GPU has no use for; and as [`Loader::new`].
    pub fn new(datasets: Datasets, options: Options, device: DeviceOptions) -> Result<Self> {
        if options.augment.is_some() {
            let what = "images are augmented on the CPU only; augment the batch instead";
            return Err(Error::usage("augment", what));
        }
        let excluded = options.cache_policy.method().excludes_device_cache();
        if let Some(what) = excluded.filter(|_| device.store_bytes > 0) {
            return Err(Error::usage("store_bytes", what));
        }
        let driver = Driver::load(device.driver.as_deref()).map_err(Error::device("open"))?;
        let gpu = Gpu::open(&driver, device.ordinal).map_err(Error::device("open"))?;
        let mut decoder = Decoder::new(&gpu, Limits::DEFAULT).map_err(Error::device("open"))?;
        let has_library = use_library(&mut decoder, &device)?;
        let keeper = Arc::new(Keeper::new(device.decoder, has_library));
        let mut filling = None;
        // What nvJPEG is to decode has to come by every time.
        let is_kept = device.store_bytes > 0 && device.decoder != DeviceDecoder::NvJpeg;
        if is_kept && is_constant(&datasets)? {
            filling = Some(Filling::new(&gpu, device.store_bytes)?);
        }
        let n_in_flight = device.in_flight.max(1);
        let tensor = tensor(&options);
        // The rows of batches on the GPU are memory that is hardly ever touched.
        let prefetch = options.prefetch.saturating_add(n_in_flight);
        let options = Options { prefetch, ..options };
        let loader = Loader::with(datasets, options, Some(keeper.clone()))?;
        Ok(Self {
            state: loader.state(),
            loader,
            keeper,
            filling,
            in_flight: VecDeque::new(),
            decoder,
            tensor,
            n_in_flight,
            ordinal: device.ordinal,
            end: None,
            decoded: Decoded::default(),
        })
    }

    /// The next batch, `None` at the end of the epoch; the call after that begins the next one.
    pub fn next_batch(&mut self) -> Option<Result<DeviceBatch>> {
        loop {
            match self.next_for(Duration::from_secs(3600)) {
                Ok(DeviceWaited::Batch(batch)) => return Some(Ok(batch)),
                Ok(DeviceWaited::End) => return None,
                Ok(DeviceWaited::NotYet) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The next batch, or what there is instead of it after that time. A batch that is handed over
    /// is complete: nothing has to be waited for.
    ///
    /// # Errors
    /// Those of samples, as the policy says, and `Device` when the driver fails; the epoch is over
    /// then.
    pub fn next_for(&mut self, patience: Duration) -> Result<DeviceWaited> {
        let next = self.fill(patience).and_then(|()| match self.in_flight.pop_front() {
            Some(oldest) => self.finish(oldest).map(DeviceWaited::Batch),
            None => match self.end.take() {
                None => Ok(DeviceWaited::NotYet),
                Some(Ok(())) => {
                    self.state = self.loader.state();
                    Ok(DeviceWaited::End)
                }
                Some(Err(error)) => Err(error),
            },
        });
        if next.is_err() {
            // Batches that were in flight are made again if anybody goes on.
            self.stop();
        }
        next
    }

    /// Submits batches as far as they are ready, and one at least if there is time for it.
    fn fill(&mut self, patience: Duration) -> Result<()> {
        let began = Instant::now();
        while self.in_flight.len() < self.n_in_flight && self.end.is_none() {
            let left = patience.saturating_sub(began.elapsed());
            let wait = if self.in_flight.is_empty() { left } else { Duration::ZERO };
            match self.loader.next_for(wait) {
                Ok(Waited::Batch(batch)) => self.submit(batch)?,
                Ok(Waited::NotYet) => break,
                Ok(Waited::End) => self.end = Some(Ok(())),
                // After the batches that came before it.
                Err(error) => self.end = Some(Err(error)),
            }
        }
        Ok(())
    }

    fn submit(&mut self, mut batch: Batch) -> Result<()> {
        let bug = || Error::usage("loader", "a batch came without parcels, which is a bug");
        let mut parcels = batch.parcels.take().ok_or_else(bug)?;
        if let Some(filling) = &mut self.filling {
            filling.keep(&self.keeper, &batch, &mut parcels)?;
        }
        let requests: Vec<Request<'_>> = parcels.rows.iter().map(request).collect();
        let pending = if requests.is_empty() {
            None
        } else {
            let submit = || {
                let submitted = self.decoder.submit(&requests, Output::Tensor(self.tensor));
                submitted.map_err(Error::device("decode on"))
            };
            Some(sigbus::caught(submit)?)
        };
        self.in_flight.push_back(InFlight { batch, parcels, pending });
        Ok(())
    }

    /// Waits for a batch, and puts in what the GPU has not decoded.
    fn finish(&mut self, in_flight: InFlight) -> Result<DeviceBatch> {
        let InFlight { batch, mut parcels, pending } = in_flight;
        let wait = pending.map(Pending::wait).transpose();
        let images = wait.map_err(Error::device("decode on"))?;
        let mut rows = facts(&batch);
        let row_bytes = batch.shape().row_bytes();
        // Rows that were made again, then those that the threads have made.
        let (mut again, mut made) = (Vec::new(), Vec::new());
        let statuses = images.as_ref().map_or(&[][..], |images| images.statuses());
        for (row, (status, facts)) in statuses.iter().zip(&mut rows).enumerate() {
            let is_parcel = parcels.rows.get(row).is_some_and(Option::is_some);
            match (is_parcel, status) {
                (true, Status::Decoded) => {
                    self.decoded.by_index += 1;
                    parcels.again.is_done(row);
                }
                (true, Status::Library) => {
                    self.decoded.by_nvjpeg += 1;
                    parcels.again.is_done(row);
                }
                (true, _) => {
                    let (new, bytes) = parcels.make(row)?;
                    *facts = new;
                    again.push((row, bytes));
                    self.decoded.failed_on_gpu += 1;
                }
                (false, _) => made.push(row),
            }
        }
        self.decoded.by_cpu += (again.len() + made.len()) as u64;
        let at = |row: usize| (row * row_bytes) as u64;
        let mut parts: Vec<(u64, &[u8])> =
            again.iter().map(|(row, bytes)| (at(*row), &bytes[..])).collect();
        let of_batch = |row: usize| batch.images().get(row * row_bytes..)?.get(..row_bytes);
        parts.extend(made.iter().filter_map(|row| Some((at(*row), of_batch(*row)?))));
        if let Some(images) = images.as_ref().filter(|_| !parts.is_empty()) {
            images.write(&parts).map_err(Error::device("copy to"))?;
        }
        self.state = batch.state();
        Ok(DeviceBatch {
            images,
            ordinal: self.ordinal,
            shape: batch.shape(),
            rows,
            has_labels: batch.labels().is_some(),
            epoch: batch.epoch(),
            step: batch.step(),
            state: batch.state(),
        })
    }

    /// Batches of a whole epoch on this rank; the same on every rank.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.loader.len()
    }

    /// Whether an epoch has no batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loader.is_empty()
    }

    /// The datasets.
    #[must_use]
    pub fn datasets(&self) -> &Datasets {
        self.loader.datasets()
    }

    /// The epoch that the next batch belongs to.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.state.epoch
    }

    /// Where to go on after the last batch that was handed over: the whole checkpoint, which a
    /// [`Loader`] takes as well.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// As [`Loader::restore`].
    ///
    /// # Errors
    /// As [`Loader::restore`].
    pub fn restore(&mut self, state: &State) -> Result<()> {
        if !self.in_flight.is_empty() || self.end.is_some() {
            // The loader itself may be at the end of the epoch already.
            return Err(under_way());
        }
        self.loader.restore(state)?;
        self.state = self.loader.state();
        Ok(())
    }

    /// As [`Loader::set_epoch`].
    ///
    /// # Errors
    /// As [`Loader::set_epoch`].
    pub fn set_epoch(&mut self, epoch: u64) -> Result<()> {
        if epoch != self.state.epoch {
            self.in_flight.clear();
            self.end = None;
            self.loader.set_epoch(epoch)?;
            self.state = self.loader.state();
        }
        Ok(())
    }

    /// As [`Loader::stop`]: batches in flight are dropped, and made again when they are asked for.
    pub fn stop(&mut self) {
        self.in_flight.clear();
        self.end = None;
        self.loader.rewind(self.state);
    }

    /// What the loader has done on the host.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.loader.stats()
    }

    /// What has decoded the rows.
    #[must_use]
    pub fn decoded(&self) -> Decoded {
        let stored_bytes = self.filling.as_ref().map_or(0, Filling::used_bytes);
        Decoded { stored_bytes, ..self.decoded }
    }

    /// Begins the statistics anew.
    pub fn reset_stats(&mut self) {
        self.loader.reset_stats();
        self.decoded = Decoded::default();
    }
}

/// Lets nvJPEG decode what the options say. Returns whether it does.
fn use_library(decoder: &mut Decoder, device: &DeviceOptions) -> Result<bool> {
    let share = match device.decoder {
        DeviceDecoder::Auto => LibraryShare::Rest,
        DeviceDecoder::NvJpeg => LibraryShare::All,
        DeviceDecoder::Index | DeviceDecoder::Cpu => return Ok(false),
    };
    let how = |smooth_chroma| LibraryUse { share, smooth_chroma, ..LibraryUse::default() };
    let used = NvJpeg::load(device.nvjpeg.as_deref()).and_then(|library| {
        // Pixels nearest to libjpeg-turbo's, if that is to be had.
        let smooth = decoder.use_library(&library, how(true));
        smooth.or_else(|_| decoder.use_library(&library, how(false)))
    });
    match used {
        Ok(()) => Ok(true),
        // It was not asked for by name: the CPU decodes what it would have, and that is counted.
        Err(_) if share == LibraryShare::Rest => Ok(false),
        Err(error) => Err(Error::device("load nvJPEG for")(error)),
    }
}

/// Whether the samples are the same in every epoch.
fn is_constant(datasets: &Datasets) -> Result<bool> {
    for reader in datasets.readers() {
        if reader.at_epoch(0)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn tensor(options: &Options) -> Tensor {
    let output = options.output;
    let (mean, deviation) =
        output.normalise.map_or(([0.0; 3], [1.0; 3]), |normalise| (normalise.mean, normalise.std));
    Tensor {
        width: output.size.0,
        height: output.size.1,
        sample_type: match output.dtype {
            DType::U8 => SampleType::U8,
            DType::F16 => SampleType::F16,
            DType::F32 => SampleType::F32,
        },
        order: match output.layout {
            Layout::Nchw => Order::Nchw,
            Layout::Nhwc => Order::Nhwc,
        },
        mean,
        deviation,
    }
}

/// What the GPU is asked for a row; nothing for one that is made already.
fn request(parcel: &Option<Parcel>) -> Request<'_> {
    let Some(parcel) = parcel else { return Request::whole(&[], None) };
    let image = match &parcel.content {
        Content::Kept(kept) => Request::stored(&kept.stored),
        Content::Read(fetched, Some(prepared)) => Request::prepared(prepared, &fetched.image.bytes),
        Content::Read(fetched, None) => Request::whole(&fetched.image.bytes, None),
    };
    let (width, height) = parcel.size();
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let rect = parcel.geometry.rect;
    let crop = Crop {
        left: (rect.x / width) as f32,
        top: (rect.y / height) as f32,
        width: (rect.width / width) as f32,
        height: (rect.height / height) as f32,
    };
    // Where the filter reaches beyond the rectangle, the geometry needs more than that.
    let reach = rect != Rect::from(parcel.geometry.needed);
    Request { crop, reach, flip: parcel.geometry.flip, ..image }
}

fn facts(batch: &Batch) -> Vec<RowFacts> {
    let flags = batch.valid().iter().zip(batch.substituted());
    let label = |row| batch.labels().and_then(|labels| labels.get(row)).copied().unwrap_or(0);
    let rows = batch.samples().iter().enumerate().zip(flags);
    rows.map(|((row, &sample), (&filled, &substituted))| RowFacts {
        sample,
        label: label(row),
        filled,
        substituted,
    })
    .collect()
}
