//! How fast fractals are made: CPU time of one thread, so that other programs do not count.
//!
//! ```sh
//! cargo bench --bench fractal -- [FOLDER of categories] [ROUNDS]
//! ```
//!
//! Without a folder: the first twenty categories that the search finds. Every figure is the median
//! over the categories of the median over the rounds; the rounds go through all measurements in
//! turn. The record is in `benches/README.md`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use cpu_time::ThreadTime;
use fdconvert_core::{Format as _, Provenance, Reader, Source as _};
use fdconvert_formats::formula::FormulaFormat;
use fdconvert_fractal::{
    Bitmap, Category, Coin, ExactLevel, ExactSampler, ExactScratch, Flip, Formula, FractalSource,
    Frame, Key, LanesLevel, LanesSampler, LanesScratch, LanesSystem, PatchScratch, Recipe, Search,
    Shape, System, patch, weights,
};
use std::{collections::BTreeMap, path::Path};

/// Seconds for each category and round, by name of the measurement.
#[derive(Default)]
struct Record(BTreeMap<String, BTreeMap<usize, Vec<f64>>>);

impl Record {
    /// Measures `work`, which makes `n_images`, once for a category.
    fn take(&mut self, name: &str, category: usize, n_images: f64, work: impl FnOnce()) {
        let began = ThreadTime::now();
        work();
        let seconds = began.elapsed().as_secs_f64() / n_images;
        let rounds = self.0.entry(name.to_owned()).or_default();
        rounds.entry(category).or_default().push(seconds);
    }

    fn print(&self) {
        println!("| made | us/image | range over categories | images/s/core |\n|---|---|---|---|");
        for (name, categories) in &self.0 {
            let medians: Vec<f64> = categories.values().map(|rounds| median(rounds)).collect();
            let (least, most) =
                (low(&medians), -low(&medians.iter().map(|m| -m).collect::<Vec<_>>()));
            let all = median(&medians);
            let (us, least, most) = (all * 1e6, least * 1e6, most * 1e6);
            println!("| {name} | {us:.1} | {least:.1}-{most:.1} | {:.0} |", 1.0 / all);
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn low(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn systems(folder: Option<&Path>) -> Vec<System> {
    if let Some(folder) = folder {
        let categories = Category::read_all(folder).unwrap();
        return categories
            .into_iter()
            .filter_map(|category| match category.shape {
                Shape::Ifs(system) => Some(system),
                Shape::Space(_) | Shape::Lines(_) => None,
            })
            .collect();
    }
    let mut search = Search::new(1, 0.2).unwrap();
    search.run(20, &mut |_| true).unwrap();
    search.found().to_vec()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let systems = systems(args.first().map(Path::new));
    let rounds: usize = args.get(1).map_or(7, |rounds| rounds.parse().unwrap());
    println!("{} categories, {rounds} rounds", systems.len());
    let mut record = Record::default();
    for _ in 0..rounds {
        for (number, system) in systems.iter().enumerate() {
            lanes(&mut record, number, system, 256, 100_000);
            lanes(&mut record, number, system, 362, 200_000);
            recipe(&mut record, number, system);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let reader = formula(folder.path(), &systems);
    for _ in 0..rounds {
        for number in 0..systems.len() {
            let indices = number as u64 * 100..number as u64 * 100 + 20;
            record.take("formula reader, RGB u8, 256, 100k", number, 20.0, || {
                indices.for_each(|index| drop(reader.get(index).unwrap()));
            });
        }
    }
    views(&mut record, rounds);
    record.print();
}

/// The fast sampler, one image after the other.
fn lanes(record: &mut Record, number: usize, system: &System, size: u32, points: u32) {
    const IMAGES: u32 = 10;
    let frame = Frame::new(size, 6, points).unwrap();
    let prepared = LanesSystem::new(system);
    for level in LanesLevel::available() {
        // The portable code calls a library for every step.
        let images = if level == LanesLevel::best() { IMAGES } else { IMAGES / 5 };
        let sampler = LanesSampler::new(frame).with_level(level);
        let (mut scratch, mut bitmap) = (LanesScratch::default(), frame.bitmap());
        let mut draw = |instance| {
            let key = Key { seed: 1, class: number as u32, instance };
            sampler.coverage(&prepared, key, &mut scratch, &mut bitmap);
        };
        // The first one takes the memory.
        draw(u32::MAX);
        let name = format!("lanes64-v1 {level:?}, {size}, {}k", points / 1000);
        record.take(&name, number, images.into(), || (0..images).for_each(&mut draw));
    }
}

/// Views of fractals of space: all of an instance, and one of each of twelve instances.
fn views(record: &mut Record, rounds: usize) {
    let recipe = Recipe::parse("fractal:mv-fractaldb?classes=20").unwrap();
    let formula = recipe.resolve(&mut |_| true).unwrap();
    let of_class = formula.instances();
    let source = FractalSource::new(formula, "views").unwrap();
    for round in 0..rounds as u64 {
        for class in 0..source.len() / of_class {
            let mut draw = |name: &str, first: u64, step: u64| {
                let first = class * of_class + first;
                record.take(
                    &format!("mv-fractaldb-v1, 224, 10k, {name}"),
                    class as usize,
                    12.0,
                    || {
                        (0..12).for_each(|image| drop(source.image(first + image * step).unwrap()));
                    },
                );
            };
            // Every round has instances of its own, of which no model is kept.
            draw("12 views of an instance", round * 12, 1);
            draw("views of 12 instances", (rounds as u64 + round * 12) * 12 % 1600, 12);
        }
    }
}

/// All of a category of FractalDB-1k as bits: 25 rows of weights, 10 patches, 4 flips.
fn recipe(record: &mut Record, number: usize, system: &System) {
    let frame = Frame::new(362, 6, 200_000).unwrap();
    let rows = weights(0.4);
    for level in ExactLevel::available() {
        let sampler = ExactSampler::new(frame).with_level(level);
        let (mut scratch, mut patches) = (ExactScratch::default(), PatchScratch::default());
        let (mut covered, mut image, mut flipped) = (Vec::new(), frame.bitmap(), frame.bitmap());
        let mut lit = 0;
        record.take(&format!("fractaldb-v1 {level:?}, FractalDB-1k"), number, 1000.0, || {
            sampler.coverage(system, &rows, &mut covered, &mut scratch);
            for (row, covered) in covered.iter().enumerate() {
                for instance in 0..10 {
                    let instance = row as u32 * 10 + instance;
                    let key = Key { seed: 0, class: number as u32, instance };
                    patch(covered, Coin::new(key.words()), &mut image, &mut patches);
                    for flip in Flip::ALL {
                        image.flip_into(flip, &mut flipped);
                        lit += first_word(&flipped);
                    }
                }
            }
        });
        std::hint::black_box(lit);
    }
}

fn first_word(bitmap: &Bitmap) -> u64 {
    bitmap.words().first().copied().unwrap_or(0) & 1
}

/// A dataset of a formula whose reader renders RGB.
fn formula(folder: &Path, systems: &[System]) -> Box<dyn Reader> {
    let text = "fractal:svd?classes=1&instances=100&size=256&points=100000&draw=patch_gray";
    let base = Recipe::parse(text).unwrap().resolve(&mut |_| true).unwrap();
    let category = |(number, system): (usize, &System)| Category {
        name: format!("{number:05}"),
        shape: Shape::Ifs(system.clone()),
    };
    let categories = systems.iter().enumerate().map(category).collect();
    let path = folder.join("x.formula");
    let formula = Formula { categories, ..base };
    fdconvert_formats::formula::write(&path, &formula, &Provenance::default(), false).unwrap();
    FormulaFormat.open(&path).unwrap()
}
