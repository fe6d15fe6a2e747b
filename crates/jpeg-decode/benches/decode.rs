//! Compares this decoder with libjpeg-turbo and zune-jpeg, in one thread, in turns. `cargo bench -p
//! fdconvert-jpeg-decode -- FOLDER...` prints Markdown: the least CPU time of each image's repeats,
//! on average, and its ratio to libjpeg-turbo's. All steps count: parsing, reading the entry
//! points, making tables. The environment sets `REPEATS`, the images of a folder (`LIMIT`), and the
//! decoders (`ONLY`); `SHRINK=2` (4, 8) reduces the images, and `CROP=1` decodes a random resized
//! crop of each. A recorded result is in `README.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#[path = "../tests/jpeg_decode/common/turbo.rs"]
mod turbo;

use fdconvert_jpeg::{parse, stored_entry_points};
use fdconvert_jpeg_decode::{Decoder, Entropy, Header, Instructions, Options, Region, Scale};
use fdconvert_testkit::{
    fixtures::Random,
    workload::{files_below, resized_crop},
};
use std::{hint::black_box, time::Duration};
use turbo::Turbo;

type Way = Box<dyn FnMut(&Image, &mut [u8])>;

struct Image {
    bytes: Vec<u8>,
    entry_points: Vec<u8>,
    scale: Scale,
    /// In pixels of the reduced image.
    region: Option<Region>,
    pixels: usize,
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).filter(|it| !it.starts_with("--")).collect();
    let repeats = std::env::var("REPEATS").map_or(7, |it| it.parse().unwrap());
    let limit = std::env::var("LIMIT").map_or(usize::MAX, |it| it.parse().unwrap());
    let shrink = std::env::var("SHRINK").map_or(1, |it| it.parse().unwrap());
    let scale = match shrink {
        1 => Scale::Whole,
        2 => Scale::Half,
        4 => Scale::Quarter,
        _ => Scale::Eighth,
    };
    let crops = std::env::var_os("CROP").is_some();
    let mut random = Random::new(1);
    for folder in &args {
        let mut images = Vec::new();
        for file in files_below(folder.as_ref()).unwrap() {
            let bytes = std::fs::read(&file).unwrap();
            if Header::read(&bytes).is_err() {
                println!("left out: {}", file.display());
                continue;
            }
            let jpeg = parse(&bytes).unwrap();
            let entry_points = stored_entry_points(&bytes, 2048).unwrap();
            let (width, height) = (scale.reduced(jpeg.width), scale.reduced(jpeg.height));
            let region = crops.then(|| {
                let part = resized_crop(&mut random, width, height);
                // libjpeg-turbo's parts begin between MCUs.
                let (x, y) = (part.x as u32 / 32 * 32, part.y as u32);
                let [wide, high] = [part.width, part.height].map(|it| (it as u32).max(1));
                Region { x, y, width: wide.min(width - x), height: high.min(height - y) }
            });
            let pixels = region.map_or(width * height, |it| it.width * it.height) as usize;
            images.push(Image { bytes, entry_points, scale, region, pixels });
        }
        images.truncate(limit);
        measure(folder, &images, shrink, repeats);
    }
}

fn measure(folder: &str, images: &[Image], shrink: u32, repeats: usize) {
    let n = images.len().max(1);
    let kb = images.iter().map(|it| it.bytes.len()).sum::<usize>() as f64 / n as f64 / 1e3;
    let megapixels = images.iter().map(|it| it.pixels).sum::<usize>() as f64 / n as f64 / 1e6;
    println!("\n{folder}: {n} images, {kb:.1} kB, {megapixels:.3} MP\n");
    println!("| decoder | CPU µs | of libjpeg-turbo's |\n|---|---|---|");
    let mut out = vec![0; images.iter().map(|it| it.pixels * 3).max().unwrap_or(0)];
    let mut ways: Vec<(String, Way)> = Vec::new();
    let mut turbo = Turbo::new();
    ways.push((
        "libjpeg-turbo".into(),
        Box::new(move |image, out| {
            let part = image.region.map(|it| [it.x, it.y, it.width, it.height]);
            assert!(turbo.decode_part(&image.bytes, shrink, part, 3, out));
        }),
    ));
    let kinds = [1, 3, 5, 6].map(Entropy::Streams).into_iter().chain([1, 2].map(Entropy::Lanes));
    for (instructions, entropy) in Instructions::ALL
        .into_iter()
        .flat_map(|instructions| kinds.clone().map(move |entropy| (instructions, entropy)))
    {
        let is_lanes = matches!(entropy, Entropy::Lanes(_));
        if instructions == Instructions::Portable && entropy != Entropy::Streams(1)
            || instructions != Instructions::Avx512 && is_lanes
        {
            continue;
        }
        for with_index in [true, false] {
            let Some(mut decoder) = Decoder::with(instructions) else { continue };
            let name = format!("{instructions:?}, {entropy:?}, index: {with_index}");
            let decode = move |image: &Image, out: &mut [u8]| {
                let entry_points = with_index.then_some(&image.entry_points[..]);
                let Image { scale, region, .. } = *image;
                let options = Options {
                    entry_points,
                    entropy: Some(entropy),
                    scale,
                    region,
                    ..Options::default()
                };
                decoder.decode(&image.bytes, &options, out).unwrap();
            };
            ways.push((name, Box::new(decode)));
        }
    }
    if images.iter().all(|it| it.scale == Scale::Whole && it.region.is_none()) {
        ways.push(("zune-jpeg".into(), Box::new(zune)));
    }
    if let Ok(only) = std::env::var("ONLY") {
        ways.retain(|(name, _)| {
            name.starts_with("libjpeg") || only.split('|').any(|only| name.contains(only))
        });
    }
    let mut least = vec![vec![Duration::MAX; images.len()]; ways.len()];
    for _ in 0..repeats {
        for (number, image) in images.iter().enumerate() {
            let out = &mut out[..image.pixels * 3];
            for ((_, decode), least) in ways.iter_mut().zip(&mut least) {
                let began = cpu_time::ThreadTime::now();
                decode(black_box(image), out);
                least[number] = least[number].min(began.elapsed());
            }
        }
    }
    let means: Vec<_> = least
        .iter()
        .map(|of_images| of_images.iter().sum::<Duration>().as_secs_f64() * 1e6 / n as f64)
        .collect();
    for ((name, _), mean) in ways.iter().zip(&means) {
        println!("| {name} | {mean:.0} | {:.3} |", mean / means[0]);
    }
}

fn zune(image: &Image, out: &mut [u8]) {
    let options = zune_core::options::DecoderOptions::new_fast()
        .jpeg_set_out_colorspace(zune_core::colorspace::ColorSpace::RGB);
    let cursor = zune_core::bytestream::ZCursor::new(&image.bytes[..]);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(cursor, options);
    // Not every version decodes gray to RGB into a given buffer of that size.
    let _ = black_box(decoder.decode_into(out));
}
