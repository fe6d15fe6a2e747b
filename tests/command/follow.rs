//! Masks and objects come out of every format unchanged; if a format cannot hold the values of a
//! mask, packing and loading report it.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::ok;
use fdconvert_core::Value;
use fdconvert_loader::{
    Column, Datasets, Label, Loader, MaskOptions, ObjectOptions, Objects, Options, Transform,
    TransformList,
};
use fdconvert_testkit::fixtures::{self, Random};
use std::{
    fs,
    path::{Path, PathBuf},
};

const N_SAMPLES: u64 = 12;

/// Returns the values of a mask, row by row: labels up to 20.
fn labels(number: u64) -> (u32, u32, Vec<u8>) {
    let mut random = Random::new(number + 7);
    let (width, height) = (20 + random.below(30) as u32, 20 + random.below(30) as u32);
    let values = (0..width * height).map(|_| random.below(21) as u8).collect();
    (width, height, values)
}

/// Returns a mask; every second one has a palette.
fn mask(number: u64) -> Vec<u8> {
    let (width, height, values) = labels(number);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_depth(png::BitDepth::Eight);
    if number % 2 == 1 {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette((0..21 * 3).map(|at| (at * 11 % 251) as u8).collect::<Vec<_>>());
    } else {
        encoder.set_color(png::ColorType::Grayscale);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&values).unwrap();
    writer.finish().unwrap();
    bytes
}

/// Writes images, their masks, and a table of other properties.
fn sources(root: &Path) -> [PathBuf; 3] {
    let [images, masks, table] = ["images", "masks", "table.jsonl"].map(|name| root.join(name));
    fs::create_dir_all(&images).unwrap();
    fs::create_dir_all(&masks).unwrap();
    let mut lines = String::new();
    for number in 0..N_SAMPLES {
        let (name, (width, height, _)) = (format!("{number:03}.png"), labels(number));
        fs::write(images.join(&name), fixtures::png(width, height, number).bytes).unwrap();
        fs::write(masks.join(&name), mask(number)).unwrap();
        let n_pixels = width * height;
        let objects = format!(
            "{{\"size\":[{width},{height}],\"bbox\":[[1,2,15,12.5],[0,0,{width},{height}]],\
             \"category\":[3,{number}],\"segmentation\":[[[1,2,16,2,16,14]],\
             {{\"size\":[{height},{width}],\"counts\":[{},{}]}}]}}",
            n_pixels / 3,
            n_pixels - n_pixels / 3
        );
        let score = number as f64 / 7.0;
        lines += &format!(
            "{{\"path\":\"{name}\",\"image_id\":{},\"score\":{score:?},\
             \"caption\":\"caf\u{e9} {number}\",\"objects\":{objects}}}\n",
            number + 100
        );
    }
    fs::write(&table, lines).unwrap();
    [images, masks, table]
}

fn options(masks: &[&str]) -> Options {
    let list = TransformList::new(vec![
        Transform::RandomResizedCrop { size: [24, 32], scale: [0.2, 1.0], ratio: [0.75, 1.33] },
        Transform::random_horizontal_flip(),
    ]);
    let strings = |names: &[&str]| names.iter().copied().map(str::to_owned).collect::<Vec<_>>();
    Options::default()
        .batch_size(5)
        .seed(3)
        .transform(list.unwrap())
        .threads(2)
        .label(Label::None)
        .fields(strings(&["image_id", "score", "caption"]))
        .masks(masks.iter().map(|name| MaskOptions::of(*name)).collect())
        .objects(Some(ObjectOptions::of("objects")))
}

type Seen = Vec<(Vec<u64>, Vec<u8>, Vec<(String, Column)>)>;

fn batches(path: &Path, options: Options) -> Result<Seen, String> {
    let loader = Loader::new(Datasets::open(path).unwrap(), options).unwrap();
    let seen = loader.map(|batch| {
        let batch = batch.map_err(|error| error.to_string())?;
        let columns = batch.fields().map(|(name, column)| (name.to_owned(), column.clone()));
        Ok((batch.samples().to_vec(), batch.images().to_vec(), columns.collect()))
    });
    seen.collect()
}

fn objects(seen: &Seen) -> Vec<&Objects> {
    let columns = seen.iter().flat_map(|(_, _, columns)| columns);
    let objects = columns.filter_map(|(_, column)| match column {
        Column::Objects(objects) => Some(&**objects),
        _ => None,
    });
    objects.collect()
}

#[test]
fn masks_and_objects_are_the_same_from_every_format() {
    let root = tempfile::tempdir().unwrap();
    let [images, masks, table] = sources(root.path());
    let path = |name: &str| root.path().join(name);
    let pair = format!("mask={}", masks.display());
    let pack = |name: &str, more: &[&str]| {
        let out = path(name);
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &images, &out, &"--labels", &table, &"--pair", &pair];
        args.extend(more.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        ok(&args)
    };
    pack("o.wds", &["--format", "wds"]);
    let expected = batches(&path("o.wds"), options(&["mask"])).unwrap();
    assert_eq!(expected.len(), 3);
    assert_eq!(expected[0].2.len(), 5);
    let shown = objects(&expected);
    assert!(shown.iter().any(|it| it.boxes.len() > 5 && it.polygons.is_some()));
    assert!(shown.iter().any(|it| it.run_lengths.as_ref().is_some_and(|it| it.counts.len() > 9)));

    pack("o.mds", &["--format", "mds"]);
    pack("o.parquet", &[]);
    // Masks are complete files in it, among pixels.
    pack("o.beton", &[]);
    pack("o.mixed", &["--format", "mixed"]);
    // Half of the images become BMPs, and masks do not change.
    pack("half.mixed", &["--format", "mixed", "--ratio", "0.5"]);
    ok(&[&"pack", &path("o.wds"), &path("again.mds"), &"--format", &"mds", &"-q"]);
    let alone = options(&["mask"]).batch_size(1);
    for name in ["o.mds", "o.parquet", "o.beton", "o.mixed", "half.mixed", "again.mds"] {
        // Batches of a set with two codecs have the same share of each, so that they have other
        // samples.
        if name == "half.mixed" {
            let [mut found, mut expected] =
                ["o.wds", name].map(|name| batches(&path(name), alone.clone()).unwrap());
            found.sort_by_key(|(samples, ..)| samples[0]);
            expected.sort_by_key(|(samples, ..)| samples[0]);
            assert!(found == expected && found.len() == 12, "{name}");
        } else {
            let found = batches(&path(name), options(&["mask"])).unwrap();
            assert!(found == expected, "{name}");
        }
        let reader = fdconvert_reader::open(path(name)).unwrap();
        let field = reader.schema().position("mask").unwrap();
        for index in 0..N_SAMPLES {
            let Value::Image(found) = &reader.get(index).unwrap().values[field] else { panic!() };
            assert!(*found.bytes == mask(index), "{name}: {index}");
        }
    }

    // In FFCV's form all images are pixels of three channels, which do not count as masks.
    pack("ffcv.beton", &["--compat", "ffcv", "--encode", "raw"]);
    let refused = batches(&path("ffcv.beton"), options(&["mask"])).unwrap_err();
    assert!(refused.contains("`mask`") && refused.contains("a raw of 3 channels"), "{refused}");
    assert!(refused.contains("store one channel as PNG"), "{refused}");
}

/// Several sources packed together, with masks among the files next to the images: they were
/// resized and re-encoded as images.
#[test]
fn masks_of_several_sources_stay_what_they_are() {
    let root = tempfile::tempdir().unwrap();
    let [first, second, joined] = ["first", "second", "joined.wds"].map(|it| root.path().join(it));
    for (folder, numbers) in [(&first, 0..5), (&second, 5..N_SAMPLES)] {
        fs::create_dir(folder).unwrap();
        for number in numbers {
            let name = |kind: &str| folder.join(format!("{number:03}.{kind}"));
            let (width, height, _) = labels(number);
            fs::write(name("png"), fixtures::png(width, height, number).bytes).unwrap();
            fs::write(name("mask.png"), mask(number)).unwrap();
        }
    }
    ok(&[&"pack", &first, &second, &joined, &"--beside", &"mask.png", &"--max-side", &"16"]);
    let reader = fdconvert_reader::open(&joined).unwrap();
    let field = reader.schema().fields.iter().rposition(|field| field.name.contains("mask"));
    for index in 0..N_SAMPLES {
        let sample = reader.get(index).unwrap();
        let Value::Image(image) = &sample.values[0] else { panic!() };
        assert!(image.width.max(image.height) <= 16, "{index}");
        let Value::Image(found) = &sample.values[field.unwrap()] else { panic!() };
        assert!(*found.bytes == mask(index), "{index}");
    }
}
