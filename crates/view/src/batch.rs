//! Preview of a batch, made by the training loader.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    image::png,
    mask::paint,
    objects,
    request::Asked,
};
use fdconvert_core::{Error, Pixels, objects::FIELD};
use fdconvert_loader::{
    Batch, Column, Datasets, Failures, Label, Loader, ObjectOptions, Objects, OnError, Options,
    Shape, Transform, TransformList, ViewGroup, ViewLayout,
};
use fdconvert_pipeline::field_of_objects;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Images of a batch, and their sides: as much as a screen shows.
const IMAGES: std::ops::RangeInclusive<u32> = 1..=64;
const MAX_SIDE: u32 = 512;

/// Threads of the loader: a preview should not occupy all of a machine.
const THREADS: usize = 2;

#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    is_second: bool,
    step: u64,
    seed: u64,
    epoch: u64,
    rows: u32,
    views: u32,
    transform: TransformList,
}

struct Made {
    pixels: Pixels,
    /// The masks of objects, over `pixels`; `None` without any.
    masks: Option<Pixels>,
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

/// `batch-masks.png`.
pub(crate) fn masks(dataset: &Dataset, asked: &Asked, last: &LastBatch) -> Result<Answer, Failure> {
    match &made(dataset, asked, last)?.masks {
        Some(masks) => Ok(png("the masks of the batch", masks)?),
        None => Err(Failure::missing("the objects of this batch have no masks")),
    }
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
        let rows = asked.number_within("rows", IMAGES, 16)?;
        let views = asked.number_within("views", IMAGES, 1)?;
        if !IMAGES.contains(&(rows * views)) {
            let what = format!(
                "{rows} rows of {views} views are {} images, and at most {} are shown",
                rows * views,
                IMAGES.end()
            );
            return Err(Failure::asked_wrong(what));
        }
        Ok(Self {
            is_second: asked.is_second()?,
            step: asked.number("step")?.unwrap_or(0),
            seed: asked.number("seed")?.unwrap_or(0),
            epoch: asked.number("epoch")?.unwrap_or(0),
            rows,
            views,
            transform: asked
                .one("transform")?
                .map_or_else(|| Ok(TransformList::default()), list)?,
        })
    }

    fn options(&self, dataset: &Dataset, objects: Option<ObjectOptions>) -> Options {
        Options::default()
            .batch_size(self.rows)
            .seed(self.seed)
            .views(vec![ViewGroup::new("", self.views, self.transform.clone())])
            .view_layout(ViewLayout::Rows)
            .objects(objects)
            .label(if dataset.schema().label().is_some() { Label::Auto } else { Label::None })
            // A failed row stays black and has its error.
            .failures(Failures { on_error: OnError::Skip, max: u64::MAX, ..Failures::default() })
            .threads(THREADS)
            .prefetch(1)
    }
}

/// Reads a list of transforms, and leaves out the form of its rows: pixels are shown before it.
fn list(text: &str) -> Result<TransformList, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::asked_wrong(format!("this is no list of transforms: {what}"))
    };
    let refused = |error: Error| match error {
        Error::Usage { what, .. } => wrong(&what),
        error => wrong(&error),
    };
    let transforms: Vec<Transform> = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let list = TransformList::new(transforms).map_err(refused)?;
    let shown = list.transforms().iter().filter(|transform| {
        !matches!(
            transform,
            Transform::Bands { .. }
                | Transform::Normalize { .. }
                | Transform::ToDtype { .. }
                | Transform::ToLayout { .. }
        )
    });
    let list = TransformList::new(shown.cloned().collect()).map_err(refused)?;
    let (width, height) = list.output().map_err(refused)?.size;
    if width.max(height) > MAX_SIDE {
        let what = format!("images of {width} x {height}, and at most {MAX_SIDE} pixels are shown");
        return Err(Failure::asked_wrong(format!("this list makes {what}")));
    }
    Ok(list)
}

fn make(dataset: &Dataset, wanted: &Wanted) -> Result<Made, Failure> {
    let datasets = Datasets::one(dataset.reader().clone())?;
    let loader = |objects| Loader::new(datasets.clone(), wanted.options(dataset, objects));
    let objects = field_of_objects(dataset.schema()).map(|_| ObjectOptions::of(FIELD));
    // Objects cannot follow lists that mix images; these are shown without.
    let mut loader = loader(objects).or_else(|_| loader(None))?;
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
    let views: Vec<&Objects> = (0..wanted.views as usize)
        .filter_map(|view| match batch.view_field(view, FIELD) {
            Some(Column::Objects(objects)) => Some(&**objects),
            _ => None,
        })
        .collect();
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
        if let (false, Some(row)) = (views.is_empty(), row.as_object_mut()) {
            let names = objects::names(dataset, *sample);
            let of = views.iter().map(|view| objects::in_row(view, at, &names)).collect();
            row.insert("objects".into(), Json::Array(of));
        }
        row
    });
    let rows: Vec<Json> = rows.collect();
    let shape = batch.shape();
    let height = shape.height * batch.len() as u32 * wanted.views;
    let pixels = Pixels { width: shape.width, height, channels: 3, data: batch.images().to_vec() };
    let masks = masks_of(&batch, &views);
    let document = json!({
        "rows": rows,
        "views": wanted.views,
        "masks": masks.is_some(),
        "width": shape.width,
        "height": shape.height,
        "transform": wanted.transform,
        "steps": n_steps,
    });
    Ok(Made { pixels, masks, document })
}

/// Draws the masks of run lengths as the images lie: the views of each row below each other.
fn masks_of(batch: &Batch, views: &[&Objects]) -> Option<Pixels> {
    if views.iter().all(|view| view.run_lengths.as_ref().is_none_or(|it| it.objects.is_empty())) {
        return None;
    }
    let Shape { width, height, .. } = batch.shape();
    let n_bytes = width as usize * height as usize * 4;
    let n_images = batch.len() * views.len();
    let mut data = vec![0; n_bytes * n_images];
    for (place, image) in data.chunks_exact_mut(n_bytes).enumerate() {
        let (row, view) = (place / views.len(), views.get(place % views.len())?);
        for (number, runs) in objects::masks_in_row(view, row) {
            paint(image, [height, width], runs, number);
        }
    }
    Some(Pixels { width, height: height * n_images as u32, channels: 4, data })
}
