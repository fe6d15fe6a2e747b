//! Preview of a batch, made by the training loader.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    image::png,
    request::Asked,
};
use fdconvert_core::Pixels;
use fdconvert_loader::{
    Augment, Crop, DType, Datasets, Failures, Label, Layout, Loader, OnError, Options, Output,
};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows, and their sides: as much as a screen shows.
const ROWS: std::ops::RangeInclusive<u32> = 1..=64;
const SIDES: std::ops::RangeInclusive<u32> = 16..=512;

/// Threads of the loader: a preview should not occupy all of a machine.
const THREADS: usize = 2;

#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    is_second: bool,
    step: u64,
    seed: u64,
    epoch: u64,
    rows: u32,
    side: u32,
    crop: Crop,
    flip: bool,
    augment: Option<Augment>,
}

struct Made {
    pixels: Pixels,
    document: Json,
}

/// The last batch: requests for its rows and for its picture follow each other.
#[derive(Default)]
pub(crate) struct LastBatch(Mutex<Option<(Wanted, Arc<Made>)>>);

/// `api/batch`.
pub(crate) fn rows(dataset: &Dataset, asked: &Asked, last: &LastBatch) -> Result<Answer, Failure> {
    Ok(Answer::json(&made(dataset, asked, last)?.document))
}

/// `batch.png`.
pub(crate) fn picture(
    dataset: &Dataset,
    asked: &Asked,
    last: &LastBatch,
) -> Result<Answer, Failure> {
    Ok(png("the batch", &made(dataset, asked, last)?.pixels)?)
}

fn made(dataset: &Dataset, asked: &Asked, last: &LastBatch) -> Result<Arc<Made>, Failure> {
    let wanted = Wanted::asked(asked)?;
    // One at a time: two would compete for the processors.
    let mut last = last.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, made)) = last.as_ref().filter(|(known, _)| *known == wanted) {
        return Ok(made.clone());
    }
    let made = Arc::new(make(dataset, &wanted)?);
    *last = Some((wanted, made.clone()));
    Ok(made)
}

impl Wanted {
    fn asked(asked: &Asked) -> Result<Self, Failure> {
        let side = asked.number_within("side", SIDES, 224)?;
        let unknown = |name: &str, value: &str, known: &str| {
            Failure::asked_wrong(format!("`{name}={value}` is none of: {known}"))
        };
        let crop = match asked.one("crop")?.unwrap_or("center") {
            // As usual for evaluation: 256 for 224.
            "center" => Crop::Center { resize: (side * 8).div_ceil(7) },
            "random" => Crop::Random { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) },
            "letterbox" => Crop::Letterbox { fill: [0; 3] },
            other => return Err(unknown("crop", other, "center, random, letterbox")),
        };
        let augment = match asked.one("augment")?.unwrap_or("none") {
            "none" => None,
            "auto" => Augment::named("autoaugment"),
            "rand" => Augment::named("randaugment"),
            "trivial" => Augment::named("trivialaugment"),
            other => return Err(unknown("augment", other, "none, auto, rand, trivial")),
        };
        let flip = match asked.one("flip")?.unwrap_or("0") {
            "0" => false,
            "1" => true,
            other => return Err(unknown("flip", other, "0, 1")),
        };
        Ok(Self {
            is_second: asked.is_second()?,
            step: asked.number("step")?.unwrap_or(0),
            seed: asked.number("seed")?.unwrap_or(0),
            epoch: asked.number("epoch")?.unwrap_or(0),
            rows: asked.number_within("rows", ROWS, 16)?,
            side,
            crop,
            flip,
            augment,
        })
    }

    fn options(&self, dataset: &Dataset) -> Options {
        Options::default()
            .batch_size(self.rows)
            .seed(self.seed)
            .output(Output {
                size: (self.side, self.side),
                dtype: DType::U8,
                layout: Layout::Nhwc,
                normalise: None,
            })
            .crop(self.crop)
            .flip(if self.flip { 0.5 } else { 0.0 })
            .augment(self.augment)
            .label(if dataset.schema().label().is_some() { Label::Auto } else { Label::None })
            // A failed row stays black and has its error.
            .failures(Failures { on_error: OnError::Skip, max: u64::MAX, ..Failures::default() })
            .threads(THREADS)
            .prefetch(1)
    }
}

fn make(dataset: &Dataset, wanted: &Wanted) -> Result<Made, Failure> {
    let datasets = Datasets::one(dataset.reader().clone())?;
    let mut loader = Loader::new(datasets, wanted.options(dataset))?;
    loader.set_epoch(wanted.epoch)?;
    let n_steps = loader.len();
    if wanted.step >= n_steps {
        let what = format!("`step={}`: an epoch has {n_steps} steps, from 0", wanted.step);
        return Err(Failure::asked_wrong(what));
    }
    let mut state = loader.state();
    state.consumed = wanted.step.saturating_mul(wanted.rows.into());
    loader.restore(&state)?;
    let batch = loader.next_batch().ok_or_else(|| Failure::broken("there is no batch"))??;
    let labels = batch.labels().unwrap_or_default();
    let rows = batch.samples().iter().zip(batch.valid()).enumerate();
    let rows = rows.map(|(at, (sample, is_valid))| {
        let label = labels.get(at);
        let mut row = json!({
            "sample": sample,
            "key": dataset.reader().key(*sample),
            "label": label,
        });
        if let (false, Some(row)) = (*is_valid, row.as_object_mut()) {
            row.insert("failed".into(), json!(true));
        }
        row
    });
    let rows: Vec<Json> = rows.collect();
    let height = wanted.side * batch.len() as u32;
    let data = batch.images().to_vec();
    let pixels = Pixels { width: wanted.side, height, channels: 3, data };
    let document = json!({"rows": rows, "side": wanted.side, "steps": n_steps});
    Ok(Made { pixels, document })
}
