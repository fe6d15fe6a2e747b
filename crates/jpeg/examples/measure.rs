//! Measures the cost and the savings of entry points: `measure FOLDER [ROUNDS]` takes the JPEGs of
//! a folder, and the same images made smaller and re-encoded, and prints tables for `README.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement for people")]

#[path = "../../codec/tests/codec/common/smaller.rs"]
mod smaller;

use cpu_time::ThreadTime;
use fdconvert_core::{Codec, Encoded};
use fdconvert_jpeg::{
    DEFAULT_GRID_BITS, EntryPoints, GRIDS_BITS, Jpeg, parse, region, stored_entry_points, unstuff,
};
use fdconvert_testkit::{
    fixtures::Random,
    workload::{files_below, resized_crop},
};
use smaller::smaller;
use std::{error::Error, hint::black_box, path::PathBuf, time::Duration};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("name a folder of JPEGs")?);
    let n_rounds = args.next().map_or(Ok(7), |rounds| rounds.parse())?;
    let mut originals = Vec::new();
    for file in files_below(&folder)? {
        originals.push(std::fs::read(file)?);
    }
    println!(
        "| set | images | refused | mean bytes | mean megapixels | parse µs | un-stuff µs | build µs | \
         encode µs | all µs | decode µs | {} | {} |",
        GRIDS_BITS.map(|bits| format!("grid {bits}")).join(" | "),
        GRIDS_BITS.map(|bits| format!("{bits}: touched, walked")).join(" | "),
    );
    println!("|{}", "---|".repeat(19));
    measure("originals", &originals, n_rounds)?;
    for (side, quality) in [(224, 50), (224, 90), (500, 50), (500, 90)] {
        let made: Vec<_> = originals
            .iter()
            .filter_map(|image| encoded(image).and_then(|it| smaller(&it, side, quality).ok()))
            .map(|image| image.bytes.to_vec())
            .collect();
        measure(&format!("{side} q{quality}"), &made, n_rounds)?;
    }
    Ok(())
}

/// `None` if the file is not a JPEG of the usual kind.
fn encoded(image: &[u8]) -> Option<Encoded> {
    let jpeg = parse(image).ok()?;
    let (width, height, bytes) = (jpeg.width, jpeg.height, image.to_vec().into());
    Some(Encoded::new(Codec::Jpeg, width, height, bytes))
}

fn measure(name: &str, images: &[Vec<u8>], n_rounds: usize) -> Result<()> {
    let mut fit = Vec::new();
    for image in images {
        let made = parse(image).and_then(|jpeg| {
            EntryPoints::build(&jpeg, image, DEFAULT_GRID_BITS).map(|made| (image, jpeg, made))
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
            drop(black_box(EntryPoints::build(jpeg, image, DEFAULT_GRID_BITS)));
        }
    });
    let encoding = micros(&mut || {
        fit.iter().for_each(|(.., made)| drop(black_box(made.to_bytes())));
    });
    let all = micros(&mut || {
        for (image, ..) in &fit {
            drop(black_box(stored_entry_points(image, DEFAULT_GRID_BITS)));
        }
    });
    let decoding = micros(&mut || {
        for ((_, jpeg, _), bytes) in fit.iter().zip(&stored) {
            drop(black_box(EntryPoints::from_bytes(bytes, jpeg)));
        }
    });
    let mut overheads = String::new();
    for grid_bits in GRIDS_BITS {
        let mut n_stored = 0;
        for (image, jpeg, _) in &fit {
            n_stored += EntryPoints::build(jpeg, image, grid_bits)?.to_bytes().len();
        }
        overheads += &format!(" {:.2} % |", 100.0 * n_stored as f64 / n_bytes as f64);
    }
    let mut shares = String::new();
    for grid_bits in GRIDS_BITS {
        let (touched, walked) = fractions(&fit, grid_bits)?;
        shares += &format!(" {touched:.3}, {walked:.3} |");
    }
    println!(
        "| {name} | {} | {} | {:.0} | {:.3} | {parsing:.1} | {unstuffing:.1} | {building:.1} | \
         {encoding:.1} | {all:.1} | {decoding:.1} |{overheads}{shares}",
        fit.len(),
        images.len() - fit.len(),
        n_bytes as f64 / n_images,
        n_pixels / n_images / 1e6,
    );
    Ok(())
}

/// Returns the mean shares of the bits that random resized crops touch, and that must be walked.
fn fractions(fit: &[(&Vec<u8>, Jpeg, EntryPoints)], grid_bits: u32) -> Result<(f64, f64)> {
    const CROPS_PER_IMAGE: usize = 20;
    let mut random = Random::new(1);
    let (mut touched, mut walked) = (0.0, 0.0);
    for (image, jpeg, _) in fit {
        let made = EntryPoints::build(jpeg, image, grid_bits)?;
        for _ in 0..CROPS_PER_IMAGE {
            let crop = resized_crop(&mut random, jpeg.width, jpeg.height);
            let (x, y) = (crop.x as u32, crop.y as u32);
            let (width, height) = ((crop.width as u32).max(1), (crop.height as u32).max(1));
            let needed = region(jpeg, &made, y..y + height, x..x + width);
            touched += needed.fraction(&made);
            walked += needed.walked_fraction(&made);
        }
    }
    let n_crops = (fit.len() * CROPS_PER_IMAGE) as f64;
    Ok((touched / n_crops, walked / n_crops))
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
