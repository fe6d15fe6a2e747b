//! Measures microseconds per image of the sampler `lanes64-v1` and of the steps after it, at every
//! level of vector instructions: medians over the categories of a folder of CSV files.
//!
//! `cargo run --release -p fdconvert-fractal --example lanes_bench -- FOLDER [REPETITIONS]`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for developers")]

use fdconvert_fractal::{
    Bitmap, Coin, Flip, Frame, Key, LanesLevel, LanesSampler, LanesScratch, LanesSystem,
    PatchScratch, System, patch,
};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap();
    let repetitions = arguments.next().map_or(7, |n| n.parse().unwrap());
    let systems = categories(Path::new(&folder));
    println!("{} categories, {repetitions} repetitions", systems.len());

    for (size, points) in [(256, 100_000), (362, 200_000)] {
        let frame = Frame::new(size, Frame::DEFAULT_PAD, points).unwrap();
        for level in LanesLevel::available() {
            let sampler = LanesSampler::new(frame).with_level(level);
            let (mut scratch, mut out) = (LanesScratch::default(), frame.bitmap());
            report(&format!("{size} {points} {level:?}"), &systems, repetitions, |system, n| {
                let key = Key { seed: 1, class: n, instance: 0 };
                sampler.coverage(system, key, &mut scratch, &mut out);
                black_box(out.words());
            });
        }
        let sampler = LanesSampler::new(frame);
        let (mut scratch, mut rgb) = (LanesScratch::default(), Vec::new());
        let mut bitmap = frame.bitmap();
        report(&format!("{size} {points} to RGB"), &systems, repetitions, |system, n| {
            let key = Key { seed: 1, class: n, instance: 0 };
            sampler.coverage(system, key, &mut scratch, &mut bitmap);
            bitmap.to_rgb_into(127, Flip::Flip0, &mut rgb);
            black_box(&rgb);
        });
        report(&format!("{size} {points} owners"), &systems, repetitions, |system, n| {
            let key = Key { seed: 1, class: n, instance: 0 };
            black_box(sampler.owners(system, key, &mut scratch));
        });
        let growing = [LanesSystem::new(&growing())];
        report(&format!("{size} {points} single orbit"), &growing, repetitions, |system, n| {
            let key = Key { seed: 1, class: n, instance: 0 };
            sampler.coverage(system, key, &mut scratch, &mut bitmap);
            black_box(bitmap.words());
        });
        let coverages: Vec<_> = systems.iter().map(|system| drawn(&sampler, system)).collect();
        let mut out = frame.bitmap();
        let mut patches = PatchScratch::default();
        report(&format!("{size} patch"), &coverages, repetitions, |coverage, n| {
            patch(coverage, Coin::new((n, 1)), &mut out, &mut patches);
            black_box(out.words());
        });
        for flip in Flip::ALL {
            report(&format!("{size} {flip:?}"), &coverages, repetitions, |coverage, _| {
                coverage.flip_into(flip, &mut out);
                black_box(out.words());
            });
        }
        for flip in [Flip::Flip0, Flip::Flip2] {
            report(&format!("{size} gray {flip:?}"), &coverages, repetitions, |coverage, _| {
                coverage.to_gray_into(127, flip, &mut rgb);
                black_box(&rgb);
            });
            report(&format!("{size} RGB {flip:?}"), &coverages, repetitions, |coverage, _| {
                coverage.to_rgb_into(127, flip, &mut rgb);
                black_box(&rgb);
            });
            report(&format!("{size} msb {flip:?}"), &coverages, repetitions, |coverage, _| {
                coverage.to_msb_rows(flip, &mut rgb);
                black_box(&rgb);
            });
        }
    }
    let raw: Vec<_> = categories_raw(Path::new(&folder));
    report("LanesSystem::new", &raw, repetitions, |system, _| {
        black_box(LanesSystem::new(system));
    });
}

/// A system for the single orbit, with finite points.
fn growing() -> System {
    let maps = vec![[0.8, -0.6, 0.6, 0.8, 0.1, 0.2], [0.8, 0.6, -0.6, 0.8, 0.1, 0.2]];
    System::new(maps, vec![0.5, 0.5]).unwrap()
}

fn drawn(sampler: &LanesSampler, system: &LanesSystem) -> Bitmap {
    let mut out = sampler.frame().bitmap();
    let key = Key { seed: 1, class: 0, instance: 0 };
    sampler.coverage(system, key, &mut LanesScratch::default(), &mut out);
    out
}

/// Prints the median over all items and repetitions. A run is far shorter than the time slice of a
/// busy machine, so the median is that of uninterrupted runs.
fn report<T>(name: &str, items: &[T], repetitions: usize, mut work: impl FnMut(&T, u32)) {
    // Short runs are timed together, so that the clock's overhead does not count.
    const BATCH: u32 = 4;
    let mut times = Vec::new();
    for n in 0..repetitions as u32 {
        for item in items {
            let start = Instant::now();
            (0..BATCH).for_each(|i| work(item, n * BATCH + i));
            times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH));
        }
    }
    times.sort_by(f64::total_cmp);
    println!("{name:24} {:9.2} us (tenth {:.2})", times[times.len() / 2], times[times.len() / 10]);
}

fn categories_raw(folder: &Path) -> Vec<System> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem.len() == 5))
        .collect();
    paths.sort();
    let parse = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .map(|line| line.split(',').map(|value| value.parse().unwrap()).collect())
            .collect();
        let maps = rows.iter().map(|row| row[..6].try_into().unwrap()).collect();
        System::new(maps, rows.iter().map(|row| row[6]).collect()).unwrap()
    };
    paths.iter().map(parse).collect()
}

fn categories(folder: &Path) -> Vec<LanesSystem> {
    categories_raw(folder)
        .iter()
        .map(LanesSystem::new)
        .filter(|system| !system.exact_orbit())
        .collect()
}
