//! Measures how evenly batches come if some images are very large: `cargo run --release -p
//! fdconvert --example stalls -- IMAGES [THREADS] [PREFETCH]`.
//!
//! Two datasets of six thousand images repeat those of the folder: unchanged, and with one of 40
//! megapixels in place of every 200th. A loop takes batches of 64 rows with random crops, first as
//! fast as they come, then with a step that takes a fifth longer than the loader does for a batch.
//! Prints Markdown: the median, the 99th percentile and the maximum of the times between batches,
//! in milliseconds, and the second as a multiple of the first. A recorded result is in
//! `benches/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement ends where something is wrong"
)]
use bytes::Bytes;
use fdconvert::{
    Label, Loader, LoaderOptions, Pack, PackOptions, Pixels, Reader, Transform, Value,
};
use fdconvert_codec::{Decoder, Encoder, JpegOptions, Subsampling};
use fdconvert_core::{Codec, Limits};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const N_IMAGES: usize = 6000;
/// The first of this many images is large.
const LARGE_OF: usize = 200;
const LARGE: (u32, u32) = (7744, 5184);
const EPOCHS: u64 = 2;
/// Batches at the start of an epoch, before which nothing can be made ahead.
const FIRST: usize = 6;

fn main() {
    let mut args = std::env::args().skip(1);
    let images = args.next().expect("a folder of images");
    let threads = args.next().map_or(2, |threads| threads.parse().unwrap());
    let prefetch = args.next().map_or(LoaderOptions::default().prefetch, |it| it.parse().unwrap());
    let root = tempfile::tempdir().unwrap();
    println!("| images | step | batches | median ms | p99 ms | longest ms | p99 / median |");
    println!("|---|---|---|---|---|---|---|");
    for (name, is_mixed) in [("as they are", false), ("one large in 200", true)] {
        let path = dataset(Path::new(&images), root.path(), is_mixed);
        let pace = times(&path, threads, prefetch, Duration::ZERO);
        report(name, Duration::ZERO, &pace);
        let step = pace.iter().sum::<Duration>() / pace.len() as u32 * 6 / 5;
        report(name, step, &times(&path, threads, prefetch, step));
    }
}

fn report(name: &str, step: Duration, times: &[Duration]) {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let (median, p99, longest) = (at(0.5), at(0.99), at(1.0));
    let step = step.as_secs_f64() * 1e3;
    let n_batches = times.len();
    println!(
        "| {name} | {step:.0} ms | {n_batches} | {median:.1} | {p99:.1} | {longest:.1} | {:.2} |",
        p99 / median
    );
}

/// Returns the times between the batches of some epochs, without the first ones of each.
fn times(path: &Path, threads: usize, prefetch: usize, step: Duration) -> Vec<Duration> {
    let builder = Loader::builder(fdconvert::open(path).unwrap())
        .batch_size(64)
        .threads(threads)
        .prefetch(prefetch)
        .label(Label::None);
    let list = [Transform::random_resized_crop(224)];
    let mut loader = builder.transform(list).unwrap().build().unwrap();
    let mut times = Vec::new();
    for _ in 0..EPOCHS {
        let mut last = Instant::now();
        for number in 0.. {
            let Some(batch) = loader.next_batch() else { break };
            drop(batch.unwrap());
            thread::sleep(step);
            let took = std::mem::replace(&mut last, Instant::now()).elapsed();
            if number >= FIRST {
                times.push(took);
            }
        }
    }
    times
}

/// Packs the folder's images, repeated until there are enough.
fn dataset(images: &Path, root: &Path, is_mixed: bool) -> PathBuf {
    let source = fdconvert::open(images).unwrap();
    let folder = root.join(if is_mixed { "mixed" } else { "plain" });
    fs::create_dir(&folder).unwrap();
    let large = is_mixed.then(|| large(&*source));
    for number in 0..N_IMAGES {
        let path = folder.join(format!("{number:05}.jpg"));
        match &large {
            Some(large) if number % LARGE_OF == 0 => fs::write(path, large).unwrap(),
            _ => {
                let sample = source.get(number as u64 % source.len()).unwrap();
                let Some(Value::Image(image)) = sample.values.first() else { panic!("no image") };
                fs::write(path, &image.bytes).unwrap();
            }
        }
    }
    let out = folder.with_extension("beton");
    let options = PackOptions::default().format_option("page_size", (16 << 20).to_string());
    Pack::new([&folder], &out).options(options).run().unwrap();
    out
}

/// The first image, tiled.
fn large(source: &dyn Reader) -> Bytes {
    let sample = source.get(0).unwrap();
    let Some(Value::Image(image)) = sample.values.first() else { panic!("no image") };
    let tile = Decoder::new().decode(&sample.key, image, &Limits::DEFAULT).unwrap().pixels;
    let (width, height) = LARGE;
    let mut data = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            let at = ((y % tile.height * tile.width + x % tile.width) * 3) as usize;
            data.extend_from_slice(&tile.data[at..at + 3]);
        }
    }
    let pixels = Pixels { width, height, channels: 3, data };
    let options =
        JpegOptions { quality: 90, subsampling: Subsampling::S420, ..JpegOptions::default() };
    Encoder::new().encode("large", &pixels, Codec::Jpeg, &options, None).unwrap().bytes
}
