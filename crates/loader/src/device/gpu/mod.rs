mod cache;
mod rows;

pub(crate) use {
    cache::CachedImage,
    rows::{DeviceRow, DeviceRows, Offload},
};

use crate::{
    Batch, Datasets, Waited,
    batch::{DeviceImages, Images},
    engine::Produced,
    options::{DeviceDecoder, DeviceOptions},
    stats::Decoded,
    transform::{self, DType, Layout},
};
use cache::DeviceCache;
use fdconvert_core::{Error, Result};
use fdconvert_gpu::{
    Decoder, Driver, Gpu, LibraryShare, LibraryUse, Limits, NvJpeg, Order, Output, Pending,
    SampleType, Status, Tensor,
};
use fdconvert_storage::sigbus;
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// Decodes rows of batches on a GPU and keeps the batches in its memory.
pub(crate) struct Device {
    offload: Arc<Offload>,
    cache: Option<DeviceCache>,
    /// Declared before the decoder, so that it drops first: it uses the decoder's memory.
    in_flight: VecDeque<InFlight>,
    decoder: Decoder,
    output: Output,
    n_in_flight: usize,
    ordinal: u32,
    /// End of the epoch, or the error, after the batches in flight.
    end: Option<Result<()>>,
    decoded: Decoded,
}

struct InFlight {
    batch: Batch,
    rows: Box<DeviceRows>,
    pending: Option<Pending>,
}

impl Device {
    /// Opens the selected GPU for rows of that output, with or without changes of levels.
    ///
    /// # Errors
    /// `Device` without a driver, without such a GPU, or without a required nvJPEG.
    pub(crate) fn open(
        datasets: &Datasets,
        device: &DeviceOptions,
        output: transform::Output,
        changes: bool,
    ) -> Result<Self> {
        let driver = Driver::load(device.driver.as_deref()).map_err(Error::device("open"))?;
        let gpu = Gpu::open(&driver, device.ordinal).map_err(Error::device("open"))?;
        let mut decoder = Decoder::new(&gpu, Limits::DEFAULT).map_err(Error::device("open"))?;
        let has_library = use_library(&mut decoder, device)?;
        let mut cache = None;
        // nvJPEG decodes from host memory each time.
        let is_cached = device.device_cache_bytes > 0 && device.decoder != DeviceDecoder::NvJpeg;
        if is_cached && is_constant(datasets)? {
            cache = Some(DeviceCache::new(&gpu, device.device_cache_bytes)?);
        }
        Ok(Self {
            offload: Arc::new(Offload::new(device.decoder, has_library)),
            cache,
            in_flight: VecDeque::new(),
            decoder,
            output: match changes {
                false => Output::Tensor(tensor(output)),
                true => Output::Changed(tensor(output)),
            },
            n_in_flight: device.in_flight.max(1),
            ordinal: device.ordinal,
            end: None,
            decoded: Decoded::default(),
        })
    }

    /// Returns the rows that the loader's threads leave to the GPU.
    pub(crate) fn offload(&self) -> Arc<Offload> {
        self.offload.clone()
    }

    /// Returns true if batches or the end of the epoch are in flight.
    pub(crate) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || self.end.is_some()
    }

    /// Returns the next batch, with its images on the GPU, of those that `produce` gives within a
    /// time.
    ///
    /// # Errors
    /// The errors of `produce`, after the batches before them, and `Device` if the driver fails.
    pub(crate) fn next_for(
        &mut self,
        patience: Duration,
        produce: impl FnMut(Duration) -> Result<Produced>,
    ) -> Result<Waited> {
        self.fill(patience, produce)?;
        match self.in_flight.pop_front() {
            Some(oldest) => self.finish(oldest).map(Waited::Batch),
            None => match self.end.take() {
                None => Ok(Waited::NotYet),
                Some(Ok(())) => Ok(Waited::End),
                Some(Err(error)) => Err(error),
            },
        }
    }

    /// Drops all batches in flight.
    pub(crate) fn clear(&mut self) {
        self.in_flight.clear();
        self.end = None;
    }

    /// Returns the counts of decoded rows by decoder.
    pub(crate) fn decoded(&self) -> Decoded {
        let stored_bytes = self.cache.as_ref().map_or(0, DeviceCache::used_bytes);
        Decoded { stored_bytes, ..self.decoded }
    }

    pub(crate) fn reset_stats(&mut self) {
        self.decoded = Decoded::default();
    }

    /// Submits the batches that are ready, and at least one if time allows.
    fn fill(
        &mut self,
        patience: Duration,
        mut produce: impl FnMut(Duration) -> Result<Produced>,
    ) -> Result<()> {
        let began = Instant::now();
        while self.in_flight.len() < self.n_in_flight && self.end.is_none() {
            let left = patience.saturating_sub(began.elapsed());
            let wait = if self.in_flight.is_empty() { left } else { Duration::ZERO };
            match produce(wait) {
                Ok((Waited::Batch(batch), rows)) => self.submit(batch, rows)?,
                Ok((Waited::NotYet, _)) => break,
                Ok((Waited::End, _)) => self.end = Some(Ok(())),
                // The error comes after the batches before it.
                Err(error) => self.end = Some(Err(error)),
            }
        }
        Ok(())
    }

    fn submit(&mut self, batch: Batch, rows: Option<Box<DeviceRows>>) -> Result<()> {
        let bug = || Error::usage("loader", "a batch came without device rows, which is a bug");
        let mut rows = rows.ok_or_else(bug)?;
        if let Some(cache) = &mut self.cache {
            cache.keep(&self.offload.cached, batch.samples(), &mut rows)?;
        }
        let requests = rows.requests();
        let pending = if requests.is_empty() {
            None
        } else {
            let submit = || {
                let submitted = self.decoder.submit(&requests, self.output);
                submitted.map_err(Error::device("decode on"))
            };
            Some(sigbus::caught(submit)?)
        };
        drop(requests);
        self.in_flight.push_back(InFlight { batch, rows, pending });
        Ok(())
    }

    /// Waits for a batch and adds the rows that the GPU did not decode.
    fn finish(&mut self, in_flight: InFlight) -> Result<Batch> {
        let InFlight { mut batch, mut rows, pending } = in_flight;
        let wait = pending.map(Pending::wait).transpose();
        let images = wait.map_err(Error::device("decode on"))?;
        let row_bytes = batch.shape().row_bytes();
        // Rows that failed on the GPU, then rows made by the threads.
        let (mut failed, mut made, mut maker) = (Vec::new(), Vec::new(), None);
        let statuses = images.as_ref().map_or(&[][..], |images| images.statuses());
        for (row, status) in statuses.iter().enumerate() {
            match (rows.contains(row), status) {
                (true, Status::Decoded) => {
                    if rows.is_drawn(row) {
                        self.decoded.drawn_on_gpu += 1;
                    } else {
                        self.decoded.by_index += 1;
                    }
                    rows.count(row);
                }
                (true, Status::Library) => {
                    self.decoded.by_nvjpeg += 1;
                    rows.count(row);
                }
                (true, _) => {
                    // Images that the GPU cannot draw show that in their points, so that they do
                    // not count here.
                    self.decoded.failed_on_gpu += u64::from(!rows.is_drawn(row));
                    let (facts, bytes) = rows.make_on_host(row, &mut maker)?;
                    batch.set_row(row, facts);
                    failed.push((row, bytes));
                }
                (false, _) => made.push(row),
            }
        }
        self.decoded.by_cpu += (failed.len() + made.len()) as u64;
        let at = |row: usize| (row * row_bytes) as u64;
        let mut parts: Vec<(u64, &[u8])> = failed
            .iter()
            .map(|(row, bytes)| (at(*row), bytes.first().map_or(&[][..], |it| it)))
            .collect();
        let of_batch = |row: usize| batch.images().get(row * row_bytes..)?.get(..row_bytes);
        parts.extend(made.iter().filter_map(|row| Some((at(*row), of_batch(*row)?))));
        if let Some(images) = images.as_ref().filter(|_| !parts.is_empty()) {
            images.write(&parts).map_err(Error::device("copy to"))?;
        }
        // The host memory returns to the ring.
        batch.images = Images::Device(Box::new(DeviceImages { images, ordinal: self.ordinal }));
        Ok(batch)
    }
}

/// Sets nvJPEG up to decode the share in the options. Returns whether it decodes.
fn use_library(decoder: &mut Decoder, device: &DeviceOptions) -> Result<bool> {
    let share = match device.decoder {
        DeviceDecoder::Auto => LibraryShare::Rest,
        DeviceDecoder::NvJpeg => LibraryShare::All,
        DeviceDecoder::Index | DeviceDecoder::Cpu => return Ok(false),
    };
    let how = |smooth_chroma| LibraryUse { share, smooth_chroma, ..LibraryUse::default() };
    let used = NvJpeg::load(device.nvjpeg.as_deref()).and_then(|library| {
        // Prefers the pixels nearest to libjpeg-turbo's, if nvJPEG has them.
        let smooth = decoder.use_library(&library, how(true));
        smooth.or_else(|_| decoder.use_library(&library, how(false)))
    });
    match used {
        Ok(()) => Ok(true),
        // nvJPEG was not requested by name: the CPU decodes its share, and that is counted.
        Err(_) if share == LibraryShare::Rest => Ok(false),
        Err(error) => Err(Error::device("load nvJPEG for")(error)),
    }
}

/// Returns true if the samples are the same in every epoch.
fn is_constant(datasets: &Datasets) -> Result<bool> {
    for reader in datasets.readers() {
        if reader.as_generated().map_or(Ok(None), |it| it.at_epoch(0))?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn tensor(output: transform::Output) -> Tensor {
    let (mean, deviation) =
        output.normalise.map_or(([0.0; 3], [1.0; 3]), |normalise| (normalise.mean, normalise.std));
    Tensor {
        width: output.size.0,
        height: output.size.1,
        sample_type: match output.dtype {
            DType::U8 => SampleType::U8,
            // `Options::check_device` refuses the others.
            DType::F16 | DType::Bf16 | DType::U16 | DType::I16 => SampleType::F16,
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
