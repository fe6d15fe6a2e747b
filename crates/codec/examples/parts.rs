//! What entry points spare when a part of a JPEG is decoded: `parts FOLDER [ROUNDS]` decodes random
//! resized crops of the JPEGs of a folder, and of the same images made smaller and re-encoded,
//! with and without entry points, and prints tables for `crates/jpeg/README.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement for people")]

#[path = "../tests/codec/common/smaller.rs"]
mod smaller;

use cpu_time::ThreadTime;
use fdconvert_codec::{Decoder, Region, Wanted};
use fdconvert_core::{Codec, Encoded, Limits};
use fdconvert_jpeg::{
    DEFAULT_GRID_BITS, EntryPoints, cut, parse, parse_header, stored_entry_points,
};
use fdconvert_testkit::{
    fixtures::Random,
    workload::{Part, files_below, resized_crop},
};
use smaller::smaller;
use std::{error::Error, path::PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const CROPS_PER_IMAGE: usize = 8;
/// Without entry points; with the rows below cut off; with those above as well, always; and as
/// [`Decoder::decode_part_with`] does it.
const WAYS: [&str; 4] = ["plain", "tail", "head and tail", "decode_part_with"];

struct Image {
    encoded: Encoded,
    stored: Vec<u8>,
}

struct Crop {
    region: Region,
    shrink: u8,
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("name a folder of JPEGs")?);
    let n_rounds: usize = args.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let mut originals = Vec::new();
    for file in files_below(&folder)? {
        originals.extend(image(std::fs::read(file)?));
    }
    println!("| set | crops | {} | ratio |", WAYS.map(|way| format!("{way} µs")).join(" | "));
    println!("|{}", "---|".repeat(7));
    measure("originals", &originals, n_rounds)?;
    for (side, quality) in [(500, 90), (224, 90), (224, 50)] {
        let made = originals.iter().filter_map(|it| smaller(&it.encoded, side, quality).ok());
        let made: Vec<_> = made.filter_map(|it| image(it.bytes.into())).collect();
        measure(&format!("{side} q{quality}"), &made, n_rounds)?;
    }
    Ok(())
}

/// The image with its entry points; `None` for those that get none.
fn image(bytes: Vec<u8>) -> Option<Image> {
    let stored = stored_entry_points(&bytes, DEFAULT_GRID_BITS).ok()?;
    let jpeg = parse(&bytes).ok()?;
    let (width, height) = (jpeg.width, jpeg.height);
    Some(Image { encoded: Encoded::new(Codec::Jpeg, width, height, bytes.into()), stored })
}

/// Prints one row for the set, and one for each share of the rows that are above the crop.
fn measure(name: &str, images: &[Image], n_rounds: usize) -> Result<()> {
    let mut random = Random::new(1);
    // By eighths of the height above the crop: crops, and microseconds by way.
    let mut sums = [(0u32, [0.0; WAYS.len()]); 8];
    let mut decoder = Decoder::new();
    for image in images {
        for _ in 0..CROPS_PER_IMAGE {
            let crop = random_crop(&mut random, image.encoded.width, image.encoded.height);
            let times = time(&mut decoder, image, &crop, n_rounds)?;
            let eighth = (8 * crop.region.y / image.encoded.height) as usize;
            sums[eighth].0 += 1;
            sums[eighth].1.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        }
    }
    let mut all = (0, [0.0; WAYS.len()]);
    for (n_crops, times) in &sums {
        all.0 += n_crops;
        all.1.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }
    let row = |what: String, (n_crops, times): &(u32, [f64; WAYS.len()])| {
        let means = times.map(|time| format!("{:.1}", time / f64::from(*n_crops)));
        let ratios = times.map(|time| format!("{:.3}", time / times[0]));
        println!("| {what} | {n_crops} | {} | {} |", means.join(" | "), ratios.join(" "));
    };
    row(name.to_owned(), &all);
    for (eighth, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.0 > 0) {
        row(format!("{name}, {eighth}/8 above"), sum);
    }
    Ok(())
}

/// CPU microseconds of each way, the median of some rounds, interleaved.
fn time(
    decoder: &mut Decoder,
    image: &Image,
    crop: &Crop,
    n_rounds: usize,
) -> Result<[f64; WAYS.len()]> {
    let mut rounds = vec![[0.0; WAYS.len()]; n_rounds.max(1)];
    let (mut buffer, mut out) = (Vec::new(), Vec::new());
    for (number, round) in rounds.iter_mut().enumerate() {
        for turn in 0..WAYS.len() {
            let way = (turn + number) % WAYS.len();
            let start = ThreadTime::now();
            decode(decoder, image, crop, way, (&mut buffer, &mut out))?;
            round[way] = start.elapsed().as_secs_f64() * 1e6;
        }
    }
    let median = |way: usize| {
        let mut times: Vec<_> = rounds.iter().map(|round| round[way]).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(std::array::from_fn(median))
}

fn decode(
    decoder: &mut Decoder,
    image: &Image,
    crop: &Crop,
    way: usize,
    (buffer, out): (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<()> {
    let Image { encoded, stored } = image;
    let Crop { region, shrink } = *crop;
    let limits = &Limits::DEFAULT;
    if way == 0 || way == 3 {
        let entry_points = (way == 3).then_some(stored.as_slice());
        decoder.decode_part_with(
            "",
            encoded,
            limits,
            &Wanted { region, shrink, entry_points, luma: false },
            out,
        )?;
        return Ok(());
    }
    let first = if way == 1 { 0 } else { region.y };
    let jpeg = parse_header(&encoded.bytes)?;
    let entry_points = EntryPoints::from_bytes(stored, &jpeg)?;
    let rows = first..region.y + region.height;
    let Some(cut) = cut(&jpeg, &encoded.bytes, &entry_points, rows, shrink.into(), buffer) else {
        decoder.decode_part("", encoded, limits, region, shrink, out)?;
        return Ok(());
    };
    // As `decode_part_with` does: so libjpeg-turbo stays in its fast loop.
    buffer.resize(buffer.len() + 512 * jpeg.slots.len(), 0);
    buffer.extend_from_slice(&[0xFF, 0xD9]);
    let region = Region { y: region.y - cut.first_row, ..region };
    let bytes = std::mem::take(buffer).into();
    let part = Encoded::new(Codec::Jpeg, jpeg.width, cut.n_rows, bytes);
    decoder.decode_part("", &part, limits, region, shrink, out)?;
    *buffer = part.bytes.into();
    Ok(())
}

/// One as training draws them, made smaller as the loader does for an output of 224x224.
fn random_crop(random: &mut Random, width: u32, height: u32) -> Crop {
    let Part { x, y, width, height } = resized_crop(random, width, height);
    let (width, height) = ((width as u32).max(1), (height as u32).max(1));
    let shrink = [8, 4, 2].into_iter().find(|by| width.min(height) >= by * 224).unwrap_or(1) as u8;
    Crop { region: Region { x: x as u32, y: y as u32, width, height }, shrink }
}
