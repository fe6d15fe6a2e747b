//! Measures the exact sampler: the coverage of one category with all 25 weights, with the size and
//! number of points of the published recipe, for every set of vector instructions.
//!
//! `cargo run --release -p fdconvert-fractal --example exact_bench [CSV...]`
//!
//! Without files it measures random categories of 2 to 7 maps.
#![allow(clippy::print_stdout)]

use fdconvert_fractal::{
    Draw, ExactLevel, ExactSampler, ExactScratch, Flip, Frame, MersenneTwister, System, weights,
};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let systems = if files.is_empty() { random_systems()? } else { read(&files)? };
    let frame = Frame::new(362, Frame::DEFAULT_PAD, 200_000)?;
    let (mut out, mut scratch) = (Vec::new(), ExactScratch::default());
    for level in ExactLevel::available() {
        let sampler = ExactSampler::new(frame).with_level(level);
        for n_rows in [1, 2, 8, 25] {
            let rows = &weights(0.4)[25 - n_rows..];
            let ms = median(|| {
                for system in &systems {
                    sampler.coverage(system, rows, &mut out, &mut scratch);
                    black_box(&out);
                }
            });
            println!("{level:?}: {n_rows} rows: {:.2} ms per category", ms / systems.len() as f64);
        }
    }
    let sampler = ExactSampler::new(frame);
    let ms = median(|| {
        for system in &systems {
            black_box(sampler.render(system, Draw::PointGray, &mut MersenneTwister::python(7)));
        }
    });
    println!("reference: 1 row: {:.2} ms", ms / systems.len() as f64);
    let ms = median(|| {
        for system in &systems {
            black_box(sampler.owners(system));
        }
    });
    println!("owners: {:.2} ms", ms / systems.len() as f64);
    let owners: Vec<_> = systems.iter().map(|system| sampler.owners(system)).collect();
    let ms = median(|| {
        for owners in &owners {
            black_box(owners.point_color(Flip::Flip2));
        }
    });
    println!("point_color of owners: {:.3} ms", ms / systems.len() as f64);
    let coin = owners[0].coverage();
    let ms = median(|| {
        for owners in &owners {
            black_box(owners.patch_color(&coin, Flip::Flip2));
        }
    });
    println!("patch_color of owners: {:.3} ms", ms / systems.len() as f64);
    Ok(())
}

fn median(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let now = || cpu_ms().unwrap_or_else(|| start.elapsed().as_secs_f64() * 1e3);
    let mut ms: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = now();
            run();
            now() - before
        })
        .collect();
    ms.sort_by(f64::total_cmp);
    ms[ROUNDS / 2]
}

/// CPU time of this thread, if the system reports it, so that other programs do not count.
fn cpu_ms() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split(' ').next()?.parse::<f64>().ok().map(|ns| ns / 1e6)
}

/// Random categories as a search tries them, kept only if the maps contract on average.
fn random_systems() -> Result<Vec<System>, Box<dyn Error>> {
    let mut random = MersenneTwister::numpy(1);
    let mut systems = Vec::new();
    while systems.len() < 12 {
        let n_maps = 2 + random.below(6) as usize;
        let maps: Vec<[f64; 6]> =
            (0..n_maps).map(|_| std::array::from_fn(|_| 2.0 * random.next_f64() - 1.0)).collect();
        let areas = maps.iter().map(|[a, b, c, d, ..]| (a * d - b * c).abs()).sum::<f64>();
        if areas < 0.4 * n_maps as f64 {
            systems.push(System::by_area(maps)?);
        }
    }
    Ok(systems)
}

fn read(files: &[String]) -> Result<Vec<System>, Box<dyn Error>> {
    let mut systems = Vec::new();
    for file in files {
        let (mut maps, mut probabilities) = (Vec::new(), Vec::new());
        for line in std::fs::read_to_string(file)?.lines() {
            let values = line.split(',').map(|value| value.trim().parse());
            let values: Vec<f64> = values.collect::<Result<_, _>>()?;
            let Ok([a, b, c, d, e, f, probability]) = <[f64; 7]>::try_from(values) else {
                return Err(format!("{file}: a row has not seven columns").into());
            };
            maps.push([a, b, c, d, e, f]);
            probabilities.push(probability);
        }
        systems.push(System::new(maps, probabilities)?);
    }
    Ok(systems)
}
