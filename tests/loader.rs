//! The loader takes batches from any dataset that the command writes: the same pixels, whatever the
//! format.
#![allow(clippy::unwrap_used, clippy::panic)]
mod common;

use common::{kodak_classes, ok};
use fdconvert_loader::{Crop, Datasets, Loader, Options, Output, Shuffle};
use std::{collections::BTreeMap, path::Path};

fn options() -> Options {
    let output = Output { size: (64, 48), ..Options::default().output };
    let crop = Crop::Random { scale: (0.2, 1.0), ratio: (0.75, 1.33) };
    Options { batch: 5, seed: 3, output, crop, flip: 0.5, threads: 2, ..Options::default() }
}

/// Rows of an epoch in the dataset's order, by sample.
fn rows(path: &Path, options: Options) -> BTreeMap<u64, (i64, Vec<u8>)> {
    let mut loader = Loader::new(Datasets::open(path).unwrap(), options).unwrap();
    let mut rows = BTreeMap::new();
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        let images = batch.images().chunks(batch.shape().row_bytes());
        for ((sample, label), image) in batch.samples().iter().zip(batch.labels()).zip(images) {
            rows.insert(*sample, (*label, image.to_vec()));
        }
    }
    rows
}

#[test]
fn every_format_gives_the_same_rows() {
    let root = tempfile::tempdir().unwrap();
    let folder = kodak_classes(root.path());
    let path = |name: &str| root.path().join(name);
    ok(&[&"pack", &folder, &path("x.beton"), &"-q"]);
    ok(&[&"pack", &folder, &path("wds"), &"--format", &"wds", &"-q"]);
    ok(&[&"pack", &folder, &path("mds"), &"--format", &"mds", &"-q"]);
    let expected = rows(&folder, options());
    assert_eq!(expected.len(), 12);
    assert!(expected.values().any(|(label, _)| *label == 1));
    for name in ["x.beton", "wds", "mds"] {
        assert!(rows(&path(name), options()) == expected, "{name}");
    }
    // Reduced while decoding: large JPEGs, small rows.
    ok(&[&"pack", &folder, &path("jpeg.beton"), &"--jpeg-quality", &"95", &"-q"]);
    let jpeg = rows(&path("jpeg.beton"), options());
    let difference = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b));
    for (sample, (label, image)) in &jpeg {
        let (other_label, other) = &expected[sample];
        assert_eq!(label, other_label);
        let mean = image.iter().zip(other).map(difference).sum::<f64>() / image.len() as f64;
        assert!(mean < 4.0, "sample {sample} differs by {mean} on average");
    }
}

#[test]
fn formulas_are_rendered_and_vary_with_the_epoch() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.formula");
    let recipe = "fractal:svd?classes=3&instances=7&size=64&points=3000&vary=epoch";
    ok(&[&"pack", &recipe, &path, &"-q"]);
    let still = || {
        let output = Output { size: (64, 64), ..Options::default().output };
        let (crop, shuffle) = (Crop::None, Shuffle::None);
        Options { batch: 4, output, crop, shuffle, threads: 2, ..Options::default() }
    };
    let first = rows(&path, still());
    assert_eq!(first.len(), 21);
    assert_eq!(first, rows(&path, still()));
    let mut loader = Loader::new(Datasets::open(&path).unwrap(), still()).unwrap();
    loader.set_epoch(1).unwrap();
    let batch = loader.next_batch().unwrap().unwrap();
    let row = &batch.images()[..batch.shape().row_bytes()];
    assert_eq!((batch.samples()[0], batch.labels()[0]), (0, 0));
    assert_ne!(row, first[&0].1, "another instance of the same class");
}
