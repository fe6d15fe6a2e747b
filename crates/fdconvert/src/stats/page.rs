//! The statistics of a dataset as one page, with histograms.
use super::{DatasetStats, Stats};
use fdconvert_core::size;
use fdconvert_profile::{Histogram, Page, grouped};
use std::path::Path;

/// Number of classes that the page lists from each end.
const CLASSES_SHOWN: usize = 20;
/// Start of every page.
pub(super) const START: &[u8] = b"<!DOCTYPE html>";

/// Returns the page, which is self-contained.
pub(super) fn page(dataset: &Path, found: &DatasetStats) -> String {
    let counts = &found.counts;
    let mut page = Page::new(&format!("Samples of {}", dataset.display()));
    page.quiet(&format!(
        "{} samples, {} classes; fdconvert {}",
        grouped(found.samples),
        grouped(counts.classes.len() as u64),
        env!("CARGO_PKG_VERSION")
    ));
    let mut facts = vec![vec!["samples".to_owned(), grouped(found.samples)]];
    let mut fact = |name: &str, value: String| facts.push(vec![name.to_owned(), value]);
    for (name, n) in &found.splits {
        fact(&format!("in the split {name}"), grouped(*n));
    }
    for (codec, n) in &counts.codecs {
        fact(&format!("images stored as {codec}"), grouped(*n));
    }
    fact("bytes of the images", size(counts.bytes.iter().sum()));
    if let Some(objects) = &counts.objects {
        let categories = objects.categories.len() as u64;
        let [n, categories, images] = [objects.n_objects, categories, objects.images].map(grouped);
        fact("objects", format!("{n} of {categories} categories in {images} images"));
    }
    if let Some(duplicates) = found.duplicates {
        fact("duplicates of an earlier image", grouped(duplicates));
    }
    if counts.n_unreadable > 0 {
        fact("samples that cannot be read", grouped(counts.n_unreadable));
    }
    page.table(&["the dataset", ""], &facts);
    if let Some(pixels) = &found.pixels {
        let row = |name: &str, values: [f64; 3]| {
            std::iter::once(name.to_owned()).chain(values.map(|it| format!("{it:.6}"))).collect()
        };
        page.heading("Channels");
        page.table(
            &["levels from 0 to 1", "red", "green", "blue"],
            &[row("mean", pixels.mean), row("standard deviation", pixels.std)],
        );
        page.quiet(&format!(
            "{} pixels of {} images",
            grouped(pixels.pixels),
            grouped(pixels.images)
        ));
    }
    sizes(&mut page, counts);
    classes(&mut page, counts);
    page.finish()
}

fn sizes(page: &mut Page, counts: &Stats) {
    let numbers = |sizes: &[u64]| sizes.iter().map(|it| *it as f64).collect::<Vec<_>>();
    let charts = [
        ("Width", "pixels", numbers(&counts.widths)),
        ("Height", "pixels", numbers(&counts.heights)),
        ("Aspect", "width divided by height", counts.aspects.clone()),
        ("Size", "KiB of an image", numbers(&counts.bytes).iter().map(|it| it / 1024.0).collect()),
        ("Density", "bytes for a pixel", counts.densities.clone()),
    ];
    for (title, unit, sorted) in charts {
        if let Some(histogram) = Histogram::of_sorted(title, unit, &sorted) {
            page.heading(title);
            page.picture(&histogram.to_svg());
        }
    }
}

fn classes(page: &mut Page, counts: &Stats) {
    if counts.classes.is_empty() {
        return;
    }
    page.heading("Classes");
    let sorted = counts.by_frequency();
    let row = |(name, n): &(&str, u64)| vec![(*name).to_owned(), grouped(*n)];
    let n_first = if sorted.len() > 2 * CLASSES_SHOWN { CLASSES_SHOWN } else { sorted.len() };
    page.table(
        &["most frequent", "samples"],
        &sorted.iter().take(n_first).map(row).collect::<Vec<_>>(),
    );
    if n_first < sorted.len() {
        let last = sorted.iter().rev().take(CLASSES_SHOWN).map(row);
        page.table(&["least frequent", "samples"], &last.collect::<Vec<_>>());
        page.quiet(&format!("{} classes in all", grouped(sorted.len() as u64)));
    }
}
