//! Masks of objects as run lengths are shown like the same masks stored as images.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    list, options,
    shapes::{levels, moving, pack},
};
use fdconvert_core::{Encoded, Reader, Value};
use fdconvert_loader::{
    Batch, Column, Datasets, Loader, MaskOptions, ObjectOptions, Objects, Options, RunLengthMasks,
    Transform, ViewGroup,
};
use fdconvert_testkit::fixtures::{self, Random};
use png::{BitDepth, ColorType};
use std::{path::Path, sync::Arc};

type Size = (usize, usize);

/// Encodes the runs of a mask with its pixels row by row.
fn encoded((width, height): Size, is_inside: impl Fn(usize) -> bool) -> Vec<u32> {
    let (mut counts, mut last, mut length) = (Vec::new(), false, 0);
    for at in (0..width).flat_map(|x| (0..height).map(move |y| y * width + x)) {
        if is_inside(at) != last {
            counts.push(length);
            (last, length) = (!last, 0);
        }
        length += 1;
    }
    counts.push(length);
    counts
}

/// Encodes runs as COCO's text.
fn compressed(counts: &[u32]) -> String {
    let mut text = String::new();
    for (at, count) in counts.iter().enumerate() {
        let before = if at > 2 { counts[at - 2] } else { 0 };
        let mut left = i64::from(*count) - i64::from(before);
        loop {
            let bits = (left & 31) as u8;
            left >>= 5;
            let is_last = if bits & 16 == 0 { left == 0 } else { left == -1 };
            text.push(char::from(48 + bits + if is_last { 0 } else { 32 }));
            if is_last {
                break;
            }
        }
    }
    text
}

/// Resizes a mask like torchvision's `resize`.
fn resized(values: &[u16], from: Size, to: Size) -> Vec<u16> {
    let near = |at: usize, from: usize, to: usize| {
        ((at as f32 * (from as f32 / to as f32)).floor() as usize).min(from - 1)
    };
    let places = (0..to.1).flat_map(|y| (0..to.0).map(move |x| (x, y)));
    let value = |(x, y)| values[near(y, from.1, to.1) * from.0 + near(x, from.0, to.0)];
    places.map(value).collect()
}

/// Objects with one bit of the mask each, as a list of run lengths and as text; between them one of
/// polygons, and one that is too small to be shown. Every third document is for a larger image.
fn values(number: u64) -> Vec<Value<Encoded>> {
    let mut random = Random::new(number + 1);
    let size = (9 + random.below(60) as usize, 9 + random.below(60) as usize);
    let told = if number.is_multiple_of(3) { (size.0 * 2, size.1 * 3) } else { size };
    // Large pieces, and single pixels.
    let mut mask = vec![0_u16; told.0 * told.1];
    for bit in [1, 2] {
        let mut edge = |side: usize| random.below(side as u64 + 1) as usize;
        let (a, b, c, d) = (edge(told.0), edge(told.0), edge(told.1), edge(told.1));
        for y in c.min(d)..c.max(d) {
            (a.min(b)..a.max(b)).for_each(|x| mask[y * told.0 + x] ^= bit);
        }
        let n_single = number as usize % 5 * 40;
        (0..n_single).for_each(|_| mask[random.below((told.0 * told.1) as u64) as usize] ^= bit);
    }
    let runs = [1, 2].map(|bit| encoded(told, |at| mask[at] & bit != 0));
    let rle = |counts: &str| format!("{{\"size\":[{},{}],\"counts\":{counts}}}", told.1, told.0);
    let [list, text] = [rle(&format!("{:?}", runs[0])), {
        rle(&serde_json::to_string(&compressed(&runs[1])).unwrap())
    }];
    let whole = format!("[0,0,{},{}]", told.0, told.1);
    let scaled = match told == size {
        true => String::new(),
        false => format!("\"size\":[{},{}],", told.0, told.1),
    };
    let objects = format!(
        "{{{scaled}\"bbox\":[{whole},[1,1,0,0],{whole},{whole}],\"id\":[0,1,2,3],\
         \"segmentation\":[{list},{list},[[1,2,3,2,3,4]],{text}]}}"
    );
    let stored = resized(&mask, told, size);
    let size = (size.0 as u32, size.1 as u32);
    vec![
        Value::Image(fixtures::png(size.0, size.1, number)),
        Value::Image(levels(size, ColorType::Grayscale, BitDepth::Two, &stored)),
        Value::Image(levels(size, ColorType::Grayscale, BitDepth::Two, &stored)),
        Value::Image(fixtures::png(size.0, size.1, number)),
        Value::Json(objects.into()),
        Value::Int(number as i64),
    ]
}

fn followed(transforms: impl Into<Vec<Transform>>) -> Options {
    options(5, 16)
        .transform(list(transforms))
        .masks(vec![MaskOptions::of("mask")])
        .objects(Some(ObjectOptions::of("objects")))
}

fn open(reader: &Arc<dyn Reader>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

fn objects(batch: &Batch, view: usize) -> &Objects {
    match batch.view_field(view, "objects") {
        Some(Column::Objects(objects)) => objects,
        other => panic!("{other:?}"),
    }
}

/// Compares the run lengths of one view of a batch with its masks, which are images.
fn check(batch: &Batch, view: usize, (width, height): Size) {
    let objects = objects(batch, view);
    let masks = objects.run_lengths.as_ref().unwrap();
    assert_eq!(masks.size, [height as u32, width as u32]);
    let Some(Column::Array { bytes, .. }) = batch.view_field(view, "mask") else { panic!() };
    let (mut found, n_pixels) =
        (masks.objects.iter().zip(masks.offsets.windows(2)), width * height);
    let mut thirds = Vec::new();
    let begins = objects.offsets.windows(2).zip(bytes.chunks(n_pixels));
    for (begin, mask) in begins {
        // The second one is left out, and the third one has polygons; or all, where the row shows
        // nothing of the image.
        let ids = &objects.id.as_ref().unwrap()[begin[0] as usize..begin[1] as usize];
        if ids.is_empty() {
            assert!(mask.iter().all(|it| *it == 0));
            continue;
        }
        assert_eq!(ids, [0, 2, 3]);
        thirds.push(begin[0] + 1);
        for (place, bit) in [(0, 1), (2, 2)] {
            let (object, run) = found.next().unwrap();
            assert_eq!(*object, begin[0] + place);
            let counts = &masks.counts[run[0] as usize..run[1] as usize];
            assert_eq!(counts, encoded((width, height), |at| mask[at] & bit != 0));
        }
    }
    assert!(found.next().is_none());
    let polygons = objects.polygons.as_ref().unwrap();
    assert_eq!(polygons.objects, thirds);
}

#[test]
fn run_lengths_are_moved_as_masks_are() {
    let folder = tempfile::tempdir().unwrap();
    let reader = pack(&folder.path().join("a.wds"), (0..60).map(values));
    for [height, width] in [[16, 16], [14, 23], [71, 9]] {
        for transforms in moving([height, width]) {
            let groups = vec![ViewGroup::new("", 2, list(transforms))];
            let options = followed([Transform::center_crop(1)]).views(groups);
            let seen = [1, 4].map(|threads| {
                let loader = open(&reader, options.clone().threads(threads));
                let batches = loader.map(|batch| {
                    let batch = batch.unwrap();
                    [0, 1].map(|view| {
                        check(&batch, view, (width as usize, height as usize));
                        objects(&batch, view).clone()
                    })
                });
                batches.collect::<Vec<_>>()
            });
            assert_eq!(seen[0].len(), 12);
            assert!(seen[0] == seen[1], "{:?}", options.views);
        }
    }
}

fn one(folder: &Path, name: &str, document: &str) -> Result<Objects, String> {
    let mut values = values(1);
    values[0] = Value::Image(fixtures::png(4, 3, 1));
    values[4] = Value::Json(document.to_owned().into());
    let reader = pack(&folder.join(name), [values]);
    let flip = Transform::RandomHorizontalFlip { p: 1.0 };
    let options = followed([Transform::squeeze([3, 4]), flip]).masks(Vec::new());
    let batch = open(&reader, options).next().unwrap();
    batch.map(|batch| objects(&batch, 0).clone()).map_err(|error| error.to_string())
}

#[test]
fn what_lies_is_a_broken_sample_and_boxes_keep_their_rule() {
    let folder = tempfile::tempdir().unwrap();
    let document = |masks: &str| format!("{{\"bbox\":[[0,0,2,2]],\"segmentation\":[{masks}]}}");
    let found = one(folder.path(), "a.wds", &document("{\"size\":[3,4],\"counts\":[1,2,9]}"));
    let found = found.unwrap();
    assert_eq!(found.boxes, [[2.0, 0.0, 4.0, 2.0]]);
    let masks =
        RunLengthMasks { size: [3, 4], counts: vec![10, 2], offsets: vec![0, 2], objects: vec![0] };
    assert_eq!(
        (found.run_lengths, found.polygons.map(|it| it.points.len())),
        (Some(masks), Some(0))
    );
    let none = one(folder.path(), "b.wds", &document("[]")).unwrap();
    assert_eq!(none.run_lengths, None);
    for (name, mask, part) in [
        (
            "c.wds",
            "{\"size\":[4,3],\"counts\":[12]}",
            "run lengths of 3x4 pixels next to an image of 4x3",
        ),
        ("d.wds", "{\"size\":[3,4],\"counts\":[11]}", "do not add up to 4x3"),
        ("e.wds", "{\"size\":[30000000,1000000000],\"counts\":[11]}", "beyond 2^32 - 1 pixels"),
        ("f.wds", "{\"size\":[3,4],\"counts\":[13,-1]}", "cannot be read"),
        ("g.wds", "{\"size\":[3,4],\"counts\":\"x y\"}", "in their text"),
    ] {
        let said = one(folder.path(), name, &document(mask)).unwrap_err();
        let named = ["sample `000`", "`objects`", part];
        assert!(named.iter().all(|part| said.contains(part)), "{said}");
    }
    // A few bytes that would be four billion pixels, and a row of a mask that is one pixel wide.
    let large = "{\"size\":[1000000000,4],\"bbox\":[[0,0,9,9]],\
                 \"segmentation\":[{\"size\":[4,1000000000],\"counts\":[3999999998,2]}]}";
    let found = one(folder.path(), "h.wds", large);
    assert_eq!(found.unwrap().offsets, [0, 0]);
    let large = large.replace("[0,0,9,9]", "[0,0,1e9,3]");
    let found = one(folder.path(), "i.wds", &large).unwrap().run_lengths.unwrap();
    assert_eq!(found.counts, [12]);
}
