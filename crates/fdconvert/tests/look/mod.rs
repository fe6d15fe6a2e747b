//! Descriptions of a dataset: statistics, sheets, and duplicates.
mod duplicates;
mod sheet;
mod stats;

use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer};
use fdconvert_core::{Codec, Encoded, Limits, Pixels, probe::probe};
use fdconvert_testkit::fixtures;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the files of a folder, sorted by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the decoded image of a file.
fn decoded(file: &Path) -> Pixels {
    let bytes = fs::read(file).unwrap();
    let header = probe(&bytes).unwrap();
    let image = Encoded::new(header.codec, header.width, header.height, bytes.into());
    Decoder::new().decode("test", &image, &Limits::DEFAULT).unwrap().pixels
}

/// Returns Kodak's photos, with a longer side of 400 pixels.
fn kodak() -> Vec<Pixels> {
    files(&fixtures::kodak()).iter().map(|file| resized(&decoded(file), 400)).collect()
}

fn resized(pixels: &Pixels, width: u32) -> Pixels {
    let height = width * pixels.height / pixels.width;
    let mut data = Vec::new();
    Resizer::new().resize("test", pixels, (width, height), Filter::Area, &mut data).unwrap();
    Pixels { width, height, channels: pixels.channels, data }
}

/// Returns some columns and rows of an image.
fn cropped(pixels: &Pixels, (x, y): (u32, u32), (width, height): (u32, u32)) -> Pixels {
    let channels = u32::from(pixels.channels);
    let rows = (y..y + height).flat_map(|y| {
        let start = ((y * pixels.width + x) * channels) as usize;
        pixels.data[start..start + (width * channels) as usize].iter().copied()
    });
    Pixels { width, height, channels: pixels.channels, data: rows.collect() }
}

fn jpeg(pixels: &Pixels, quality: u8) -> Vec<u8> {
    let options = JpegOptions { quality, ..JpegOptions::default() };
    Encoder::new().encode("test", pixels, Codec::Jpeg, &options, None).unwrap().bytes.to_vec()
}

fn png(pixels: &Pixels) -> Vec<u8> {
    let options = JpegOptions::default();
    Encoder::new().encode("test", pixels, Codec::Png, &options, None).unwrap().bytes.to_vec()
}

/// Writes files with these names and contents below a folder.
fn write(folder: &Path, named: &[(String, Vec<u8>)]) {
    for (name, bytes) in named {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
