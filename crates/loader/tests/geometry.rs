//! Masks, further images and objects take the crop, the resize, the flip and the letterbox of their
//! sample's image: compared with the steps of torchvision.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    options,
    shapes::{N_SAMPLES, dataset, levels, pack, schema, stored},
    steps::{check, row_of},
};
use fdconvert_core::{Encoded, Reader, Value};
use fdconvert_loader::{
    Batch, Column, Crop, Datasets, Failures, Label, Loader, Mix, ObjectOptions, OnError, Options,
    RowGeometry, ThreadExchange, World, parts::Area,
};
use fdconvert_testkit::fixtures;
use png::{BitDepth, ColorType};
use std::{path::Path, sync::Arc, thread};

fn followed(crop: Crop, size: (u32, u32), flip: f64) -> Options {
    let base = options(5, 16);
    let output = fdconvert_loader::Output { size, ..base.output };
    base.output(output)
        .crop(crop)
        .flip(flip)
        .fields(["depth", "view", "label"].map(str::to_owned).to_vec())
        .masks(vec!["mask".into()])
        .objects(Some(ObjectOptions::of("objects")))
        .mask_fill(255)
}

const FILL: [u8; 3] = [9, 8, 7];

const CROPS: [Crop; 4] = [
    Crop::Center { resize: 23 },
    Crop::Random { scale: (0.1, 1.0), ratio: (0.5, 2.0) },
    Crop::None,
    Crop::Letterbox { fill: FILL },
];

fn open(reader: &Arc<dyn Reader>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

#[test]
fn masks_and_objects_are_moved_by_the_steps_of_torchvision() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    for crop in CROPS {
        for size in [(16, 16), (23, 14), (9, 21)] {
            let seen = [1, 4].map(|threads| {
                let options = followed(crop, size, 0.5).threads(threads);
                let mut loader = open(&reader, options);
                assert!(loader.datasets().left_out().is_empty());
                let (mut seen, mut counts) = (Vec::new(), (0, 0));
                for _ in 0..3 {
                    for batch in loader.by_ref().map(Result::unwrap) {
                        let (n_flipped, n_objects) = check(&batch, crop, &stored);
                        counts = (counts.0 + n_flipped, counts.1 + n_objects);
                        let columns =
                            batch.fields().map(|(name, it)| (name.to_owned(), it.clone()));
                        seen.push((batch.images().to_vec(), columns.collect::<Vec<_>>()));
                    }
                }
                assert!((20..52).contains(&counts.0) && counts.1 > 100, "{counts:?}");
                seen
            });
            assert!(seen[0] == seen[1], "{crop:?} {size:?}");
        }
    }
}

fn values_of(number: u64) -> Vec<Value<Encoded>> {
    stored(number).1
}

/// The further image is the first one of another dataset: the loader must make the same row of it
/// in both.
#[test]
fn a_second_view_is_made_as_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    let views = (0..N_SAMPLES).map(|number| {
        let mut values = values_of(number);
        values.swap(0, 3);
        values
    });
    let other = pack(&folder.path().join("b.wds"), views);
    for crop in CROPS {
        let options = followed(crop, (20, 17), 0.5);
        let with = open(&reader, options.clone());
        let alone = open(&other, options);
        for (batch, other) in with.zip(alone) {
            let (batch, other) = (batch.unwrap(), other.unwrap());
            let Some(Column::Array { spec, bytes }) = batch.field("view") else { panic!() };
            assert_eq!(spec.shape, [batch.len() as u64, 17, 20, 3]);
            assert_eq!(bytes, other.images(), "{crop:?}");
        }
    }
    // Nothing is resized: the pixels equal the stored ones.
    let size = stored[7].size;
    let options = followed(Crop::None, size, 0.0).flip(0.0);
    let batches = open(&reader, options).map(Result::unwrap);
    let rows = batches.flat_map(|batch| {
        let Some(Column::Array { bytes, .. }) = batch.field("view") else { panic!() };
        let n_bytes = bytes.len() / batch.len();
        let rows = batch.samples().iter().zip(bytes.chunks(n_bytes));
        rows.map(|(sample, row)| (*sample, row.to_vec())).collect::<Vec<_>>()
    });
    let found = rows.filter(|(sample, _)| *sample == 7).map(|(_, row)| row).next();
    assert_eq!(found.as_deref(), Some(&stored[7].view[..]));
}

#[test]
fn a_letterbox_has_its_colour_around_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, _) = dataset(&folder.path().join("a.wds"));
    let squeezed = |size| options(1, 1).geometry(true).into_squeezed(size);
    let options = followed(Crop::Letterbox { fill: FILL }, (30, 22), 0.5);
    for batch in open(&reader, options).map(Result::unwrap) {
        for (row, geometry) in batch.geometry().unwrap().iter().enumerate() {
            let RowGeometry { area, flipped, .. } = *geometry;
            let pixels = &batch.images()[row * 30 * 22 * 3..][..30 * 22 * 3];
            // The image alone, squeezed to its size in the box.
            let mut alone = open(&reader, squeezed((area.width, area.height)));
            let sample = batch.samples()[row];
            let inner =
                alone.find(|it| it.as_ref().unwrap().samples() == [sample]).unwrap().unwrap();
            let row_bytes = area.width as usize * 3;
            for y in 0..22 {
                for x in 0..30 {
                    let shown = if flipped { 29 - x } else { x };
                    let pixel = &pixels[(y * 30 + shown) * 3..][..3];
                    let at = |at: usize, begin: u32, len: u32| {
                        at.checked_sub(begin as usize).filter(|at| *at < len as usize)
                    };
                    let expected = match (at(x, area.x, area.width), at(y, area.y, area.height)) {
                        (Some(x), Some(y)) => &inner.images()[y * row_bytes + x * 3..][..3],
                        _ => &FILL,
                    };
                    assert_eq!(pixel, expected, "{area:?} {x} {y}");
                }
            }
        }
    }
}

/// Options for one whole image at a time.
trait Squeezed {
    fn into_squeezed(self, size: (u32, u32)) -> Self;
}

impl Squeezed for Options {
    fn into_squeezed(self, size: (u32, u32)) -> Self {
        let output = fdconvert_loader::Output { size, ..self.output };
        self.output(output).crop(Crop::None).flip(0.0)
    }
}

type Seen = Vec<Vec<(String, Column)>>;

fn columns(loader: &mut Loader) -> Seen {
    let columns = |batch: Batch| {
        batch.fields().map(|(name, column)| (name.to_owned(), column.clone())).collect()
    };
    loader.map(|batch| columns(batch.unwrap())).collect()
}

#[test]
fn caches_resumes_and_other_ranks_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    let crop = CROPS[1];
    let base = followed(crop, (16, 13), 0.5);
    let expected = columns(&mut open(&reader, base.clone()));
    // The choice of kept samples is part of the order, their place is not.
    let cached = [false, true].map(|in_folder| {
        let cached = base
            .clone()
            .cache_bytes(1 << 24)
            .cache_folder(in_folder.then(|| folder.path().join("cache")));
        let mut loader = open(&reader, cached);
        for batch in loader.by_ref().map(Result::unwrap) {
            check(&batch, crop, &stored);
        }
        let seen: Vec<_> = (0..2).map(|_| columns(&mut loader)).collect();
        assert_eq!((loader.stats().reads, loader.stats().hits), (N_SAMPLES, 2 * N_SAMPLES));
        seen
    });
    assert!(cached[0] == cached[1]);
    let mut first = open(&reader, base.clone());
    let state = first.by_ref().take(2).map(|batch| batch.unwrap().state()).last().unwrap();
    let mut second = open(&reader, base.clone());
    second.restore(&state).unwrap();
    assert!(columns(&mut second) == expected[2..]);

    let loader = |(exchange, rank)| {
        let options = base
            .clone()
            .world(World { rank, size: 2 })
            .cache_bytes(1 << 24)
            .locality(true)
            .exchange(Some(Arc::new(exchange)));
        open(&reader, options)
    };
    let mut loaders: Vec<_> =
        ThreadExchange::of_ranks(2).into_iter().zip(0..).map(loader).collect();
    for _ in 0..4 {
        thread::scope(|scope| {
            let stored = &stored;
            for loader in &mut loaders {
                scope.spawn(move || {
                    loader.for_each(|batch| {
                        check(&batch.unwrap(), crop, stored);
                    });
                });
            }
        });
    }
    let sum = |of: fn(&fdconvert_loader::Stats) -> u64| -> u64 {
        loaders.iter().map(|loader| of(&loader.stats())).sum()
    };
    let (moved, exchanged) = (sum(|stats| stats.moved), sum(|stats| stats.exchanged));
    assert!(exchanged > 0 && exchanged == moved, "{exchanged} of {moved}");
}

/// Returns a dataset with another value in one field of its fourth sample.
fn broken(out: &Path, field: usize, value: Value<Encoded>) -> Arc<dyn Reader> {
    let rows = (0..8).map(|number| stored(number).1);
    let rows = rows.enumerate().map(|(number, mut values)| {
        if number == 3 {
            values[field] = value.clone();
        }
        values
    });
    pack(out, rows)
}

#[test]
fn what_does_not_fit_is_a_broken_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (size, gray) = (stored(3).0.size, ColorType::Grayscale);
    let n_pixels = (size.0 * size.1) as usize;
    let json = |text: &str| Value::Json(text.to_owned().into());
    let crowd = "{\"bbox\":[[0,0,9,9]],\"segmentation\":[{\"size\":[9,9],\"counts\":\"a\"}]}";
    let cases = [
        (
            1,
            Value::Image(levels((30, 31), gray, BitDepth::Eight, &[7; 930])),
            "it is 30x31 next to",
        ),
        (3, Value::Image(fixtures::png(30, 31, 5)), "store both at the same size"),
        (1, Value::Image(fixtures::png(size.0, size.1, 5)), "3 channels are not single values"),
        (1, Value::Image(levels(size, gray, BitDepth::Sixteen, &vec![7; n_pixels])), "16 bits"),
        (3, Value::Image(levels(size, gray, BitDepth::Sixteen, &vec![7; n_pixels])), "16 bits"),
        (2, Value::Image(levels(size, gray, BitDepth::Eight, &vec![7; n_pixels])), "8 bits"),
        (2, Value::Image(fixtures::png(size.0, size.1, 5)), "3 channels are not single values"),
        (4, json("{\"bbox\":[[0,0,9,9]],\"category\":[1,2]}"), "`category` has 2 entries for 1"),
        (4, json("{\"bbox\":[[0,0,9,9e300]]}"), "not a coordinate"),
        (4, json("{\"bbox\": 7}"), "cannot be read"),
        (4, json(crowd), "run lengths"),
    ];
    for (number, (field, value, part)) in cases.into_iter().enumerate() {
        let reader = broken(&folder.path().join(format!("{number}.wds")), field, value);
        let options = followed(Crop::None, (8, 8), 0.0);
        let said = open(&reader, options.clone()).find_map(Result::err).unwrap().to_string();
        let name = &schema().fields[field].name;
        assert!(said.contains(part) && said.contains(&format!("`{name}`")), "{said}");
        assert!(said.contains("003"), "{said}");
        let failures = Failures { on_error: OnError::Skip, ..Failures::default() };
        let mut n_skipped = 0;
        for batch in open(&reader, options.failures(failures)).map(Result::unwrap) {
            for (row, valid) in batch.valid().iter().enumerate() {
                if !valid {
                    n_skipped += 1;
                    assert_eq!(batch.samples()[row], 3);
                    assert_eq!(batch.geometry().unwrap()[row], RowGeometry::default());
                    assert!(row_of(batch.field("mask").unwrap(), row).iter().all(|it| *it == 0));
                    let Some(Column::Objects(objects)) = batch.field("objects") else { panic!() };
                    assert_eq!(objects.offsets[row], objects.offsets[row + 1]);
                }
            }
        }
        assert_eq!(n_skipped, 1, "{part}");
    }
}

#[test]
fn keypoints_change_places_with_the_flip_and_small_boxes_go_with_all_that_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let document = "{\"bbox\":[[0,0,10,10],[2,2,1,8],[20,4,9,9]],\"id\":[5,6,7],\
                    \"iscrowd\":[0,1,0],\"keypoints\":[[1,2,2,3,4,1,5,6,2],[],[]]}";
    let mut values = stored(0).1;
    values[0] = Value::Image(fixtures::png(40, 30, 1));
    values[4] = Value::Json(document.to_owned().into());
    let reader = pack(&folder.path().join("a.wds"), [values]);
    let with = |objects| {
        let options = followed(Crop::None, (40, 30), 1.0)
            .fields(Vec::new())
            .masks(Vec::new())
            .objects(Some(objects));
        let batch = open(&reader, options).next().unwrap();
        batch.map(|batch| match batch.field("objects") {
            Some(Column::Objects(objects)) => (**objects).clone(),
            other => panic!("{other:?}"),
        })
    };
    let base = ObjectOptions { min_box: 2.0, ..ObjectOptions::of("objects") };
    let found = with(ObjectOptions { keypoint_flip: vec![1, 0, 2], ..base.clone() }).unwrap();
    assert_eq!(found.boxes, [[30.0, 0.0, 40.0, 10.0], [11.0, 4.0, 20.0, 13.0]]);
    assert_eq!((found.offsets, found.id), (vec![0, 2], Some(vec![5, 7])));
    assert_eq!((found.category, found.iscrowd), (vec![-1, -1], Some(vec![0, 0])));
    assert_eq!((found.area, found.polygons), (None, None));
    let keypoints = found.keypoints.unwrap();
    assert_eq!(keypoints.per_object, 3);
    let expected = [[36.0, 4.0, 1.0], [38.0, 2.0, 2.0], [34.0, 6.0, 2.0]];
    assert_eq!(keypoints.points[..3], expected);
    assert_eq!(keypoints.points[3..], [[0.0; 3]; 3]);
    let plain = with(base.clone()).unwrap().keypoints.unwrap();
    assert_eq!(plain.points[..3], [expected[1], expected[0], expected[2]]);
    let other = with(ObjectOptions { keypoint_flip: vec![1, 0], ..base.clone() });
    let said = other.unwrap_err().to_string();
    assert!(said.contains("3 keypoints") && said.contains("names 2"), "{said}");
}

#[test]
fn roles_that_cannot_be_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, _) = dataset(&folder.path().join("a.wds"));
    let said = |change: fn(&mut Options)| {
        let mut options = options(4, 8).label(Label::None);
        change(&mut options);
        let loader = Loader::new(Datasets::one(reader.clone()).unwrap(), options);
        loader.err().unwrap().to_string()
    };
    for (found, part) in [
        (said(|it| it.masks = vec!["label".into()]), "masks: `label` is of kind int"),
        (said(|it| it.masks = vec!["image".into()]), "`image` of a.wds is the image"),
        (said(|it| it.masks = vec!["maks".into()]), "has no field `maks`"),
        (
            said(|it| {
                it.masks = vec!["mask".into()];
                it.label = Label::Field("label".into());
                it.mix = Some(Mix { mixup: 0.2, num_classes: Some(9), ..Mix::default() });
            }),
            "mixup: masks, further images and objects belong to one image",
        ),
        (
            said(|it| {
                it.objects = Some(ObjectOptions::of("objects"));
                it.label = Label::Field("objects".into());
            }),
            "label: `objects` describes objects",
        ),
        (
            said(|it| it.objects = Some(ObjectOptions::of("mask"))),
            "objects: `mask` is of kind image",
        ),
        (
            said(|it| {
                let objects = ObjectOptions::of("objects");
                it.objects = Some(ObjectOptions { min_box: f32::NAN, ..objects });
            }),
            "min_box: NaN",
        ),
        (
            said(|it| {
                let objects = ObjectOptions::of("objects");
                it.objects = Some(ObjectOptions { keypoint_flip: vec![0, 2], ..objects });
            }),
            "keypoint_flip: [0, 2]",
        ),
    ] {
        assert!(found.contains(part), "{found}");
    }
}

#[test]
fn the_geometry_of_rows_is_told_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    let base = options(8, 16).crop(CROPS[1]).flip(0.5);
    let without = open(&reader, base.clone());
    assert!(without.map(Result::unwrap).all(|batch| batch.geometry().is_none()));
    for batch in open(&reader, base.geometry(true)).map(Result::unwrap) {
        for (sample, row) in batch.samples().iter().zip(batch.geometry().unwrap()) {
            assert_eq!((row.source, row.size), (stored[*sample as usize].size, (16, 16)));
            assert_eq!(row.area, Area { x: 0, y: 0, width: 16, height: 16 });
            assert!(row.crop.x + row.crop.width <= f64::from(row.source.0));
        }
    }
}
