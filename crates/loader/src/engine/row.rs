//! One row: reads, checks and decodes its sample and writes it into the memory of the batch, or
//! leaves it to a GPU.
use super::{
    epoch::{Chosen, Epoch, Remedy},
    queue::Task,
};
use crate::{
    batch::RowFacts,
    dataset::Fetched,
    decoding::{Needed, decode, decode_bands, upright_size},
    device::{DeviceProgram, DeviceRow},
    failure::SUBSTITUTES,
    fields::RowValues,
    follow::{Followed, Follower, Leader, Lists},
    sizes::Sizes,
    stats,
    transform::{
        BandPainter, BandPixels, Change, Output, Painter, Region, Stage, Tables, check_pixels, fuse,
    },
};
#[cfg(feature = "gpu")]
use crate::{
    buffer::{RowBuffers, allocate},
    order::Row,
};
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
    painter: Painter,
    band_painter: BandPainter,
    /// Those of each group of views: the same in all forms.
    tables: Vec<Tables>,
    pub(super) pixels: Vec<u8>,
    /// The image of a row of patches.
    whole: Vec<u8>,
    follower: Option<Follower>,
    lists: Lists,
}

/// The pixels of an image that the views of a row are made of.
pub(super) enum Decoded<'a> {
    Rgb(Region<'a>),
    Bands(BandPixels<'a>),
}

/// Contents of a row besides its pixels.
pub(super) struct Shown {
    pub(super) values: RowValues,
    /// For each view; empty without fields that follow the image.
    pub(super) followed: Vec<Followed>,
    /// Width and height of the first view.
    pub(super) size: (u32, u32),
}

impl From<RowValues> for Shown {
    /// Creates the contents of a row without fields that follow the image.
    fn from(values: RowValues) -> Self {
        Self { values, followed: Vec::new(), size: (0, 0) }
    }
}

impl RowMaker {
    pub(crate) fn new(epoch: Arc<Epoch>) -> Self {
        let setup = &epoch.setup;
        let follower = setup.tells_geometry().then(|| Follower::new(setup.following()));
        let tables = setup.views.groups().iter().map(|group| Tables::new(&group.output)).collect();
        let (decoder, painter, pixels) = (Decoder::new(), Painter::default(), Vec::new());
        let (whole, lists) = (Vec::new(), Lists::default());
        let band_painter = BandPainter::default();
        Self { epoch, decoder, painter, band_painter, tables, pixels, whole, follower, lists }
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
                Ok(Shown { values, followed, size }) => {
                    let substituted = tried > 0;
                    if substituted {
                        self.epoch.setup.counters.substituted();
                    }
                    let Chosen { number: sample, occurrence, .. } = sample;
                    let filled = true;
                    return Ok(RowFacts {
                        sample,
                        occurrence,
                        values,
                        followed,
                        filled,
                        substituted,
                        size,
                    });
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => error,
            };
            match self.epoch.failed(&sample, error)? {
                Remedy::Substitute(error) => last_error = Some(error),
                Remedy::Skip => {
                    // A row of its own size has no pixels.
                    if self.epoch.setup.options.sizes == Sizes::Own {
                        task.buffers.iter_mut().for_each(BytesMut::clear);
                    }
                    task.buffers.iter_mut().for_each(|piece| piece.fill(0));
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
    ) -> Result<(RowFacts, RowBuffers)> {
        let views = self.epoch.setup.views.each();
        let buffers = views.map(|group| allocate(group.output.n_bytes())).collect();
        let mut task = Task {
            batch: 0,
            row: 0,
            position,
            number: 0,
            draws: valid,
            bucket: 0,
            buffers,
            fetched,
            on_host: true,
            device_row: None,
        };
        let facts = self.fill(&mut task)?;
        Ok((RowFacts { filled: facts.filled && valid, ..facts }, task.buffers))
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
            let changes = self.epoch.changes(sample, task.bucket, image.size())?;
            if let Some(program) = device_program(&changes, image.size()) {
                let values = image.values().clone();
                task.device_row = Some(DeviceRow::cached(image, program));
                return Ok(values.into());
            }
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
        let mut fetched = fetched;
        self.decode_lists(&mut fetched)?;
        let have_lists = self.epoch.setup.datasets.fields().have_lists();
        let with_lists = have_lists.then(|| fetched.values.clone().into());
        if self.epoch.setup.views.groups().is_empty() {
            return Ok((None, with_lists));
        }
        let turned = options.turn(&fetched.image);
        let size = upright_size(&fetched.image, turned);
        let changes = self.epoch.changes(sample, task.bucket, size)?;
        // The GPU's decoder does not turn photos.
        let offload = self.epoch.setup.offload.as_ref().filter(|_| !task.on_host && turned <= 1);
        if let Some(offload) = offload
            && let Some(program) = device_program(&changes, size)
            && let Some(decoding) = offload.decoding(&fetched)
        {
            return Ok((Some(DeviceRow::read(fetched, decoding, program)), with_lists));
        }
        let began = Instant::now();
        let image = (&*fetched.key, &fetched.image);
        let mut stages = compiled(&changes, size);
        let needed = Needed::of(stages.iter().map(Vec::as_slice), size);
        let Self { decoder, pixels, .. } = self;
        let counters = &self.epoch.setup.counters;
        let mut pixels = std::mem::take(pixels);
        let decoded = match self.epoch.setup.views.bands() {
            None => {
                let part = decode(decoder, image, turned, needed, &options, &mut pixels)?;
                counters.rounded(part.is_rounded.into());
                Decoded::Rgb(part.region(&pixels))
            }
            Some(bands) => {
                let needed = (needed, bands);
                let area = decode_bands(decoder, image, turned, needed, &options, &mut pixels)?;
                Decoded::Bands(BandPixels { values: &pixels, area, bands })
            }
        };
        counters.spent(stats::Stage::Decode, began.elapsed());
        let shown = size_after(&changes, size);
        let painted = self.paint(&fetched.key, &decoded, &mut stages, shown, task);
        self.pixels = pixels;
        painted?;
        let mut values = fetched.values;
        let leader = Leader {
            dataset: sample.located.dataset,
            key: &fetched.key,
            changes: &changes,
            source: size,
            image: Some(&fetched.image),
        };
        let followed = self.follow(&leader, &mut values)?;
        Ok((None, Some(Shown { values, followed, size: shown })))
    }

    /// Decodes the lists of images among the values of a row.
    ///
    /// # Errors
    /// The errors of the images of their sample.
    fn decode_lists(&mut self, fetched: &mut Fetched) -> Result<()> {
        let setup = &self.epoch.setup;
        let (fields, options) = (setup.datasets.fields(), setup.decoding());
        if !fields.have_lists() {
            return Ok(());
        }
        let began = Instant::now();
        let Self { lists, decoder, .. } = self;
        lists.decode(decoder, &fetched.key, fields, &options, &mut fetched.values)?;
        setup.counters.spent(stats::Stage::Decode, began.elapsed());
        setup.counters.rounded(std::mem::take(&mut lists.n_rounded));
        Ok(())
    }

    /// Writes the views of a row; `size` is that of the first one.
    ///
    /// # Errors
    /// `Sample` if the region lacks pixels, and if the image becomes too large.
    pub(super) fn paint(
        &mut self,
        key: &str,
        decoded: &Decoded<'_>,
        stages: &mut [Vec<Stage>],
        size: (u32, u32),
        task: &mut Task,
    ) -> Result<()> {
        let began = Instant::now();
        let Self { epoch, painter, band_painter, tables, whole, .. } = self;
        let setup = &epoch.setup;
        let Some(form) = setup.form(task.bucket) else { return Ok(()) };
        let groups = form.views.groups().iter().zip(&*tables);
        let groups = groups.flat_map(|it| std::iter::repeat_n(it, it.0.n_views));
        let refuse = |what: String| Error::sample(key, format!("cannot be resized: {what}"));
        for ((stages, (group, tables)), row) in stages.iter_mut().zip(groups).zip(&mut task.buffers)
        {
            let own = Output { size, ..group.output };
            let mut make = |output: &Output, row: &mut [u8]| {
                let made = match (decoded, group.transform.bands()) {
                    (Decoded::Rgb(region), None) => {
                        painter.row(region, stages, (output, tables), row)
                    }
                    (Decoded::Bands(pixels), Some(form)) => {
                        band_painter.row(pixels, stages, (form, output), row)
                    }
                    // `Setup::new` refuses it.
                    _ => Err("the views have other bands than the image".into()),
                };
                made.map_err(refuse)
            };
            match &setup.options.sizes {
                Sizes::One | Sizes::Buckets(_) => {
                    make(&group.output, row)?;
                }
                Sizes::Own => {
                    check_pixels(size).map_err(refuse)?;
                    row.resize(own.n_bytes(), 0);
                    make(&own, row)?;
                }
                Sizes::Patches(patches) => {
                    whole.resize(own.n_bytes(), 0);
                    make(&own, whole)?;
                    let columns = size.0.checked_div(patches.side).unwrap_or_default();
                    patches.split(whole, columns, 3 * own.dtype.n_bytes(), row);
                }
            }
        }
        setup.counters.spent(stats::Stage::Render, began.elapsed());
        Ok(())
    }

    /// Transforms the fields that follow the image for each view, and the values of the first one.
    ///
    /// # Errors
    /// The errors of the fields of their sample.
    pub(super) fn follow(
        &mut self,
        leader: &Leader<'_>,
        values: &mut RowValues,
    ) -> Result<Vec<Followed>> {
        let Some(follower) = &mut self.follower else { return Ok(Vec::new()) };
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
        setup.counters.spent(stats::Stage::Decode, began.elapsed());
        setup.counters.rounded(std::mem::take(&mut follower.n_rounded));
        Ok(followed)
    }
}

/// Returns width and height of the first view of an image.
pub(super) fn size_after(changes: &[Vec<Change>], size: (u32, u32)) -> (u32, u32) {
    let first = changes.first().into_iter().flatten();
    first.fold(size, |size, change| change.size(size))
}

/// Compiles the changes of each view of an image of this width and height.
pub(super) fn compiled(changes: &[Vec<Change>], size: (u32, u32)) -> Vec<Vec<Stage>> {
    changes.iter().map(|changes| fuse(changes.clone(), size)).collect()
}

/// Returns what a GPU does for a row of one view; `None` if the host has to make it.
pub(super) fn device_program(changes: &[Vec<Change>], size: (u32, u32)) -> Option<DeviceProgram> {
    let [changes] = changes else { return None };
    DeviceProgram::of(&fuse(changes.clone(), size))
}
