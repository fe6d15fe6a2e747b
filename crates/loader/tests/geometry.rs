//! Masks, further images and objects take the crop, the resize, the flip and the letterbox of their
//! sample's image: compared with torchvision's steps, one after the other and pixel by pixel.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    options,
    shapes::{N_SAMPLES, Stored, dataset, levels, pack, schema, stored},
};
use fdconvert_core::{DType, Encoded, Reader, Value};
use fdconvert_loader::{
    Area, Batch, Column, Crop, Datasets, Failures, Label, Loader, Mix, ObjectOptions, Objects,
    OnError, Options, Rect, RowGeometry, ThreadExchange, World,
};
use fdconvert_testkit::fixtures;
use png::{BitDepth, ColorType};
use std::{path::Path, sync::Arc, thread};

fn followed(crop: Crop, size: (u32, u32), flip: f64) -> Options {
    let base = options(5, 16);
    Options {
        output: fdconvert_loader::Output { size, ..base.output },
        crop,
        flip,
        fields: ["depth", "view", "label"].map(str::to_owned).to_vec(),
        masks: vec!["mask".into()],
        objects: Some(ObjectOptions::of("objects")),
        mask_fill: 255,
        ..base
    }
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

/// Values in rows, as torchvision changes masks.
#[derive(Clone)]
struct Plane {
    width: usize,
    height: usize,
    values: Vec<u16>,
}

impl Plane {
    fn map(
        &self,
        width: usize,
        height: usize,
        at: impl Fn(usize, usize) -> Option<(usize, usize)>,
        fill: u16,
    ) -> Self {
        let mut values = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let from = at(x, y).map(|(x, y)| self.values[y * self.width + x]);
                values.push(from.unwrap_or(fill));
            }
        }
        Self { width, height, values }
    }

    fn crop(&self, x: usize, y: usize, width: usize, height: usize) -> Self {
        self.map(width, height, |at_x, at_y| Some((at_x + x, at_y + y)), 0)
    }

    /// `interpolate(mode="nearest")`.
    fn resize(&self, width: usize, height: usize) -> Self {
        let near = |at: usize, from: usize, to: usize| {
            ((at as f32 * (from as f32 / to as f32)).floor() as usize).min(from - 1)
        };
        let at = |x, y| Some((near(x, self.width, width), near(y, self.height, height)));
        self.map(width, height, at, 0)
    }

    fn pad(&self, x: usize, y: usize, width: usize, height: usize, fill: u16) -> Self {
        let within =
            |at: usize, begin: usize, len: usize| at.checked_sub(begin).filter(|at| *at < len);
        let at = |at_x, at_y| Some((within(at_x, x, self.width)?, within(at_y, y, self.height)?));
        self.map(width, height, at, fill)
    }

    fn flip(&self) -> Self {
        self.map(self.width, self.height, |x, y| Some((self.width - 1 - x, y)), 0)
    }
}

/// The size that `Resize(side)` gives.
fn resized(side: u32, (width, height): (u32, u32)) -> (u32, u32) {
    let long = |long: u32, short: u32| side * long / short;
    if width <= height { (side, long(height, width)) } else { (long(width, height), side) }
}

/// Where a letterbox puts the image.
fn inner((width, height): (u32, u32), size: (u32, u32)) -> Area {
    let (inner_width, inner_height) = if width * size.1 >= height * size.0 {
        (size.0, (size.0 * height / width).max(1))
    } else {
        ((size.1 * width / height).max(1), size.1)
    };
    let (x, y) = ((size.0 - inner_width) / 2, (size.1 - inner_height) / 2);
    Area { x, y, width: inner_width, height: inner_height }
}

/// The steps that lead to a row, for a mask and for a point.
fn steps(crop: Crop, row: &RowGeometry, plane: &Plane) -> (Plane, impl Fn([f64; 2]) -> [f64; 2]) {
    let RowGeometry { source, size, crop: Rect { x, y, width, height }, .. } = *row;
    let (scale, offset, plane) = match crop {
        Crop::Center { resize } => {
            let (wide, high) = resized(resize, source);
            let half = |long: u32, short: u32| (f64::from(long - short) / 2.0).round_ties_even();
            let (left, top) = (half(wide, size.0), half(high, size.1));
            let whole = plane.resize(wide as usize, high as usize);
            let plane = whole.crop(left as usize, top as usize, size.0 as usize, size.1 as usize);
            let scale =
                [f64::from(wide) / f64::from(source.0), f64::from(high) / f64::from(source.1)];
            (scale, [-left, -top], plane)
        }
        Crop::Letterbox { .. } => {
            let area = inner(source, size);
            let whole = plane.resize(area.width as usize, area.height as usize);
            let plane =
                whole.pad(area.x as usize, area.y as usize, size.0 as usize, size.1 as usize, 255);
            let scale = [
                f64::from(area.width) / f64::from(source.0),
                f64::from(area.height) / f64::from(source.1),
            ];
            (scale, [f64::from(area.x), f64::from(area.y)], plane)
        }
        _ => {
            let part = plane.crop(x as usize, y as usize, width as usize, height as usize);
            let scale = [f64::from(size.0) / width, f64::from(size.1) / height];
            let plane = part.resize(size.0 as usize, size.1 as usize);
            (scale, [-x * scale[0], -y * scale[1]], plane)
        }
    };
    let plane = if row.flipped { plane.flip() } else { plane };
    (plane, move |[x, y]: [f64; 2]| [x * scale[0] + offset[0], y * scale[1] + offset[1]])
}

fn row_of(column: &Column, row: usize) -> Vec<u16> {
    let Column::Array { spec, bytes } = column else { panic!("{column:?}") };
    let n_bytes = bytes.len() / column.len();
    let bytes = &bytes[row * n_bytes..][..n_bytes];
    match spec.dtype {
        DType::U8 => bytes.iter().copied().map(u16::from).collect(),
        DType::U16 => bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
        other => panic!("{other:?}"),
    }
}

fn numbers(document: &serde_json::Value, name: &str) -> Vec<Vec<f64>> {
    fn flat(value: &serde_json::Value, into: &mut Vec<f64>) {
        match value {
            serde_json::Value::Array(values) => values.iter().for_each(|it| flat(it, into)),
            number => into.push(number.as_f64().unwrap()),
        }
    }
    let objects = document[name].as_array().unwrap().iter();
    objects
        .map(|object| {
            let mut all = Vec::new();
            flat(object, &mut all);
            all
        })
        .collect()
}

fn is_near(found: &[f32], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3)
}

/// Compares the objects of a row; returns how many there were.
fn check_objects(
    objects: &Objects,
    row: usize,
    stored: &Stored,
    geometry: &RowGeometry,
    to_row: impl Fn([f64; 2]) -> [f64; 2],
) -> usize {
    let document: serde_json::Value = serde_json::from_str(&stored.objects).unwrap();
    let scale = match document.get("size") {
        Some(_) => [0.5, 1.0 / 3.0],
        None => [1.0, 1.0],
    };
    let (width, height) = (f64::from(geometry.size.0), f64::from(geometry.size.1));
    let to_row = |point: &[f64]| to_row([point[0] * scale[0], point[1] * scale[1]]);
    let mirrored = |x: f64, by: f64| if geometry.flipped { width - by - x } else { x };
    let mut at = objects.offsets[row] as usize;
    let boxes = numbers(&document, "bbox");
    let (points, polygons) = (numbers(&document, "keypoints"), numbers(&document, "segmentation"));
    for (object, it) in boxes.iter().enumerate() {
        let [left, top] = to_row(&it[..2]);
        let [right, bottom] = to_row(&[it[0] + it[2], it[1] + it[3]]);
        let (left, right) = match geometry.flipped {
            true => (mirrored(right, 0.0), mirrored(left, 0.0)),
            false => (left, right),
        };
        let clipped = [
            left.clamp(0.0, width),
            top.clamp(0.0, height),
            right.clamp(0.0, width),
            bottom.clamp(0.0, height),
        ];
        let smallest = (clipped[2] - clipped[0]).min(clipped[3] - clipped[1]);
        // On the border rounding decides, which is not what this is about.
        let is_border = (smallest - 1.0).abs() < 1e-5;
        let is_next = || objects.boxes.get(at).is_some_and(|found| is_near(found, &clipped));
        if smallest < 1.0 - 1e-5 || is_border && !is_next() {
            continue;
        }
        assert!(is_near(&objects.boxes[at], &clipped), "{:?} {clipped:?}", objects.boxes[at]);
        assert_eq!(objects.category[at], object as i64);
        let areas = objects.area.as_ref().unwrap();
        assert!(is_near(&areas[at..=at], &[it[2] * it[3]]));
        let keypoints = objects.keypoints.as_ref().unwrap();
        assert_eq!(keypoints.per_object, 2);
        for (found, expected) in
            keypoints.points[at * 2..][..2].iter().zip(points[object].chunks(3))
        {
            let [x, y] = to_row(&expected[..2]);
            let x = mirrored(x, 1.0);
            let inside = x >= 0.0 && x < width && y >= 0.0 && y < height;
            let visibility = if inside { expected[2] } else { 0.0 };
            assert!(is_near(found, &[x, y, visibility]), "{found:?} {x} {y} {visibility}");
        }
        let all = objects.polygons.as_ref().unwrap();
        let polygon = all.objects.iter().position(|of| *of == at as i64).unwrap();
        let begin = all.offsets[polygon] as usize;
        let end = all.offsets[polygon + 1] as usize;
        assert_eq!(end - begin, 3);
        for (found, expected) in all.points[begin..end].iter().zip(polygons[object].chunks(2)) {
            let [x, y] = to_row(expected);
            assert!(is_near(found, &[mirrored(x, 0.0), y]));
        }
        at += 1;
    }
    assert_eq!(at as i64, objects.offsets[row + 1]);
    boxes.len()
}

/// Compares all that follows in a batch; returns how many rows were flipped, and how many objects
/// there were.
fn check(batch: &Batch, crop: Crop, stored: &[Stored]) -> (usize, usize) {
    let geometry = batch.geometry().unwrap();
    assert_eq!(geometry.len(), batch.len());
    let Some(Column::Objects(objects)) = batch.field("objects") else { panic!() };
    let (mut n_flipped, mut n_objects) = (0, 0);
    for (row, (sample, geometry)) in batch.samples().iter().zip(geometry).enumerate() {
        let stored = &stored[*sample as usize];
        assert_eq!(geometry.source, stored.size);
        for (name, values) in [("mask", &stored.mask), ("depth", &stored.depth)] {
            let (width, height) = (stored.size.0 as usize, stored.size.1 as usize);
            let plane = Plane { width, height, values: values.clone() };
            let (expected, to_row) = steps(crop, geometry, &plane);
            assert_eq!(row_of(batch.field(name).unwrap(), row), expected.values, "{name} {crop:?}");
            if name == "mask" {
                n_objects += check_objects(objects, row, stored, geometry, to_row);
            }
        }
        n_flipped += usize::from(geometry.flipped);
    }
    (n_flipped, n_objects)
}

#[test]
fn masks_and_objects_are_moved_by_the_steps_of_torchvision() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("a.wds"));
    for crop in CROPS {
        for size in [(16, 16), (23, 14), (9, 21)] {
            let seen = [1, 4].map(|threads| {
                let options = Options { threads, ..followed(crop, size, 0.5) };
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

/// The further image is the first one of a dataset of its own: what the loader makes of that is
/// what it makes of it here.
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
    // Nothing is resized: the pixels are those that are stored.
    let size = stored[7].size;
    let options = Options { flip: 0.0, ..followed(Crop::None, size, 0.0) };
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
    let squeezed = |size| Options { geometry: true, ..options(1, 1) }.into_squeezed(size);
    let options = followed(Crop::Letterbox { fill: FILL }, (30, 22), 0.5);
    for batch in open(&reader, options).map(Result::unwrap) {
        for (row, geometry) in batch.geometry().unwrap().iter().enumerate() {
            let RowGeometry { area, flipped, .. } = *geometry;
            let pixels = &batch.images()[row * 30 * 22 * 3..][..30 * 22 * 3];
            // The image alone, as it is squeezed to the size that it has in the box.
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
        Self { output, crop: Crop::None, flip: 0.0, ..self }
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
    // What is kept is part of the order, and where it is kept is not.
    let cached = [false, true].map(|in_folder| {
        let cached = Options {
            cache_bytes: 1 << 24,
            cache_folder: in_folder.then(|| folder.path().join("cache")),
            ..base.clone()
        };
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
        let options = Options {
            world: World { rank, size: 2 },
            cache_bytes: 1 << 24,
            locality: true,
            exchange: Some(Arc::new(exchange)),
            ..base.clone()
        };
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

/// A dataset whose fourth sample has another value in one field.
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
        (1, Value::Image(levels((30, 31), gray, BitDepth::Eight, &[7; 930])), "it is 30x31 beside"),
        (3, Value::Image(fixtures::png(30, 31, 5)), "store both at the same size"),
        (1, Value::Image(fixtures::png(size.0, size.1, 5)), "3 channels are not single values"),
        (1, Value::Image(levels(size, gray, BitDepth::Sixteen, &vec![7; n_pixels])), "16 bits"),
        (3, Value::Image(levels(size, gray, BitDepth::Sixteen, &vec![7; n_pixels])), "16 bits"),
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
        let failures = Failures { policy: OnError::Skip, ..Failures::default() };
        let mut n_skipped = 0;
        for batch in open(&reader, Options { failures, ..options }).map(Result::unwrap) {
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
        let options = Options {
            fields: Vec::new(),
            masks: Vec::new(),
            objects: Some(objects),
            ..followed(Crop::None, (40, 30), 1.0)
        };
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
        let mut options = Options { label: Label::None, ..options(4, 8) };
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
            "label: `objects` tells of objects",
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
    let base = Options { crop: CROPS[1], flip: 0.5, ..options(8, 16) };
    let without = open(&reader, base.clone());
    assert!(without.map(Result::unwrap).all(|batch| batch.geometry().is_none()));
    for batch in open(&reader, Options { geometry: true, ..base }).map(Result::unwrap) {
        for (sample, row) in batch.samples().iter().zip(batch.geometry().unwrap()) {
            assert_eq!((row.source, row.size), (stored[*sample as usize].size, (16, 16)));
            assert_eq!(row.area, Area { x: 0, y: 0, width: 16, height: 16 });
            assert!(row.crop.x + row.crop.width <= f64::from(row.source.0));
        }
    }
}
