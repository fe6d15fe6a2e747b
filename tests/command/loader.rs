//! The loader takes batches from any dataset that the command writes: the same pixels from any
//! format.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, kodak_classes, ok};
use fdconvert_loader::{
    Access, Datasets, Failures, Loader, OnError, Options, Sampling, Transform, TransformList,
};
use fdconvert_testkit::zip::{Entry, of_folder, zip};
use std::{collections::BTreeMap, fs, path::Path};

fn options() -> Options {
    let list = TransformList::new(vec![
        Transform::RandomResizedCrop { size: [48, 64], scale: [0.2, 1.0], ratio: [0.75, 1.33] },
        Transform::random_horizontal_flip(),
    ]);
    Options::default().batch_size(5).seed(3).transform(list.unwrap()).threads(2)
}

/// Returns the rows of an epoch in the dataset's order, by sample.
fn rows(path: &Path, options: Options) -> BTreeMap<u64, (i64, Vec<u8>)> {
    let mut loader = Loader::new(Datasets::open(path).unwrap(), options).unwrap();
    let mut rows = BTreeMap::new();
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        let images = batch.images().chunks(batch.shape().row_bytes());
        for ((sample, label), image) in
            batch.samples().iter().zip(batch.labels().unwrap()).zip(images)
        {
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
    ok(&[&"pack", &folder, &path("mixed"), &"--format", &"mixed", &"-q"]);
    ok(&[&"pack", &folder, &path("x.parquet"), &"-q"]);
    let entries = of_folder(&folder, "", Entry::deflated);
    fs::write(path("x.zip"), zip(&entries)).unwrap();
    let expected = rows(&folder, options());
    assert_eq!(expected.len(), 12);
    assert!(expected.values().any(|(label, _)| *label == 1));
    for name in ["x.beton", "wds", "mds", "x.parquet", "mixed", "x.zip"] {
        assert!(rows(&path(name), options()) == expected, "{name}");
    }
    // Scaled while decoding: large JPEGs, small rows.
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
        let list = TransformList::new(vec![Transform::squeeze([64, 64])]).unwrap();
        Options::default().batch_size(4).transform(list).sampling(Sampling::Sequential).threads(2)
    };
    let first = rows(&path, still());
    assert_eq!(first.len(), 21);
    assert_eq!(first, rows(&path, still()));
    let mut loader = Loader::new(Datasets::open(&path).unwrap(), still()).unwrap();
    loader.set_epoch(1).unwrap();
    let batch = loader.next_batch().unwrap().unwrap();
    let row = &batch.images()[..batch.shape().row_bytes()];
    assert_eq!((batch.samples()[0], batch.labels().unwrap()[0]), (0, 0));
    assert_ne!(row, first[&0].1, "another instance of the same class");
}

/// Returns the number of samples without a row, and the errors when they are raised, by key.
fn failures(path: &Path) -> (usize, Vec<String>) {
    let datasets = || Datasets::open(path).unwrap();
    let with = |policy| {
        let failures = Failures { on_error: policy, max: 1000, ..Failures::default() };
        // All of each image, so that no damage is outside.
        let list = TransformList::new(vec![Transform::squeeze([48, 64])]).unwrap();
        let options = options().transform(list).failures(failures);
        options.sampling(Sampling::Sequential).batch_size(1)
    };
    let mut skipping = Loader::new(datasets(), with(OnError::Skip)).unwrap();
    let (mut n_valid, mut keys) = (0, Vec::new());
    while let Some(batch) = skipping.next_batch() {
        let batch = batch.unwrap();
        if batch.valid()[0] {
            n_valid += 1;
        } else {
            assert!(batch.images().iter().all(|value| *value == 0), "nothing of it is delivered");
            let reader = datasets().readers().next().unwrap().clone();
            keys.push(reader.key(batch.samples()[0]));
        }
    }
    if let Some(key) = keys.first() {
        let mut raising = Loader::new(datasets(), with(OnError::Raise)).unwrap();
        let error = raising.find_map(Result::err).unwrap().to_string();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(error.contains(key.as_str()) && error.contains(name), "{error}");
    }
    keys.sort();
    (n_valid, keys)
}

#[test]
fn cut_off_files_and_bombs_are_never_delivered() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("photos");
    let source = root.path().join("jpeg");
    let kodak = kodak_classes(root.path());
    ok(&[&"pack", &kodak, &root.path().join("x.beton"), &"--jpeg-quality", &"80", &"-q"]);
    ok(&[&"unpack", &root.path().join("x.beton"), &source, &"-q"]);
    fs::create_dir_all(folder.join("a")).unwrap();
    let jpeg = fs::read_dir(source.join("even")).unwrap().next().unwrap().unwrap().path();
    let jpeg = fs::read(jpeg).unwrap();
    let png = fs::read(&common::sorted(&fdconvert_testkit::fixtures::kodak())[0]).unwrap();
    let intact = root.path().join("intact");
    fs::create_dir_all(intact.join("a")).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join("a").join(name), bytes).unwrap();
        let whole = if name.ends_with("png") { &png } else { &jpeg };
        fs::write(intact.join("a").join(name), whole).unwrap();
    };
    write("good.jpg", &jpeg);
    write("good.png", &png);
    write("cut-half.jpg", &jpeg[..jpeg.len() / 2]);
    write("cut-end.jpg", &jpeg[..jpeg.len() - jpeg.len() / 20]);
    write("cut-header.jpg", &jpeg[..100]);
    write("cut-half.png", &png[..png.len() / 2]);
    // A side of 65,500 in the frame header: four billion pixels without data.
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    let mut bomb = jpeg.clone();
    bomb[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xdc, 0xff, 0xdc]);
    write("bomb.jpg", &bomb);
    let (n_valid, keys) = failures(&folder);
    assert_eq!(n_valid, 2);
    assert_eq!(
        keys,
        ["a/bomb.jpg", "a/cut-end.jpg", "a/cut-half.jpg", "a/cut-half.png", "a/cut-header.jpg"]
    );

    // Of a file that is cut below a crop, the crop is that of the whole file.
    let crops = |path: &Path, epoch| {
        let skip = Failures { on_error: OnError::Skip, max: 1000, ..Failures::default() };
        let options = options().failures(skip).sampling(Sampling::Sequential).batch_size(1);
        let mut loader = Loader::new(Datasets::open(path).unwrap(), options).unwrap();
        loader.set_epoch(epoch).unwrap();
        let rows = loader.map(|batch| {
            let batch = batch.unwrap();
            batch.valid()[0].then(|| batch.images().to_vec())
        });
        rows.collect::<Vec<_>>()
    };
    let mut n_rows = 0;
    for epoch in 0..10 {
        for (cut, whole) in crops(&folder, epoch).into_iter().zip(crops(&intact, epoch)) {
            n_rows += u32::from(cut.is_some());
            assert!(cut.is_none() || cut == whole);
        }
    }
    assert!((21..50).contains(&n_rows), "{n_rows}");
}

/// A flipped bit in the middle of an image decodes to other pixels: only the checksum detects it.
#[test]
fn flipped_bits_are_never_delivered() {
    let root = tempfile::tempdir().unwrap();
    let folder = kodak_classes(root.path());
    for (format, file) in [("beton", "x.beton"), ("wds", "wds/train-000000.tar")] {
        let out = root.path().join(if format == "wds" { "wds" } else { file });
        let raw = ["--encode", if format == "wds" { "jpeg" } else { "raw" }];
        ok(&[&"pack", &folder, &out, &"--format", &format, &raw[0], &raw[1], &"-q"]);
        let path = root.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        // The middle of a beton has pixels, that of a tar the data of some image.
        let at = bytes.len() / 2;
        bytes[at] ^= 4;
        fs::write(&path, bytes).unwrap();
        let (n_valid, keys) = failures(&out);
        assert_eq!((n_valid, keys.len()), (11, 1), "{format}");
    }
}

/// Accesses beyond the end of a file that is truncated while mapped raise SIGBUS.
#[cfg(target_os = "linux")]
#[test]
fn files_cut_while_they_are_mapped_fail_their_samples_only() {
    let root = tempfile::tempdir().unwrap();
    let folder = kodak_classes(root.path());
    let small = root.path().join("small.beton");
    ok(&[&"pack", &folder, &small, &"--jpeg-quality", &"90", &"--max-side", &"96", &"-q"]);
    let files = |format: &str, path: &Path| match format {
        "beton" => vec![path.to_owned()],
        _ => fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|file| file.extension().is_some_and(|it| it == "tar" || it == "mds"))
            .collect(),
    };
    for format in ["beton", "wds", "mds"] {
        let path = root.path().join(format!("x.{format}"));
        ok(&[&"pack", &small, &path, &"--format", &format, &"-q"]);
        let expected = rows(&path, options());
        for (policy, fetch_threads, access) in [
            (OnError::Raise, 0, Access::Mapped),
            (OnError::Skip, 2, Access::Mapped),
            (OnError::Skip, 0, Access::Mapped),
            // Tables and rows are mapped even with reads past the page cache.
            (OnError::Raise, 2, Access::Direct),
            (OnError::Skip, 2, Access::Direct),
        ] {
            let raises = policy == OnError::Raise;
            let failures =
                Failures { on_error: policy, max: 1000, retries: 1, ..Failures::default() };
            let options = options()
                .failures(failures)
                .fetch_threads(fetch_threads)
                .access(access)
                .batch_size(1)
                .verify(!raises);
            let mut loader = Loader::new(Datasets::open(&path).unwrap(), options).unwrap();
            // Files are mapped by now.
            let reader = loader.datasets().readers().next().unwrap().clone();
            (0..12).for_each(|index| drop(reader.get(index).unwrap()));
            let whole: Vec<Vec<u8>> =
                files(format, &path).iter().map(|file| fs::read(file).unwrap()).collect();
            for file in files(format, &path) {
                let file = fs::OpenOptions::new().write(true).open(file).unwrap();
                // Tables and the first images remain.
                file.set_len(file.metadata().unwrap().len() / 2).unwrap();
            }
            if raises {
                let error = loader.find_map(Result::err).unwrap().to_string();
                assert!(error.contains("cannot read") && error.contains("x."), "{error}");
            } else {
                let (mut n_valid, mut n_lost) = (0, 0);
                while let Some(batch) = loader.next_batch() {
                    let batch = batch.unwrap();
                    if batch.valid()[0] {
                        let sample = batch.samples()[0];
                        assert!(batch.images() == expected[&sample].1, "{format} {sample}");
                        n_valid += 1;
                    } else {
                        n_lost += 1;
                    }
                }
                assert!(n_lost > 0 && n_valid + n_lost == 12, "{format}: {n_valid} {n_lost}");
                assert!(format == "beton" || n_valid > 0, "{format}");
            }
            for (file, bytes) in files(format, &path).iter().zip(whole) {
                fs::write(file, bytes).unwrap();
            }
        }
    }
}
