//! The paths, each of some ten million instructions, between two folders of the current one.
use crate::{
    Result,
    inputs::{MANY_BETON, MANY_WDS, PHOTOS, RAW, jpeg, write},
};
use fdconvert_codec::{Decoder, Policy};
use fdconvert_core::{Encoded, Format, Limits, Reader, Value};
use fdconvert_formats::{beton::Beton, mds::Mds, open, wds::Wds};
use fdconvert_loader::{Datasets, Loader, Options, TransformList};
use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The folder of the datasets that the paths read; the benchmarks put it there.
const INPUTS: &str = "inputs";
const OUT: &str = "out";

/// Number of fetches of each sample.
const N_GETS: u64 = 60;
const FRACTALS: &str = "fractal:svd?classes=20&instances=1&size=256";

/// Packs 208 small JPEGs of shards into a beton.
pub fn pack_beton() -> Result {
    repack(MANY_WDS, Box::new(Beton::default()), Policy::default(), None)
}

/// Packs the same images of a beton into shards.
pub fn pack_wds() -> Result {
    repack(MANY_BETON, Box::new(Wds::default()), Policy::default(), None)
}

/// Packs the same images of a beton into MDS.
pub fn pack_mds() -> Result {
    repack(MANY_BETON, Box::new(Mds::default()), Policy::default(), None)
}

/// Packs with a search for entry points in JPEGs.
pub fn pack_entry_points() -> Result {
    repack(MANY_WDS, Box::new(Beton::default()), Policy::default(), Some(1024))
}

/// Decodes, resizes and encodes.
pub fn pack_jpeg() -> Result {
    repack(PHOTOS, Box::new(Beton::default()), jpeg(256), None)
}

fn repack(
    dataset: &str,
    format: Box<dyn Format>,
    policy: Policy,
    jpeg_index: Option<u32>,
) -> Result {
    let source = Arc::<dyn Reader>::from(open(input(dataset))?);
    fs::create_dir_all(OUT)?;
    write(source, &Path::new(OUT).join("0000"), format, policy, jpeg_index)
}

fn input(dataset: &str) -> PathBuf {
    Path::new(INPUTS).join(dataset)
}

/// Fetches samples of a beton.
pub fn get_beton() -> Result {
    get(MANY_BETON)
}

/// Fetches samples of shards.
pub fn get_wds() -> Result {
    get(MANY_WDS)
}

/// Fetches all samples in a scattered order, as in training.
fn get(dataset: &str) -> Result {
    let dataset = open(input(dataset))?;
    let mut index = 0;
    for _ in 0..N_GETS * dataset.len() {
        index = (index + 89) % dataset.len();
        black_box(dataset.get(index)?);
    }
    Ok(())
}

/// Decodes twelve photos.
pub fn decode() -> Result {
    let (mut decoder, mut pixels) = (Decoder::new(), Vec::new());
    each_photo(|image| {
        decoder.decode_into("photo", image, &Limits::DEFAULT, &mut pixels)?;
        Ok(())
    })
}

/// Decodes luma, which takes most of the time of the search for duplicates.
pub fn decode_luma() -> Result {
    let (mut decoder, mut memory) = (Decoder::new(), Vec::new());
    each_photo(|image| {
        let buffer = std::mem::take(&mut memory);
        let found = decoder.decode_reduced_luma("photo", image, &Limits::DEFAULT, 8, buffer)?;
        memory = found.pixels.data;
        Ok(())
    })
}

fn each_photo(mut take: impl FnMut(&Encoded) -> Result) -> Result {
    let dataset = open(input(PHOTOS))?;
    for index in 0..dataset.len() {
        for value in &dataset.get(index)?.values {
            if let Value::Image(image) = value {
                take(image)?;
            }
        }
    }
    Ok(())
}

/// Loads an epoch of JPEGs.
pub fn batches() -> Result {
    load(PHOTOS, 1)
}

/// Loads four epochs of pixels.
pub fn batches_raw() -> Result {
    load(RAW, 4)
}

/// Loads epochs as for training: shuffled, random crops resized to 224 x 224, flipped.
fn load(dataset: &str, n_epochs: u64) -> Result {
    let options = Options::default().batch_size(12).transform(TransformList::rrc(224)?).threads(1);
    let mut loader = Loader::new(Datasets::open(input(dataset))?, options)?;
    for _ in 0..n_epochs {
        while let Some(batch) = loader.next_batch() {
            black_box(batch?.images());
        }
    }
    Ok(())
}

/// Draws twenty fractals.
pub fn fractals() -> Result {
    let fractals = open(FRACTALS)?;
    for index in 0..fractals.len() {
        black_box(fractals.read(index)?);
    }
    Ok(())
}
