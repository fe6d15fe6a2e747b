//! Whole images: this decoder against libjpeg-turbo and zune-jpeg, in one thread, by turns.
//! `cargo bench -p fdconvert-jpeg-decode -- FOLDER...` prints Markdown: the least CPU time of each
//! image's repeats, on average, and its ratio to libjpeg-turbo's. All of it counts: parsing,
//! reading the entry points, making tables. The environment sets `REPEATS`, the images of a folder
//! (`LIMIT`), and which decoders (`ONLY`). A recorded result is in `README.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
#[path = "../tests/common/turbo.rs"]
mod turbo;

use fdconvert_jpeg::{parse, stored_entry_points};
use fdconvert_jpeg_decode::{Decoder, Header, Instructions, Options};
use fdconvert_testkit::workload::files_below;
use std::{hint::black_box, time::Duration};
use turbo::Turbo;

type Way = Box<dyn FnMut(&Image, &mut [u8])>;

/// A JPEG with its entry points.
struct Image {
    bytes: Vec<u8>,
    entry_points: Vec<u8>,
    pixels: usize,
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).filter(|it| !it.starts_with("--")).collect();
    let repeats = std::env::var("REPEATS").map_or(7, |it| it.parse().unwrap());
    let limit = std::env::var("LIMIT").map_or(usize::MAX, |it| it.parse().unwrap());
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
            let pixels = (jpeg.width * jpeg.height) as usize;
            images.push(Image { bytes, entry_points, pixels });
        }
        images.truncate(limit);
        measure(folder, &images, repeats);
    }
}

fn measure(folder: &str, images: &[Image], repeats: usize) {
    let n = images.len().max(1);
    let kb = images.iter().map(|it| it.bytes.len()).sum::<usize>() as f64 / n as f64 / 1e3;
    let megapixels = images.iter().map(|it| it.pixels).sum::<usize>() as f64 / n as f64 / 1e6;
    println!("\n{folder}: {n} images, {kb:.1} kB, {megapixels:.3} MP\n");
    println!("| decoder | CPU µs | of libjpeg-turbo's |\n|---|---|---|");
    let mut out = vec![0; images.iter().map(|it| it.pixels * 3).max().unwrap_or(0)];
    let mut ways: Vec<(String, Way)> = Vec::new();
    let mut turbo = Turbo::new();
    ways.push((
        "libjpeg-turbo 3.1".into(),
        Box::new(move |image, out| {
            assert!(turbo.decode(&image.bytes, 1, 3, out));
        }),
    ));
    for instructions in Instructions::ALL {
        for (with_index, n_places) in
            [(true, 5), (true, 3), (true, 1), (false, 5), (false, 4), (false, 3), (false, 1)]
        {
            let Some(mut decoder) = Decoder::with(instructions) else { continue };
            if instructions == Instructions::Portable && n_places > 1 {
                continue;
            }
            let name = format!("{instructions:?}, {n_places} places, index: {with_index}");
            let decode = move |image: &Image, out: &mut [u8]| {
                let entry_points = with_index.then_some(&image.entry_points[..]);
                let options = Options { entry_points, n_places, ..Options::default() };
                decoder.decode(&image.bytes, &options, out).unwrap();
            };
            ways.push((name, Box::new(decode)));
        }
    }
    ways.push(("zune-jpeg".into(), Box::new(zune)));
    if let Ok(only) = std::env::var("ONLY") {
        ways.retain(|(name, _)| name.starts_with("libjpeg") || name.contains(&only));
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
    // It decodes no gray to RGB into a given buffer of that size in all versions.
    let _ = black_box(decoder.decode_into(out));
}
