//! One row: its sample is read, checked, decoded and written into the memory of the batch, or left
//! to a GPU.
use super::{
    epoch::{Chosen, Epoch, Remedy},
    queue::Task,
};
#[cfg(feature = "gpu")]
use crate::{buffer::allocate, order::Row};
use crate::{
    dataset::Fetched,
    device::DeviceRow,
    failure::SUBSTITUTES,
    fields::RowValues,
    stats::Stage,
    transform::{Area, Geometry, Region as Decoded, Renderer, scale_for},
};
#[cfg(feature = "gpu")]
use bytes::BytesMut;
use fdconvert_codec::{Decoder, Region, Wanted, orient, orientation};
use fdconvert_core::{Error, Pixels, Result};
use fdconvert_storage::sigbus;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

/// What a row turned out to be.
#[derive(Debug, Clone)]
pub(crate) struct RowFacts {
    pub(crate) sample: u64,
    pub(crate) values: RowValues,
    pub(crate) filled: bool,
    pub(crate) substituted: bool,
}

/// Makes rows of an epoch, one at a time. Each thread that decodes has its own.
pub(crate) struct RowMaker {
    pub(super) epoch: Arc<Epoch>,
    pub(super) decoder: Decoder,
    pub(super) renderer: Renderer,
    /// Those of the image at hand.
    pub(super) pixels: Vec<u8>,
}

/// An image whose pixels are decoded, as far as they are needed.
struct Part {
    area: Area,
    channels: u8,
    denominator: u32,
    geometry: Geometry,
}

impl RowMaker {
    /// # Errors
    /// `Usage` for options that cannot be.
    pub(crate) fn new(epoch: Arc<Epoch>) -> Result<Self> {
        let options = &epoch.setup.options;
        let renderer = Renderer::new(options.output, options.augment)?;
        Ok(Self { epoch, decoder: Decoder::new(), renderer, pixels: Vec::new() })
    }

    /// Makes a row of its sample, or leaves it to a GPU, or does with it what the policy for
    /// failures says.
    ///
    /// # Errors
    /// Where failures are raised those of the sample, else when there are too many of them or
    /// nothing can take the sample's place.
    pub(crate) fn fill(&mut self, task: &mut Task) -> Result<RowFacts> {
        let n_samples = self.epoch.n_samples.max(1);
        // What reading it gave, if it was read already.
        let mut first = task.fetched.take();
        let mut last_error = None;
        for tried in 0..=SUBSTITUTES.min(n_samples - 1) {
            let sample = self.epoch.at((task.position + tried) % n_samples)?;
            let fetched = first.take();
            if self.epoch.is_quarantined(&sample) {
                continue;
            }
            let drawn_at = (task.draws && tried == 0 && !task.on_host).then_some(task.position);
            let error = match self.show(&sample, fetched, drawn_at, task) {
                Ok(values) => {
                    let substituted = tried > 0;
                    if substituted {
                        self.epoch.setup.counters.substituted();
                    }
                    let sample = sample.number;
                    return Ok(RowFacts { sample, values, filled: true, substituted });
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => error,
            };
            match self.epoch.failed(&sample, error)? {
                Remedy::Substitute(error) => last_error = Some(error),
                Remedy::Skip => {
                    task.buffer.fill(0);
                    return Ok(RowFacts::skipped(&sample));
                }
            }
        }
        Err(self.epoch.exhausted(&self.epoch.at(task.position)?, last_error))
    }

    /// Makes a row outside of a batch, on the host; `fetched` is its sample, where it was read
    /// already. Returns what it turned out to be, and its bytes.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    #[cfg(feature = "gpu")]
    pub(crate) fn make_alone(
        &mut self,
        Row { position, valid }: Row,
        fetched: Option<Result<Fetched>>,
    ) -> Result<(RowFacts, BytesMut)> {
        let buffer = allocate(self.epoch.setup.options.output.n_bytes());
        let mut task = Task {
            batch: 0,
            row: 0,
            position,
            number: 0,
            draws: valid,
            buffer,
            fetched,
            on_host: true,
            device_row: None,
        };
        let facts = self.fill(&mut task)?;
        Ok((RowFacts { filled: facts.filled && valid, ..facts }, task.buffer))
    }

    /// Lets the row show a sample; returns what the row tells of it.
    fn show(
        &mut self,
        sample: &Chosen,
        fetched: Option<Result<Fetched>>,
        drawn_at: Option<u64>,
        task: &mut Task,
    ) -> Result<RowValues> {
        if self.epoch.is_drawn(sample) {
            return self.draw(sample, task);
        }
        if fetched.is_none()
            && !task.on_host
            && let Some(image) = self.epoch.cached(sample)
        {
            let geometry = self.epoch.geometry(sample, image.size());
            let values = image.values().clone();
            let steps = self.epoch.steps(sample);
            task.device_row = Some(DeviceRow::cached(image, geometry, &steps));
            return Ok(values);
        }
        let mut fetched = fetched.unwrap_or_else(|| self.epoch.fetch(sample, drawn_at))?;
        loop {
            let (values, is_owned) = (fetched.values.clone(), fetched.is_owned);
            let make = || {
                let make = || self.make(sample, fetched, task);
                catch_unwind(AssertUnwindSafe(make))
                    .unwrap_or_else(|panic| Err(self.epoch.panicked(sample.located, &*panic)))
            };
            let made = if is_owned { Some(make()) } else { sigbus::caught_once(make) };
            match made {
                Some(made) => {
                    task.device_row = made?;
                    // What is left to the GPU counts when that has decoded it.
                    if task.device_row.is_none() {
                        self.epoch.count(sample);
                    }
                    return Ok(values);
                }
                // Another sample could not be read meanwhile, so that this one may have been
                // zeros. It is read again: from now on as a copy.
                None => fetched = self.epoch.read(sample.place)?,
            }
        }
    }

    /// Writes the row, unless a GPU decodes the image.
    fn make(
        &mut self,
        sample: &Chosen,
        fetched: Fetched,
        task: &mut Task,
    ) -> Result<Option<DeviceRow>> {
        let orient = self.epoch.setup.options.orient;
        let turned = if orient { orientation(&fetched.image) } else { 1 };
        // A GPU does not know what a photo is turned by.
        let offload = self.epoch.setup.offload.as_ref().filter(|_| !task.on_host && turned <= 1);
        if let Some(decoding) = offload.and_then(|offload| offload.decoding(&fetched)) {
            let size = (fetched.image.width, fetched.image.height);
            let geometry = self.epoch.geometry(sample, size);
            let steps = self.epoch.steps(sample);
            return Ok(Some(DeviceRow::read(fetched, decoding, geometry, &steps)));
        }
        let began = Instant::now();
        let part = if turned > 1 {
            self.decode_upright(sample, &fetched, turned)?
        } else {
            self.decode_part(sample, &fetched)?
        };
        let channels = drop_alpha(part.channels, &mut self.pixels);
        let decoded = Instant::now();
        let counters = &self.epoch.setup.counters;
        counters.spent(Stage::Decode, decoded - began);
        let Part { area, denominator, geometry, .. } = part;
        let region = Decoded { pixels: &self.pixels, area, channels, denominator };
        let key = self.epoch.key(sample);
        self.renderer.render(&fetched.key, &region, &geometry, key, &mut task.buffer)?;
        counters.spent(Stage::Render, decoded.elapsed());
        Ok(None)
    }

    /// Decodes as much of an image as is needed.
    fn decode_part(&mut self, sample: &Chosen, fetched: &Fetched) -> Result<Part> {
        let options = &self.epoch.setup.options;
        let Fetched { key, image, .. } = fetched;
        let geometry = self.epoch.geometry(sample, (image.width, image.height));
        let Area { x, y, width, height } = geometry.needed;
        let shrink = scale_for(geometry.rect, options.output.size) as u8;
        let region = Region { x, y, width, height };
        let wanted = Wanted {
            region,
            shrink,
            entry_points: image.entry_points.as_deref().map(|stored| &stored[..]),
        };
        let pixels = &mut self.pixels;
        let part = self.decoder.decode_part_with(key, image, &options.limits, &wanted, pixels)?;
        let Region { x, y, width, height } = part.region;
        let area = Area { x, y, width, height };
        Ok(Part { area, channels: part.channels, denominator: part.shrink.into(), geometry })
    }

    /// Decodes an image and turns it as a whole: rare, and simpler than turning rectangles.
    fn decode_upright(
        &mut self,
        sample: &Chosen,
        fetched: &Fetched,
        orientation: u8,
    ) -> Result<Part> {
        let limits = &self.epoch.setup.options.limits;
        let Fetched { key, image, .. } = fetched;
        let (header, channels, _) =
            self.decoder.decode_into(key, image, limits, &mut self.pixels)?;
        let data = std::mem::take(&mut self.pixels);
        let whole = Pixels { width: header.width, height: header.height, channels, data };
        let Pixels { width, height, data, .. } = orient(whole, orientation);
        self.pixels = data;
        let channels = self.pixels.len() / (width as usize * height as usize).max(1);
        let area = Area { x: 0, y: 0, width, height };
        let geometry = self.epoch.geometry(sample, (width, height));
        Ok(Part { area, channels: channels as u8, denominator: 1, geometry })
    }
}

/// Drops the alpha channel, as Pillow's `convert("RGB")` does; returns the channels that are left.
fn drop_alpha(channels: u8, pixels: &mut Vec<u8>) -> u8 {
    if channels != 4 {
        return channels;
    }
    let n_pixels = pixels.len() / 4;
    for pixel in 0..n_pixels {
        pixels.copy_within(pixel * 4..pixel * 4 + 3, pixel * 3);
    }
    pixels.truncate(n_pixels * 3);
    3
}
