//! What checkpoints cost and what they spare: `measure FOLDER [ROUNDS]` takes the JPEGs of a
//! folder, and the same images made smaller and encoded anew, and prints tables for `README.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement for people")]

use cpu_time::ThreadTime;
use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer, Size};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_jpeg_index::{
    Checkpoints, DEFAULT_GRID_BITS, GRIDS_BITS, Jpeg, cut, parse, region, unstuff,
};
use fdconvert_testkit::fixtures::Random;
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("name a folder of JPEGs")?);
    let n_rounds = args.next().map_or(Ok(7), |rounds| rounds.parse())?;
    let mut originals = Vec::new();
    for file in files(&folder)? {
        originals.push(std::fs::read(file)?);
    }
    println!(
        "| set | images | refused | mean bytes | mean megapixels | parse µs | un-stuff µs | build µs | \
         encode µs | decode µs | cut µs | 512 | 1024 | 2048 | 4096 | touched | walked |"
    );
    println!("|{}", "---|".repeat(17));
    measure("originals", &originals, n_rounds)?;
    for (side, quality) in [(224, 50), (224, 90), (500, 50), (500, 90)] {
        let made: Vec<_> =
            originals.iter().filter_map(|image| smaller(image, side, quality).ok()).collect();
        measure(&format!("{side} q{quality}"), &made, n_rounds)?;
    }
    Ok(())
}

/// A square of 224 pixels, or 500 on the long side.
fn smaller(image: &[u8], side: u32, quality: u8) -> Result<Vec<u8>> {
    let header = parse(image)?;
    let (width, height) = (header.width, header.height);
    let image = Encoded { codec: Codec::Jpeg, width, height, bytes: image.to_vec().into() };
    let pixels = Decoder::new().decode("", &image, &Limits::DEFAULT)?.pixels;
    let size = if side == 224 { Size::ShortSide(side) } else { Size::MaxSide(side) };
    let (width, height) = size.target(width, height);
    let mut data = Vec::new();
    Resizer::new().resize("", &pixels, (width, height), Filter::Area, &mut data)?;
    let mut pixels = Pixels { width, height, channels: pixels.channels, data };
    if side == 224 {
        pixels = center(&pixels, side.min(width), side.min(height));
    }
    let options = JpegOptions { quality, ..JpegOptions::default() };
    Ok(Encoder::new().encode("", &pixels, Codec::Jpeg, &options, None)?.bytes.to_vec())
}

fn center(pixels: &Pixels, width: u32, height: u32) -> Pixels {
    let channels = usize::from(pixels.channels);
    let left = (pixels.width - width) as usize / 2 * channels;
    let top = (pixels.height - height) as usize / 2;
    let rows = pixels.data.chunks_exact(pixels.width as usize * channels).skip(top);
    let data = rows
        .take(height as usize)
        .flat_map(|row| row.iter().skip(left).take(width as usize * channels).copied())
        .collect();
    Pixels { width, height, channels: pixels.channels, data }
}

fn measure(name: &str, images: &[Vec<u8>], n_rounds: usize) -> Result<()> {
    let mut fit = Vec::new();
    for image in images {
        let made = parse(image).and_then(|jpeg| {
            Checkpoints::build(&jpeg, image, DEFAULT_GRID_BITS).map(|made| (image, jpeg, made))
        });
        match made {
            Ok(made) => fit.push(made),
            Err(refused) => eprintln!("{name}: {refused}"),
        }
    }
    let n_images = fit.len() as f64;
    let n_bytes: usize = fit.iter().map(|(image, ..)| image.len()).sum();
    let n_pixels: f64 = fit.iter().map(|(_, jpeg, _)| f64::from(jpeg.width * jpeg.height)).sum();
    let stored: Vec<_> = fit.iter().map(|(.., made)| made.to_bytes()).collect();
    let micros = |work: &mut dyn FnMut()| median(n_rounds, work).as_secs_f64() * 1e6 / n_images;
    let parsing = micros(&mut || {
        fit.iter().for_each(|(image, ..)| drop(black_box(parse(image))));
    });
    let unstuffing = micros(&mut || {
        fit.iter().for_each(|(image, jpeg, _)| drop(black_box(unstuff(jpeg, image))));
    });
    let building = micros(&mut || {
        for (image, jpeg, _) in &fit {
            drop(black_box(Checkpoints::build(jpeg, image, DEFAULT_GRID_BITS)));
        }
    });
    let encoding = micros(&mut || {
        fit.iter().for_each(|(.., made)| drop(black_box(made.to_bytes())));
    });
    let decoding = micros(&mut || {
        for ((_, jpeg, _), bytes) in fit.iter().zip(&stored) {
            drop(black_box(Checkpoints::from_bytes(bytes, jpeg)));
        }
    });
    // The middle third of the rows.
    let cutting = micros(&mut || {
        let mut out = Vec::new();
        for (image, jpeg, made) in &fit {
            let rows = jpeg.height / 3..jpeg.height * 2 / 3;
            black_box(cut(jpeg, image, made, rows, 1, &mut out));
        }
    });
    let mut overheads = String::new();
    for grid_bits in GRIDS_BITS {
        let mut n_stored = 0;
        for (image, jpeg, _) in &fit {
            n_stored += Checkpoints::build(jpeg, image, grid_bits)?.to_bytes().len();
        }
        overheads += &format!(" {:.2} % |", 100.0 * n_stored as f64 / n_bytes as f64);
    }
    let (touched, walked) = fractions(&fit);
    println!(
        "| {name} | {} | {} | {:.0} | {:.3} | {parsing:.1} | {unstuffing:.1} | {building:.1} | \
         {encoding:.1} | {decoding:.1} | {cutting:.1} |{overheads} {touched:.3} | {walked:.3} |",
        fit.len(),
        images.len() - fit.len(),
        n_bytes as f64 / n_images,
        n_pixels / n_images / 1e6,
    );
    Ok(())
}

/// The mean shares of the bits that random resized crops touch, and that have to be walked.
fn fractions(fit: &[(&Vec<u8>, Jpeg, Checkpoints)]) -> (f64, f64) {
    const CROPS_PER_IMAGE: usize = 20;
    let mut random = Random::new(1);
    let (mut touched, mut walked) = (0.0, 0.0);
    for (_, jpeg, made) in fit {
        for _ in 0..CROPS_PER_IMAGE {
            let (x, y, width, height) = random_crop(&mut random, jpeg.width, jpeg.height);
            let needed = region(jpeg, made, y..y + height, x..x + width);
            touched += needed.fraction(made);
            walked += needed.walked_fraction(made);
        }
    }
    let n_crops = (fit.len() * CROPS_PER_IMAGE) as f64;
    (touched / n_crops, walked / n_crops)
}

/// Area 8 % to all, sides 3:4 to 4:3, ten attempts; else the largest square.
fn random_crop(random: &mut Random, width: u32, height: u32) -> (u32, u32, u32, u32) {
    let mut unit = || random.below(1 << 30) as f64 / f64::from(1 << 30);
    let (full_width, full_height) = (f64::from(width), f64::from(height));
    let side = full_width.min(full_height);
    let mut crop = (side, side);
    for _ in 0..10 {
        let area = full_width * full_height * (0.08 + 0.92 * unit());
        let ratio = (0.75f64.ln() * (1.0 - 2.0 * unit())).exp();
        let sides = ((area * ratio).sqrt(), (area / ratio).sqrt());
        if sides.0 <= full_width && sides.1 <= full_height {
            crop = sides;
            break;
        }
    }
    let (x, y) = ((full_width - crop.0) * unit(), (full_height - crop.1) * unit());
    (x as u32, y as u32, (crop.0 as u32).max(1), (crop.1 as u32).max(1))
}

fn median(n_rounds: usize, work: &mut dyn FnMut()) -> Duration {
    let mut times: Vec<_> = (0..n_rounds.max(1))
        .map(|_| {
            let start = ThreadTime::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
