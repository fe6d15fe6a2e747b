//! Preview of a batch, made by the training loader.
use crate::{
    answer::{Answer, Failure},
    dataset::Dataset,
    image::png,
    mask::{colors, paint},
    objects,
    request::Asked,
    sample::is_mask,
};
use fdconvert_core::{Error, Pixels, objects::FIELD};
use fdconvert_loader::{
    Batch, Column, Datasets, Failures, Label, Loader, MaskOptions, ObjectOptions, Objects, OnError,
    Options, Shape, Transform, TransformList, ViewGroup, ViewLayout,
};
use fdconvert_pipeline::field_of_objects;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Images of a batch, and their sides: as much as a screen shows.
const IMAGES: std::ops::RangeInclusive<u32> = 1..=64;
const MAX_SIDE: u32 = 512;

/// Number of samples that are tried at most, to find the label images by the first readable one.
const PROBED: u64 = 64;

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
    /// Label images and the masks of objects, over `pixels`; `None` without any.
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
        None => Err(Failure::missing("this batch has no masks")),
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

    fn options(
        &self,
        dataset: &Dataset,
        objects: Option<ObjectOptions>,
        masks: Vec<MaskOptions>,
    ) -> Options {
        Options::default()
            .batch_size(self.rows)
            .seed(self.seed)
            .views(vec![ViewGroup::new("", self.views, self.transform.clone())])
            .view_layout(ViewLayout::Rows)
            .objects(objects)
            .masks(masks)
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
    let mut objects = field_of_objects(dataset.schema()).map(|_| ObjectOptions::of(FIELD));
    let mut masks = label_fields(dataset);
    // What cannot follow any image is left out: masks of other sizes, and everything where a list
    // mixes images.
    let (n_steps, batch) = loop {
        let options = wanted.options(dataset, objects.clone(), masks.clone());
        let made = load(dataset, wanted, options);
        let follows = made.as_ref().is_ok_and(|(_, batch)| batch.valid().contains(&true));
        if follows || (objects.is_none() && masks.is_empty()) {
            break made?;
        }
        if masks.is_empty() {
            objects = None;
        }
        masks.clear();
    };
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
    let masks = masks_of(&batch, wanted.views as usize, &masks, &views);
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

/// Returns the batch of a step, and the number of steps.
fn load(dataset: &Dataset, wanted: &Wanted, options: Options) -> Result<(u64, Batch), Failure> {
    let mut loader = Loader::new(Datasets::one(dataset.reader().clone())?, options)?;
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
    Ok((n_steps, batch))
}

/// Returns the fields of label images.
fn label_fields(dataset: &Dataset) -> Vec<MaskOptions> {
    let sample = (0..dataset.len().min(PROBED)).find_map(|index| dataset.stored_sample(index).ok());
    let values = sample.map(|sample| sample.values).unwrap_or_default();
    let fields = dataset.schema().fields.iter().zip(&values).enumerate();
    let masks = fields.filter(|(at, (field, value))| {
        dataset.schema().first_image() != Some(*at) && is_mask(dataset, *at, field, value)
    });
    masks.map(|(_, (field, _))| MaskOptions::of(&field.name)).collect()
}

/// Draws label images, and over them the masks of run lengths, as the images lie: the views of each
/// row below each other.
fn masks_of(
    batch: &Batch,
    n_views: usize,
    labels: &[MaskOptions],
    views: &[&Objects],
) -> Option<Pixels> {
    let have_runs =
        |view: &&Objects| view.run_lengths.as_ref().is_some_and(|it| !it.objects.is_empty());
    if labels.is_empty() && !views.iter().any(have_runs) {
        return None;
    }
    let Shape { width, height, .. } = batch.shape();
    let n_pixels = width as usize * height as usize;
    let n_images = batch.len() * n_views;
    let mut data = vec![0; n_pixels * 4 * n_images];
    for (place, image) in data.chunks_exact_mut(n_pixels * 4).enumerate() {
        let (row, view) = (place / n_views, place % n_views);
        for mask in labels {
            let Some(Column::Array { spec, bytes }) = batch.view_field(view, &mask.field) else {
                continue;
            };
            let n_bytes = spec.dtype.size() as usize;
            let of_row = bytes.chunks_exact(n_pixels * n_bytes).nth(row).unwrap_or_default();
            let pixels = image.as_chunks_mut::<4>().0.iter_mut();
            let colored = pixels.zip(colors(of_row, n_bytes)).filter(|(_, color)| *color != [0; 4]);
            colored.for_each(|(pixel, color)| *pixel = color);
        }
        for (number, runs) in views.get(view).iter().flat_map(|it| objects::masks_in_row(it, row)) {
            paint(image, [height, width], runs, number);
        }
    }
    Some(Pixels { width, height: height * n_images as u32, channels: 4, data })
}
