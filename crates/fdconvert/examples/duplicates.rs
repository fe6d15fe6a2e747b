//! Measures how well and how fast duplicates are found: `cargo run --release -p fdconvert --example
//! duplicates -- IMAGES`.
//!
//! A thousand images, those of the folder and fractals of different categories, each with a copy
//! that was encoded again at a quality of 50 to 95 and resized by 0.5 to 2. Reports, for some
//! distances, the number of these pairs that are found, and the number of found pairs that are
//! wrong. Then it reports the rate of one thread over the images of the folder alone. Prints
//! Markdown; a recorded result is in `benches/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an experiment ends where something is wrong"
)]
use fdconvert::{
    Context, DuplicatesOptions, Encoded, Pack, PackOptions, Pixels, Reader, Value, find_duplicates,
};
use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer, Subsampling};
use fdconvert_core::{Codec, KeyedRandom, Limits};
use std::{fs, path::Path, time::Instant};

const N_PAIRS: u64 = 1000;
/// Number of copies of the folder's images for measuring the rate.
const N_TIMED: u64 = 2000;

fn main() {
    let images = std::env::args().nth(1).expect("a folder of images");
    let root = tempfile::tempdir().unwrap();
    let photos = fdconvert::open(&images).unwrap();
    let n_fractals = N_PAIRS.saturating_sub(photos.len());
    let recipe = format!("fractal:svd?classes={n_fractals}&instances=1&size=362");
    let fractals = fdconvert::open(recipe).unwrap();
    let planted = root.path().join("planted");
    fs::create_dir(&planted).unwrap();
    plant(&[&*photos, &*fractals], &planted);
    println!("{} photos, {n_fractals} fractals, a copy of each\n", photos.len());
    println!("| distance | found | of 1000 | other pairs | of the pairs found |");
    println!("|---|---|---|---|---|");
    for distance in [0, 2, 4, 7, 10, 15] {
        let options = DuplicatesOptions::default().near(true).distance(distance);
        let found =
            find_duplicates(std::slice::from_ref(&planted), &options, Context::default()).unwrap();
        let (mut right, mut wrong) = (0_u64, 0_u64);
        for group in &found.groups {
            // `0017-a.jpg` and `0017-b.jpg`.
            let names: Vec<&str> = group.samples.iter().map(|it| &it.key[..4]).collect();
            for (at, name) in names.iter().enumerate() {
                let same = names[at + 1..].iter().filter(|other| *other == name).count();
                right += same as u64;
                wrong += (names.len() - at - 1 - same) as u64;
            }
            if distance == 15 && group.samples.len() > 2 {
                let keys: Vec<&str> = group.samples.iter().map(|it| it.key.as_str()).collect();
                eprintln!("more than a pair: {}", keys.join(" "));
            }
        }
        let share = wrong as f64 * 100.0 / (right + wrong).max(1) as f64;
        let n_found = right as f64 * 100.0 / N_PAIRS as f64;
        println!("| {distance} | {right} | {n_found:.1} % | {wrong} | {share:.2} % |");
    }
    println!("\n| {N_TIMED} images, one thread | images/s | bytes an image |");
    println!("|---|---|---|");
    for side in [256, 375, 500] {
        timed(&*photos, side, root.path());
    }
}

/// Writes each image and its copy.
fn plant(sources: &[&dyn Reader], folder: &Path) {
    let mut number = 0_u64;
    for source in sources {
        for index in 0..source.len() {
            if number == N_PAIRS {
                return;
            }
            let Ok(pixels) = decoded(*source, index) else { continue };
            let pixels = at_most(&pixels, 500);
            let mut random = KeyedRandom::new(&[9, number]);
            let copy = scaled(&pixels, random.between(0.5, 2.0));
            let quality = random.integer(50, 95) as u8;
            let write = |name: String, pixels: &Pixels, quality: u8| {
                fs::write(folder.join(name), jpeg(pixels, quality)).unwrap();
            };
            write(format!("{number:04}-a.jpg"), &pixels, 92);
            write(format!("{number:04}-b.jpg"), &copy, quality);
            number += 1;
        }
    }
}

fn decoded(source: &dyn Reader, index: u64) -> fdconvert::Result<Pixels> {
    let sample = source.get(index)?;
    let field = source.schema().first_image().unwrap();
    let Value::Image(image) = &sample.values[field] else { unreachable!() };
    let image: &Encoded = image;
    Ok(Decoder::new().decode(&sample.key, image, &Limits::DEFAULT)?.pixels)
}

fn jpeg(pixels: &Pixels, quality: u8) -> bytes::Bytes {
    let options = JpegOptions { quality, subsampling: Subsampling::S420, ..JpegOptions::default() };
    Encoder::new().encode("experiment", pixels, Codec::Jpeg, &options, None).unwrap().bytes
}

fn at_most(pixels: &Pixels, side: u32) -> Pixels {
    let longer = pixels.width.max(pixels.height);
    if longer <= side {
        pixels.clone()
    } else {
        scaled(pixels, f64::from(side) / f64::from(longer))
    }
}

/// Scales down by Lanczos, up by interpolation between the nearest four pixels.
fn scaled(pixels: &Pixels, by: f64) -> Pixels {
    let length = |side: u32| ((f64::from(side) * by).round() as u32).max(1);
    let (width, height, channels) = (length(pixels.width), length(pixels.height), pixels.channels);
    let mut data = Vec::new();
    if by <= 1.0 {
        Resizer::new()
            .resize("experiment", pixels, (width, height), Filter::Lanczos3, &mut data)
            .unwrap();
        return Pixels { width, height, channels, data };
    }
    let n = usize::from(channels);
    let place = |at: u32, side: u32| {
        let at = ((f64::from(at) + 0.5) / by - 0.5).clamp(0.0, f64::from(side - 1));
        (at as usize, (at as usize + 1).min(side as usize - 1), at.fract())
    };
    for y in 0..height {
        let (above, below, down) = place(y, pixels.height);
        for x in 0..width {
            let (left, right, across) = place(x, pixels.width);
            for channel in 0..n {
                let level = |y: usize, x: usize| {
                    f64::from(pixels.data[(y * pixels.width as usize + x) * n + channel])
                };
                let upper = level(above, left) * (1.0 - across) + level(above, right) * across;
                let lower = level(below, left) * (1.0 - across) + level(below, right) * across;
                data.push((upper * (1.0 - down) + lower * down).round() as u8);
            }
        }
    }
    Pixels { width, height, channels, data }
}

/// Times one thread over the photos at a size, as a beton.
fn timed(photos: &dyn Reader, side: u32, root: &Path) {
    let folder = root.join(format!("timed-{side}"));
    fs::create_dir(&folder).unwrap();
    let mut n_bytes = 0;
    let made: Vec<_> = (0..photos.len())
        .filter_map(|index| Some(jpeg(&at_most(&decoded(photos, index).ok()?, side), 90)))
        .collect();
    for number in 0..N_TIMED as usize {
        let bytes = &made[number % made.len()];
        n_bytes += bytes.len() as u64;
        fs::write(folder.join(format!("{number:04}.jpg")), bytes).unwrap();
    }
    let packed = root.join(format!("timed-{side}.beton"));
    Pack::new([&folder], &packed).options(PackOptions::default()).run().unwrap();
    // Copies differ in their bytes, so that exact copies are not skipped.
    let options = DuplicatesOptions::default().near(true).threads(1);
    let mut rates: Vec<f64> = (0..5)
        .map(|_| {
            let began = Instant::now();
            find_duplicates(std::slice::from_ref(&packed), &options, Context::default()).unwrap();
            N_TIMED as f64 / began.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("| longer side {side} | {:.0} | {} |", rates[2], n_bytes / N_TIMED);
}
