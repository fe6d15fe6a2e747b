//! Datasets of chosen samples, for everything that takes a dataset.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert::{
    Codec, Dataset, Datasets, Error, Indices, Loader, LoaderOptions, Pack, PackOptions, Ratio,
    State, Transform, TransformList, Value,
};
use fdconvert_testkit::fixtures;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Forty images of two classes in two splits, packed as shards of PNG and BMP.
fn mixed_set(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    for n in 0..40_u32 {
        let split = if n % 3 == 2 { "val" } else { "train" };
        let class = photos.join(split).join(["cat", "dog"][n as usize % 2]);
        fs::create_dir_all(&class).unwrap();
        let image = fixtures::png(20 + n, 16, u64::from(n) + 1);
        fs::write(class.join(format!("{n}.png")), image.bytes).unwrap();
    }
    let out = root.join("photos.mixed");
    let options =
        PackOptions::default().format("mixed").ratio("0.5".parse::<Ratio>().unwrap()).shuffle(true);
    Pack::new([&photos], &out).options(options).run().unwrap();
    out
}

fn keys(dataset: &Dataset) -> Vec<String> {
    (0..dataset.len()).map(|index| dataset.key(index)).collect()
}

fn options() -> LoaderOptions {
    let list = TransformList::new(vec![Transform::squeeze([8, 8])]).unwrap();
    LoaderOptions::default().batch_size(4).transform(list)
}

fn loader(datasets: Datasets) -> Loader {
    Loader::new(datasets, options()).unwrap()
}

/// Samples of an epoch, in the order of the rows.
fn epoch(loader: &mut Loader) -> Vec<u64> {
    let batches = std::iter::from_fn(|| loader.next_batch());
    batches.flat_map(|batch| batch.unwrap().samples().to_vec()).collect()
}

fn is_usage<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Usage { .. }))
}

#[test]
fn chosen_samples_are_spread_by_codec_as_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fdconvert::open(mixed_set(folder.path())).unwrap();
    assert!(is_usage(Datasets::try_from(whole.clone())));
    assert!(is_usage(Loader::builder(whole.clone()).build()));
    let train = whole.split(["train"]).unwrap();
    assert_eq!((train.len(), train.strata().len()), (27, 2));
    let scattered: Vec<u64> = (0..50).map(|k| k * k * 11 % 27).collect();
    for chosen in [
        train.clone(),
        train.r#where("width > 30").unwrap(),
        train.select(scattered).unwrap(),
        whole.split(["all"]).unwrap().select(0..17).unwrap(),
    ] {
        let (strata, len) = (chosen.strata(), chosen.len());
        assert_eq!(strata.iter().sum::<u64>(), len);
        let mut seen = Vec::new();
        for (stratum, &n) in strata.iter().enumerate() {
            let samples: Vec<u64> = (0..n).map(|at| chosen.stratum_sample(stratum, at)).collect();
            let codec = |index: &u64| chosen.codec_hint(*index).unwrap();
            assert!(samples.iter().all(|index| codec(index) == codec(&samples[0])));
            seen.extend(samples);
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..len));
        let mut loader = loader(chosen.try_into().unwrap());
        let mut samples = epoch(&mut loader);
        samples.sort_unstable();
        assert!(samples.into_iter().eq(0..len));
    }
    let bmp = |dataset: &Dataset| {
        let codecs = (0..dataset.len()).map(|index| dataset.codec_hint(index).unwrap());
        codecs.filter(|codec| *codec == Some(Codec::Bmp)).count()
    };
    // A codec that no chosen sample has is no stratum.
    let one = train.r#where("codec == 'bmp'").unwrap();
    assert_eq!((one.strata(), bmp(&one)), (vec![one.len()], bmp(&train)));
}

#[test]
fn joined_datasets_are_loaded_as_a_list_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fdconvert::open(mixed_set(folder.path())).unwrap();
    let parts = [whole.split(["train"]).unwrap(), whole.split(["val"]).unwrap()];
    let joined = fdconvert::concat(parts.clone()).unwrap();
    assert_eq!(keys(&joined), [keys(&parts[0]), keys(&parts[1])].concat());
    assert_eq!(joined.strata(), [parts[0].strata(), parts[1].strata()].concat());
    let listed = parts.map(|part| (part.into(), 1.0)).to_vec();
    let mut listed = loader(Datasets::weighted(listed).unwrap());
    let mut loader = loader(joined.clone().try_into().unwrap());
    assert_eq!(epoch(&mut loader), epoch(&mut listed));
    assert_eq!(loader.len(), 10);
    // And narrowed again.
    let few = joined.r#where("label == 'dog'").unwrap().select(Indices::from_iter([9, 0, 0]));
    let few = few.unwrap();
    let dogs: Vec<u64> = (0..40).filter(|index| joined.label(*index).unwrap() == Some(1)).collect();
    assert_eq!(keys(&few), [9, 0, 0].map(|at: usize| joined.key(dogs[at])));
    let sample = few.get(0).unwrap();
    assert_eq!(sample, joined.get(dogs[9]).unwrap());
    assert!(joined.verify_layout().is_empty() && few.verify_sample(1).is_ok());
}

#[test]
fn a_choice_is_packed_like_any_source() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fdconvert::open(mixed_set(folder.path())).unwrap();
    let cats = whole.r#where("label == 'cat'").unwrap();
    let out = folder.path().join("cats.wds");
    let report = Pack::from_source(cats.clone().into(), &out).run().unwrap();
    assert_eq!((report.samples, report.skipped.len()), (cats.len(), 0));
    let packed = fdconvert::open(&out).unwrap();
    // Classes and splits stay.
    assert_eq!(packed.schema().fields[1].class_names.as_ref().map(|names| names.len()), Some(2));
    assert_eq!(keys(&packed.split(["val"]).unwrap()), keys(&cats.split(["val"]).unwrap()));
}

#[test]
fn a_state_of_another_choice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fdconvert::open(mixed_set(folder.path())).unwrap().split(["all"]).unwrap();
    let state = |datasets: Datasets| -> State {
        let mut loader = loader(datasets);
        loader.next_batch().unwrap().unwrap();
        loader.state()
    };
    let of = |chosen: &Dataset| Datasets::try_from(chosen.clone()).unwrap();
    let half = whole.select(0..20).unwrap();
    let same = whole.r#where("index < 20").unwrap();
    assert!(loader(of(&same)).restore(&state(of(&half))).is_ok());
    let parts = || [(half.clone(), 0.5), (whole.select(20..40).unwrap(), 0.5)];
    for other in [
        whole.clone(),
        whole.select(20..40).unwrap(),
        whole.select(0..19).unwrap(),
        half.select(Indices::stepped(19, -1, 20).unwrap()).unwrap(),
        fdconvert::mix(parts()).unwrap(),
    ] {
        assert!(is_usage(loader(of(&other)).restore(&state(of(&half)))));
    }
    let even = fdconvert::mix(parts()).unwrap();
    let [(a, _), (b, _)] = parts();
    let uneven = fdconvert::mix([(a, 0.4), (b, 0.6)]).unwrap();
    assert!(is_usage(loader(of(&uneven)).restore(&state(of(&even)))));
}

#[test]
fn shares_are_rounded_to_rows_and_cover_all_samples() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fdconvert::open(mixed_set(folder.path())).unwrap().split(["all"]).unwrap();
    let part = |from, to| whole.select(from..to).unwrap();
    let shares = [(part(0, 7), 1.0), (part(7, 10), 1.0), (part(10, 40), 1.0)];
    let mixed = fdconvert::mix(shares).unwrap();
    assert_eq!(mixed.len(), 40);
    let mut loader = loader(mixed.clone().try_into().unwrap());
    let mut seen = BTreeMap::<u64, u64>::new();
    for _ in 0..12 {
        let samples = epoch(&mut loader);
        let count = |from, to| samples.iter().filter(|it| (from..to).contains(*it)).count();
        assert_eq!([count(0, 7), count(7, 10), count(10, 40)], [14, 13, 13]);
        samples.into_iter().for_each(|sample| *seen.entry(sample).or_default() += 1);
    }
    assert!((0..7).all(|sample| seen[&sample] == 24));
    assert!((7..10).all(|sample| (48..=60).contains(&seen[&sample])));
    assert_eq!(seen.len(), 40);
    assert!(is_usage(mixed.select(0..1)) && is_usage(fdconvert::concat([mixed])));
    assert!(is_usage(fdconvert::mix([(part(0, 1), 1.0), (part(1, 40), 1e-6)])));
}

#[test]
fn drawn_images_are_chosen_at_any_size_and_in_any_epoch() {
    let whole = fdconvert::open("fractal:svd?classes=3&instances=4&size=16&vary=epoch").unwrap();
    let list = [11, 0, 5, 5];
    let chosen = whole.select(Indices::from_iter(list)).unwrap();
    let joined = fdconvert::concat([whole.clone(), chosen.clone()]).unwrap();
    for epoch in [0, 3] {
        let at = |dataset: &Dataset| {
            let generated = dataset.as_generated().unwrap();
            let drawn = generated.at_epoch(epoch).unwrap().unwrap();
            drawn.as_generated().unwrap().drawn_at(24).unwrap()
        };
        let (inner, outer, joined) = (at(&whole), at(&chosen), at(&joined));
        for (position, index) in (0..).zip(list) {
            let sample = inner.get(index).unwrap();
            assert_eq!(outer.get(position).unwrap(), sample);
            assert_eq!(joined.get(12 + position).unwrap(), sample);
            assert_eq!(joined.get(index).unwrap(), sample);
        }
    }
    assert_eq!(chosen.as_generated().unwrap().drawn().side, 16);
    let other = fdconvert::open("fractal:svd?classes=3&instances=4&size=32").unwrap();
    assert!(is_usage(fdconvert::concat([whole, other])));
}

#[test]
fn a_range_takes_no_memory_and_a_list_four_bytes_per_sample() {
    let whole = fdconvert::open("fractal:svd?classes=5000&instances=100").unwrap();
    assert_eq!(whole.len(), 500_000);
    let memory = |dataset: &Dataset| dataset.chosen().map_or(0, |chosen| chosen.memory());
    let range = whole.select(1000..400_000).unwrap();
    assert_eq!((memory(&whole), memory(&range)), (0, 24));
    assert_eq!(memory(&range.select(0..10).unwrap()), 24);
    assert_eq!(memory(&whole.select(0..whole.len()).unwrap()), 0);
    let ends = whole.r#where("index < 1000 || index >= 400000").unwrap();
    assert_eq!((ends.len(), memory(&ends)), (101_000, 48));
    let list: Indices = (0..400_000).map(|k| k * 7919 % 399_000 / 2 * 2 % 300_000).collect();
    let chosen = range.select(list).unwrap().select(5..300_005).unwrap();
    assert!(memory(&chosen) <= 4 * chosen.len());
}

/// Packs eight images, each with a car and as many trees as its number says.
fn with_objects(root: &Path, format: &str) -> PathBuf {
    let (photos, out) = (root.join("objects"), root.join(format!("objects.{format}")));
    fs::create_dir_all(&photos).unwrap();
    let rows = (0..8_u32).map(|n| {
        let image = fixtures::png(20 + n, 16, u64::from(n) + 1);
        fs::write(photos.join(format!("{n}.png")), image.bytes).unwrap();
        let repeated = |first: &str, other: &str| {
            let others = (0..n).map(|_| other.to_owned());
            std::iter::once(first.to_owned()).chain(others).collect::<Vec<_>>().join(",")
        };
        format!(
            r#"{{"path":"{n}.png","objects":{{"bbox":[{}],"category":[{}],"category_name":[{}]}}}}"#,
            repeated("[1,2,10,8]", "[0,0,4,4.5]"),
            repeated("3", "5"),
            repeated(r#""car""#, r#""tree""#),
        )
    });
    let table = root.join("objects.jsonl");
    fs::write(&table, rows.collect::<Vec<_>>().join("\n")).unwrap();
    let options = PackOptions::default().format(format).labels(table);
    Pack::new([&photos], &out).options(options).run().unwrap();
    out
}

#[test]
fn objects_are_chosen_without_their_images() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for format in ["beton", "wds", "mds", "parquet", "mixed"] {
        let path = with_objects(root, format);
        let mut n_broken = 0;
        let mut folders = vec![path.clone()];
        while let Some(path) = folders.pop() {
            if path.is_dir() {
                folders.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let mut bytes = fs::read(&path).unwrap();
            let images: Vec<usize> =
                (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"IDAT")).collect();
            n_broken += images.len();
            images.iter().for_each(|at| bytes[*at + 8] ^= 1);
            fs::write(path, bytes).unwrap();
        }
        let whole = fdconvert::open(&path).unwrap();
        let field = whole.schema().position("objects").unwrap();
        let numbers = |expression: &str| {
            let chosen = whole.r#where(expression).unwrap();
            let mut keys = keys(&chosen);
            keys.sort_unstable();
            keys.concat().replace(".png", "")
        };
        // Pixels of a beton are stored raw.
        if format != "beton" {
            assert_eq!(n_broken, 8, "{format}");
            assert!(whole.read(0).is_err(), "{format}");
        }
        assert_eq!(numbers("any(category == 'tree') && n_objects <= 4"), "123", "{format}");
        assert_eq!(numbers("count(category == 5 && area == 18) == 6"), "6", "{format}");
        assert_eq!(numbers("!any(category != 'car')"), "0", "{format}");
        let narrowed = whole.r#where("index > 2").unwrap();
        let joined = fdconvert::concat([whole.clone(), narrowed]).unwrap();
        assert_eq!(joined.r#where("count(category == 'tree') >= 6").unwrap().len(), 4, "{format}");
        let json = |dataset: &Dataset, index| match dataset.value(index, field).unwrap() {
            Some(Value::Json(json)) => json,
            other => panic!("{other:?}"),
        };
        assert_eq!(json(&joined, 11), json(&whole, 6), "{format}");
        for (wrong, part) in [
            ("any(colour == 1)", "an object has: category, left, top, width, height, area"),
            ("any(any(width > 1))", "an object has no objects"),
        ] {
            let said = whole.r#where(wrong).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("column 5"), "{said}");
        }
    }
}

#[test]
fn a_damaged_document_is_an_error_of_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["beton", "wds", "mds"] {
        let path = with_objects(folder.path(), format);
        let mut folders = vec![path.clone()];
        while let Some(path) = folders.pop() {
            if path.is_dir() {
                folders.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let mut bytes = fs::read(&path).unwrap();
            let boxes: Vec<usize> =
                (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"[1,2,10,8]")).collect();
            boxes.iter().for_each(|at| bytes[*at + 1] = b'2');
            fs::write(path, bytes).unwrap();
        }
        let error = fdconvert::open(&path).unwrap().r#where("any(left == 2)").unwrap_err();
        assert!(matches!(error, Error::Sample { .. }), "{format}: {error}");
        assert!(error.to_string().contains("checksum"), "{format}: {error}");
    }
}
