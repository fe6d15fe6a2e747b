//! Masks, further images and objects follow the changes of their sample's image: compared with the
//! steps of torchvision.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    list, options,
    shapes::{N_SAMPLES, dataset, levels, moving, pack, schema, stored},
    steps::{Counts, check, row_of},
};
use fdconvert_core::{Encoded, Reader, Value};
use fdconvert_loader::{
    Batch, Column, Datasets, Failures, Label, Loader, MaskOptions, ObjectOptions, OnError, Options,
    RowGeometry, ThreadExchange, Transform, ViewGroup, ViewLayout, World,
};
use fdconvert_testkit::fixtures;
use png::{BitDepth, ColorType};
use std::{path::Path, sync::Arc, thread};

fn followed(transforms: impl Into<Vec<Transform>>) -> Options {
    options(5, 16)
        .transform(list(transforms))
        .fields(["depth", "view", "label"].map(str::to_owned).to_vec())
        .masks(vec![MaskOptions { field: "mask".into(), fill: 255 }])
        .objects(Some(ObjectOptions::of("objects")))
}

/// Returns a random crop to this height and width, and a flip.
fn random(size: [u32; 2]) -> Vec<Transform> {
    vec![common::random_part(size), Transform::random_horizontal_flip()]
}

fn open(reader: &Arc<dyn Reader>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

/// Compares three epochs, with one thread and with four; returns what was seen in one of them.
fn compared(
    reader: &Arc<dyn Reader>,
    options: &Options,
    stored: &[common::shapes::Stored],
) -> Counts {
    let seen = [1, 4].map(|threads| {
        let mut loader = open(reader, options.clone().threads(threads));
        assert!(loader.datasets().left_out().is_empty());
        let (mut seen, mut counts) = (Vec::new(), Counts::default());
        for _ in 0..3 {
            for batch in loader.by_ref().map(Result::unwrap) {
                counts += check(&batch, options, stored);
                let columns = batch.fields().map(|(name, it)| (name.to_owned(), it.clone()));
                seen.push((batch.images().to_vec(), columns.collect::<Vec<_>>()));
            }
        }
        (seen, counts)
    });
    assert!(seen[0] == seen[1], "{:?}", options.views);
    seen[0].1
}

#[test]
fn masks_and_objects_are_moved_by_the_steps_of_torchvision() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    for size in [[16, 16], [14, 23], [21, 9]] {
        for transforms in moving(size) {
            let counts = compared(&reader, &followed(transforms), &stored);
            assert_eq!(counts.rows, 72);
            assert!((20..52).contains(&counts.flipped) && counts.objects > 100, "{counts:?}");
        }
    }
}

/// Two views of one list differ, and those of two groups have sizes of their own.
#[test]
fn every_view_has_its_masks_and_objects() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    let (wide, high) = (moving([14, 23]), moving([21, 9]));
    for (first, second) in wide.into_iter().zip(high.into_iter().rev()) {
        for view_layout in [ViewLayout::Views, ViewLayout::Rows] {
            let (first, second) = (list(first.clone()), list(second.clone()));
            let groups =
                vec![ViewGroup::new("global", 2, first), ViewGroup::new("local", 1, second)];
            let options =
                followed([Transform::squeeze([9, 9])]).views(groups).view_layout(view_layout);
            let counts = compared(&reader, &options, &stored);
            assert_eq!(counts.rows, 3 * 72);
            assert!((70..146).contains(&counts.flipped) && counts.objects > 300, "{counts:?}");
        }
    }
    let options = followed([]).views(vec![ViewGroup::new("", 2, list(random([16, 16])))]);
    let batch = open(&reader, options).next().unwrap().unwrap();
    assert_ne!(batch.geometry(0), batch.geometry(1));
    assert_ne!(batch.view_field(0, "mask"), batch.view_field(1, "mask"));
    assert_eq!((batch.geometry(2), batch.view_field(2, "mask")), (None, None));
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
    for mut transforms in moving([17, 20]) {
        // Changes of its levels are only for the first image.
        transforms.retain(|it| !matches!(it.name(), "ColorJitter" | "RandomErasing"));
        let options = followed(transforms.clone());
        let with = open(&reader, options.clone());
        let alone = open(&other, options);
        for (batch, other) in with.zip(alone) {
            let (batch, other) = (batch.unwrap(), other.unwrap());
            let Some(Column::Array { spec, bytes }) = batch.field("view") else { panic!() };
            assert_eq!(spec.shape, [batch.len() as u64, 17, 20, 3]);
            assert_eq!(bytes, other.images(), "{transforms:?}");
        }
    }
    // Nothing is resized: the pixels equal the stored ones.
    let size = stored[7].size;
    let options = followed([Transform::squeeze([size.1, size.0])]);
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
    let (fill, flip) = ([9, 8, 7], Transform::random_horizontal_flip());
    let squeezed = |size| options(1, 1).transform(list([Transform::squeeze(size)]));
    let options = followed([Transform::Letterbox { size: [22, 30], fill }, flip]);
    let mut n_flipped = 0;
    for batch in open(&reader, options).map(Result::unwrap) {
        for (row, geometry) in batch.geometry(0).unwrap().iter().enumerate() {
            let RowGeometry { source, matrix, .. } = *geometry;
            let flipped = matrix[0][0] < 0.0;
            n_flipped += usize::from(flipped);
            // Where the corners go, before a flip.
            let edge = |axis: usize, at: u32| matrix[axis][axis] * f64::from(at) + matrix[axis][2];
            let unflipped = |at: f64| if flipped { 30.0 - at } else { at };
            let across = [0, source.0].map(|at| unflipped(edge(0, at)).round() as usize);
            let down = [0, source.1].map(|at| edge(1, at).round() as usize);
            let (width, height) = (across[1] - across[0], down[1] - down[0]);
            assert!(width == 30 || height == 22);
            let pixels = &batch.images()[row * 30 * 22 * 3..][..30 * 22 * 3];
            // The image alone, squeezed to its size in the box.
            let mut alone = open(&reader, squeezed([height as u32, width as u32]));
            let sample = batch.samples()[row];
            let inner =
                alone.find(|it| it.as_ref().unwrap().samples() == [sample]).unwrap().unwrap();
            for y in 0..22 {
                for x in 0..30 {
                    let shown = if flipped { 29 - x } else { x };
                    let pixel = &pixels[(y * 30 + shown) * 3..][..3];
                    let at = |at: usize, [begin, end]: [usize; 2]| {
                        (begin..end).contains(&at).then(|| at - begin)
                    };
                    let expected = match (at(x, across), at(y, down)) {
                        (Some(x), Some(y)) => &inner.images()[(y * width + x) * 3..][..3],
                        _ => &fill,
                    };
                    assert_eq!(pixel, expected, "{geometry:?} {x} {y}");
                }
            }
        }
    }
    assert!((4..20).contains(&n_flipped), "{n_flipped}");
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
    let affine = Transform::RandomAffine {
        degrees: [-20.0, 20.0],
        translate: Some([0.1; 2]),
        scale: None,
        shear: None,
        interpolation: fdconvert_loader::parts::Interpolation::Bilinear,
        fill: [0; 3],
        center: None,
    };
    let base = followed([random([13, 16]), vec![affine]].concat());
    let expected = columns(&mut open(&reader, base.clone()));
    // The choice of kept samples is part of the order, their place is not.
    let cached = [false, true].map(|in_folder| {
        let cached = base
            .clone()
            .cache_bytes(1 << 24)
            .cache_folder(in_folder.then(|| folder.path().join("cache")));
        let mut loader = open(&reader, cached);
        for batch in loader.by_ref().map(Result::unwrap) {
            check(&batch, &base, &stored);
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
            let (stored, base) = (&stored, &base);
            for loader in &mut loaders {
                scope.spawn(move || {
                    loader.for_each(|batch| {
                        check(&batch.unwrap(), base, stored);
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
        let options = followed([Transform::squeeze([8, 8])]);
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
                    assert_eq!(batch.geometry(0).unwrap()[row], RowGeometry::default());
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
        let options =
            followed([Transform::squeeze([30, 40]), Transform::RandomHorizontalFlip { p: 1.0 }])
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
        (said(|it| it.masks = vec![MaskOptions::of("label")]), "masks: `label` is of kind int"),
        (said(|it| it.masks = vec![MaskOptions::of("image")]), "`image` of a.wds is the image"),
        (said(|it| it.masks = vec![MaskOptions::of("maks")]), "has no field `maks`"),
        (
            said(|it| {
                it.masks = vec![MaskOptions::of("mask")];
                it.label = Label::Field("label".into());
                let mixup = Transform::MixUp { alpha: 0.2, num_classes: Some(9) };
                it.views[0].transform = list([Transform::squeeze([8, 8]), mixup]);
            }),
            "transform: masks, further images and objects belong to one image",
        ),
        (
            said(|it| {
                it.masks = vec![MaskOptions::of("mask")];
                let augmix = serde_json::from_str("{\"AugMix\": {}}").unwrap();
                it.views[0].transform = list([Transform::squeeze([8, 8]), augmix]);
            }),
            "transform: masks, further images and objects cannot follow AugMix",
        ),
        (
            said(|it| it.masks = vec![MaskOptions { field: "mask".into(), fill: 256 }]),
            "masks: 256 around `mask` does not fit",
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
    let base = options(8, 16).transform(list(random([16, 16])));
    let without = open(&reader, base.clone());
    assert!(without.map(Result::unwrap).all(|batch| batch.geometry(0).is_none()));
    for batch in open(&reader, base.geometry(true)).map(Result::unwrap) {
        for (sample, row) in batch.samples().iter().zip(batch.geometry(0).unwrap()) {
            assert_eq!((row.source, row.size), (stored[*sample as usize].size, (16, 16)));
            // A part of the image fills the row, so that its corners are at the row's or outside.
            let [[by_x, _, x], [_, by_y, y], _] = row.matrix;
            let across = [x, by_x * f64::from(row.source.0) + x];
            let down = [y, by_y * f64::from(row.source.1) + y];
            for [from, to] in [across, down] {
                assert!(from.min(to) < 1e-9 && from.max(to) > 16.0 - 1e-9, "{row:?}");
            }
        }
        assert_eq!(batch.geometry(1), None);
    }
}
