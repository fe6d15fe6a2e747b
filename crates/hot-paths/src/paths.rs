//! The paths. One repeat of each takes some ten million instructions.
use crate::{
    Result,
    inputs::{MANY_BETON, MANY_WDS, PHOTOS, RAW, jpeg, write},
};
use fdconvert_codec::{Decoder, Policy};
use fdconvert_core::{Encoded, Format, Limits, Reader, Value};
use fdconvert_formats::{beton::Beton, mds::Mds, open, wds::Wds};
use fdconvert_loader::{Crop, Datasets, Loader, Options};
use std::{
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
};

/// One repeat: the folder of the inputs, that of the outputs, and the number of the repeat.
type Take = fn(&Path, &Path, u64) -> Result<()>;

/// The paths that are counted. The names are those in `benches/instructions.json`.
pub(crate) const ALL: [(&str, Take); 12] = [
    ("pack-beton", |inputs, out, repeat| {
        keep(&inputs.join(MANY_WDS), (out, repeat), Box::new(Beton::default()))
    }),
    ("pack-wds", |inputs, out, repeat| {
        keep(&inputs.join(MANY_BETON), (out, repeat), Box::new(Wds::default()))
    }),
    ("pack-mds", |inputs, out, repeat| {
        keep(&inputs.join(MANY_BETON), (out, repeat), Box::new(Mds::default()))
    }),
    ("pack-entry-points", pack_entry_points),
    ("pack-jpeg", pack_jpeg),
    ("get-beton", |inputs, _, _| get(&inputs.join(MANY_BETON))),
    ("get-wds", |inputs, _, _| get(&inputs.join(MANY_WDS))),
    ("decode", |inputs, _, _| decode(&inputs.join(PHOTOS))),
    ("decode-luma", |inputs, _, _| decode_luma(&inputs.join(PHOTOS))),
    ("batches", |inputs, _, _| batches(&inputs.join(PHOTOS), 1)),
    ("batches-raw", |inputs, _, _| batches(&inputs.join(RAW), 4)),
    ("fractals", |_, _, _| fractals()),
];

/// An empty path, to count only planted turns.
const IDLE: (&str, Take) = ("idle", |_, _, _| Ok(()));

/// Number of fetches of each sample in a repeat.
const N_GETS: u64 = 60;
const FRACTALS: &str = "fractal:svd?classes=20&instances=1&size=256";

pub(crate) fn find(name: &str) -> Option<Take> {
    ALL.iter().chain([&IDLE]).find(|(known, _)| *known == name).map(|(_, take)| *take)
}

/// Packs a dataset into another format without changing the bytes of images.
fn keep(source: &Path, (out, repeat): (&Path, u64), format: Box<dyn Format>) -> Result<()> {
    let source = open(source)?;
    write(Arc::<dyn Reader>::from(source), &output(out, repeat), format, Policy::default(), None)
}

/// Packs with a search for entry points in JPEGs.
fn pack_entry_points(inputs: &Path, out: &Path, repeat: u64) -> Result<()> {
    let source = open(inputs.join(MANY_WDS))?;
    let (out, beton) = (output(out, repeat), Box::new(Beton::default()));
    write(Arc::<dyn Reader>::from(source), &out, beton, Policy::default(), Some(1024))
}

/// Decodes, resizes and encodes.
fn pack_jpeg(inputs: &Path, out: &Path, repeat: u64) -> Result<()> {
    let source = open(inputs.join(PHOTOS))?;
    write(
        Arc::<dyn Reader>::from(source),
        &output(out, repeat),
        Box::new(Beton::default()),
        jpeg(256),
        None,
    )
}

/// Returns a separate output for every repeat: overwriting is another path.
fn output(folder: &Path, repeat: u64) -> PathBuf {
    folder.join(format!("{repeat:04}"))
}

/// Fetches all samples in a scattered order, as in training.
fn get(dataset: &Path) -> Result<()> {
    let dataset = open(dataset)?;
    let mut index = 0;
    for _ in 0..N_GETS * dataset.len() {
        index = (index + 89) % dataset.len();
        black_box(dataset.get(index)?);
    }
    Ok(())
}

fn decode(dataset: &Path) -> Result<()> {
    let (mut decoder, mut pixels) = (Decoder::new(), Vec::new());
    each_image(&*open(dataset)?, |image| {
        decoder.decode_into("photo", image, &Limits::DEFAULT, &mut pixels)?;
        Ok(())
    })
}

/// Decodes luma, which takes most of the time of the search for duplicates.
fn decode_luma(dataset: &Path) -> Result<()> {
    let (mut decoder, mut memory) = (Decoder::new(), Vec::new());
    each_image(&*open(dataset)?, |image| {
        let buffer = std::mem::take(&mut memory);
        let found = decoder.decode_reduced_luma("photo", image, &Limits::DEFAULT, 8, buffer)?;
        memory = found.pixels.data;
        Ok(())
    })
}

fn each_image(dataset: &dyn Reader, mut take: impl FnMut(&Encoded) -> Result<()>) -> Result<()> {
    for index in 0..dataset.len() {
        for value in &dataset.get(index)?.values {
            if let Value::Image(image) = value {
                take(image)?;
            }
        }
    }
    Ok(())
}

/// Loads epochs as for training: shuffled, random crops resized to 224 x 224, flipped.
fn batches(dataset: &Path, n_epochs: u64) -> Result<()> {
    let options = Options::default()
        .batch_size(12)
        .crop(Crop::Random { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) })
        .flip(0.5)
        .threads(1);
    let mut loader = Loader::new(Datasets::open(dataset)?, options)?;
    for _ in 0..n_epochs {
        while let Some(batch) = loader.next_batch() {
            black_box(batch?.images());
        }
    }
    Ok(())
}

fn fractals() -> Result<()> {
    let fractals = open(FRACTALS)?;
    for index in 0..fractals.len() {
        black_box(fractals.read(index)?);
    }
    Ok(())
}
