//! One row: reads, checks and decodes its sample and writes it into the memory of the batch, or
//! leaves it to a GPU.
use super::{
    epoch::{Chosen, Epoch, Remedy},
    queue::Task,
};
use crate::{
    batch::RowFacts,
    dataset::Fetched,
    decoding::{decode, upright_size},
    device::DeviceRow,
    failure::SUBSTITUTES,
    fields::RowValues,
    follow::{Followed, Follower, Leader},
    stats::Stage,
    transform::Renderer,
};
#[cfg(feature = "gpu")]
use crate::{buffer::allocate, order::Row};
#[cfg(feature = "gpu")]
use bytes::BytesMut;
use fdconvert_codec::Decoder;
use fdconvert_core::{Error, Result};
use fdconvert_storage::sigbus;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

/// Makes rows of an epoch, one at a time. Each decoding thread has one.
pub(crate) struct RowMaker {
    pub(super) epoch: Arc<Epoch>,
    pub(super) decoder: Decoder,
    pub(super) renderer: Renderer,
    pub(super) pixels: Vec<u8>,
    follower: Option<Follower>,
}

/// Contents of a row besides its pixels.
pub(super) struct Shown {
    pub(super) values: RowValues,
    pub(super) followed: Option<Box<Followed>>,
}

impl From<RowValues> for Shown {
    /// Creates the contents of a row without fields that follow the image.
    fn from(values: RowValues) -> Self {
        Self { values, followed: None }
    }
}

impl RowMaker {
    /// # Errors
    /// `Usage` for invalid options.
    pub(crate) fn new(epoch: Arc<Epoch>) -> Result<Self> {
        let options = &epoch.setup.options;
        let renderer = Renderer::new(options.output, options.augment)?;
        let follows = epoch.setup.tells_geometry();
        let follower = follows.then(|| Follower::new(epoch.setup.following())).transpose()?;
        Ok(Self { epoch, decoder: Decoder::new(), renderer, pixels: Vec::new(), follower })
    }

    /// Makes a row of its sample, leaves it to a GPU, or applies the policy for failures.
    ///
    /// # Errors
    /// The error of the sample if failures are raised; else if there are too many failures, or no
    /// sample can substitute.
    pub(crate) fn fill(&mut self, task: &mut Task) -> Result<RowFacts> {
        let n_samples = self.epoch.n_samples.max(1);
        // The result of the read, if the sample was read already.
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
                Ok(Shown { values, followed }) => {
                    let substituted = tried > 0;
                    if substituted {
                        self.epoch.setup.counters.substituted();
                    }
                    let sample = sample.number;
                    return Ok(RowFacts { sample, values, followed, filled: true, substituted });
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

    /// Makes a row outside a batch, on the host; `fetched` is its sample, if it was read already.
    /// Returns the row's facts and bytes.
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

    /// Makes the row show a sample; returns the contents besides the pixels.
    fn show(
        &mut self,
        sample: &Chosen,
        fetched: Option<Result<Fetched>>,
        drawn_at: Option<u64>,
        task: &mut Task,
    ) -> Result<Shown> {
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
            return Ok(values.into());
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
                    let followed;
                    (task.device_row, followed) = made?;
                    // A row that is left to the GPU counts once it is decoded.
                    if task.device_row.is_none() {
                        self.epoch.count(sample);
                    }
                    return Ok(followed.unwrap_or_else(|| values.into()));
                }
                // Meanwhile another sample could not be read, so that the bytes of this one may
                // have been zeros. It is read again: from now on as a copy.
                None => fetched = self.epoch.read(sample.place)?,
            }
        }
    }

    /// Writes the row, unless a GPU decodes the image, and transforms the fields that follow it.
    fn make(
        &mut self,
        sample: &Chosen,
        fetched: Fetched,
        task: &mut Task,
    ) -> Result<(Option<DeviceRow>, Option<Shown>)> {
        let options = self.epoch.setup.decoding();
        let turned = options.turn(&fetched.image);
        let size = upright_size(&fetched.image, turned);
        let geometry = self.epoch.geometry(sample, size);
        // The GPU's decoder does not turn photos.
        let offload = self.epoch.setup.offload.as_ref().filter(|_| !task.on_host && turned <= 1);
        if let Some(decoding) = offload.and_then(|offload| offload.decoding(&fetched)) {
            let steps = self.epoch.steps(sample);
            return Ok((Some(DeviceRow::read(fetched, decoding, geometry, &steps)), None));
        }
        let began = Instant::now();
        let image = (&*fetched.key, &fetched.image);
        let pixels = &mut self.pixels;
        let part = decode(&mut self.decoder, image, turned, &geometry, &options, pixels)?;
        let decoded = Instant::now();
        let counters = &self.epoch.setup.counters;
        counters.spent(Stage::Decode, decoded - began);
        counters.rounded(part.is_rounded.into());
        let (region, key) = (part.region(&self.pixels), self.epoch.key(sample));
        self.renderer.render(&fetched.key, &region, &geometry, key, &mut task.buffer)?;
        counters.spent(Stage::Render, decoded.elapsed());
        let mut values = fetched.values;
        let leader = Leader {
            dataset: sample.located.dataset,
            key: &fetched.key,
            geometry: &geometry,
            source: size,
            image: Some(&fetched.image),
        };
        let followed = self.follow(&leader, &mut values)?;
        Ok((None, Some(Shown { values, followed })))
    }

    /// Transforms the fields that follow the image, and their values; `None` without such fields.
    ///
    /// # Errors
    /// The errors of the fields of their sample.
    pub(super) fn follow(
        &mut self,
        leader: &Leader<'_>,
        values: &mut RowValues,
    ) -> Result<Option<Box<Followed>>> {
        let Some(follower) = &mut self.follower else { return Ok(None) };
        let began = Instant::now();
        let setup = &self.epoch.setup;
        let fields = setup.datasets.fields();
        if let Some(categories) = &setup.categories
            && let Some(document) = fields.objects(values)
        {
            let name_of = |dataset| setup.datasets.name(dataset);
            categories.check(leader.key, document, leader.dataset, name_of)?;
        }
        let followed = follower.follow(&mut self.decoder, leader, fields, values)?;
        setup.counters.spent(Stage::Decode, began.elapsed());
        setup.counters.rounded(std::mem::take(&mut follower.n_rounded));
        Ok(Some(Box::new(followed)))
    }
}
