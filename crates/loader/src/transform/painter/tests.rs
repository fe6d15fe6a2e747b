use super::{
    super::list::{Change, DrawKey, Transform, TransformList, Transformer, fuse},
    *,
};
use proptest::prelude::*;

fn image((width, height): (u32, u32), seed: u64) -> Vec<u8> {
    let mut random = KeyedRandom::new(&[seed]);
    // Smooth enough for a resize to be judged, with some noise.
    let (fx, fy) = (random.between(0.01, 0.3), random.between(0.01, 0.3));
    let mut levels = Vec::with_capacity(n_bytes((width, height)));
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let phase = f64::from(x) * fx + f64::from(y) * fy + f64::from(channel);
                levels.push((127.0 + 100.0 * phase.sin() + random.between(-20.0, 20.0)) as u8);
            }
        }
    }
    levels
}

fn paint(
    pixels: &[u8],
    (width, height): (u32, u32),
    changes: Vec<Change>,
) -> (Vec<u8>, (u32, u32)) {
    let area = Area { x: 0, y: 0, width, height };
    let region = Region { pixels, area, channels: 3, denominator: 1 };
    let stages = fuse(changes, (width, height));
    let mut painter = Painter::default();
    let (made, size) = painter.paint(&region, &stages).unwrap();
    (made.to_vec(), size)
}

/// The slow way: every change makes an image.
fn one_by_one(pixels: &[u8], size: (u32, u32), changes: &[Change]) -> (Vec<u8>, (u32, u32)) {
    let mut image = (pixels.to_vec(), size);
    for change in changes {
        let expected = change.size(image.1);
        image = paint(&image.0, image.1, vec![change.clone()]);
        assert_eq!(image.1, expected, "{change:?}");
    }
    image
}

fn any_transform() -> impl Strategy<Value = Transform> {
    let side = 1..40_u32;
    prop_oneof![
        (side.clone(), side.clone()).prop_map(|(h, w)| serde(&format!(r#"{{"Resize":{{"size":[{h},{w}]}}}}"#))),
        side.clone().prop_map(|s| serde(&format!(r#"{{"Resize":{{"size":{s}}}}}"#))),
        (side.clone(), side.clone()).prop_map(|(h, w)| serde(&format!(r#"{{"CenterCrop":{{"size":[{h},{w}]}}}}"#))),
        (side.clone(), side.clone()).prop_map(|(h, w)| {
            serde(&format!(r#"{{"RandomCrop":{{"size":[{h},{w}],"pad_if_needed":true,"padding_mode":"edge"}}}}"#))
        }),
        (side.clone(), side).prop_map(|(h, w)| serde(&format!(r#"{{"RandomResizedCrop":{{"size":[{h},{w}]}}}}"#))),
        Just(serde(r#"{"RandomHorizontalFlip":{}}"#)),
        Just(serde(r#"{"RandomVerticalFlip":{}}"#)),
        Just(serde(r#"{"RandomInvert":{}}"#)),
        Just(serde(r#"{"ColorJitter":{"brightness":[0.5,1.5],"contrast":[0.5,1.5],"hue":[-0.1,0.1]}}"#)),
        Just(serde(r#"{"RandomEqualize":{}}"#)),
        Just(serde(r#"{"RandomAutocontrast":{}}"#)),
        Just(serde(r#"{"Pad":{"padding":[1,2,3,4],"fill":[9,8,7]}}"#)),
        Just(serde(r#"{"RandAugment":{}}"#)),
        Just(serde(r#"{"AugMix":{}}"#)),
        Just(serde(r#"{"RandomErasing":{}}"#)),
    ]
}

fn serde(json: &str) -> Transform {
    serde_json::from_str(json).unwrap()
}

proptest! {
    /// Compiling changes nothing, but that a cut of a resized image is resized with coarser weights.
    #[test]
    fn fused_lists_give_the_same(
        list in proptest::collection::vec(any_transform(), 0..6),
        width in 1..60_u32,
        height in 1..60_u32,
        seed in any::<u64>(),
    ) {
        let key = DrawKey { seed, epoch: 1, sample: 2, occurrence: 0, view: 0 };
        let list = TransformList::new(list).unwrap();
        let changes = list.draw((width, height), key).unwrap();
        let pixels = image((width, height), seed);
        let expected = one_by_one(&pixels, (width, height), &changes);
        let found = paint(&pixels, (width, height), changes.clone());
        prop_assert_eq!(found.1, expected.1);
        let is_exact = changes.iter().filter(|it| matches!(it, Change::Resize { .. })).count() == 0;
        let apart = found.0.iter().zip(&expected.0).map(|(a, b)| a.abs_diff(*b)).max();
        if is_exact {
            prop_assert!(apart.unwrap_or(0) == 0, "{:?}", changes);
        } else if changes.iter().all(|it| it.is_cut_resize_or_flip() || matches!(it, Change::Invert)) {
            prop_assert!(apart.unwrap_or(0) <= 1, "{apart:?} {:?}", changes);
        }
    }
}

/// Photos of a line of pixels exist; they must not take the memory of a machine.
#[test]
fn images_that_become_huge_on_the_way_are_refused() {
    let key = DrawKey { seed: 1, epoch: 1, sample: 2, occurrence: 0, view: 0 };
    let (size, line) = ((1, 60_000), vec![9; 180_000]);
    let refused = |list: &str| {
        let list = TransformList::new(serde_json::from_str(list).unwrap()).unwrap();
        let made = Transformer::default().apply(&list, &line, size, key);
        let error = made.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("pixels on the way"), "{error}");
    };
    refused(
        r#"[{"Resize":{"size":256}},{"ColorJitter":{"hue":[0.1,0.2]}},{"RandomCrop":{"size":[9,9]}}]"#,
    );
    refused(r#"[{"Resize":{"size":16384}},{"CenterCrop":{"size":[9,9]}}]"#);
    refused(r#"[{"Resize":{"size":16384,"interpolation":"nearest"}}]"#);
    let pad = r#"{"Pad":{"padding":[16384,16384,16384,16384]}}"#;
    refused(&format!("[{pad},{pad}]"));
    // What is cut out at once never exists as a whole.
    let list = r#"[{"Resize":{"size":256}},{"CenterCrop":{"size":[9,9]}}]"#;
    let list = TransformList::new(serde_json::from_str(list).unwrap()).unwrap();
    assert!(Transformer::default().apply(&list, &line, size, key).is_ok());
}

#[test]
fn wide_images_are_cut_in_their_middle() {
    let key = DrawKey { seed: 1, epoch: 1, sample: 2, occurrence: 0, view: 0 };
    let mut line = vec![0; 180_000];
    line[90_000..].fill(255);
    let list = r#"[{"Resize":{"size":40}},{"GaussianBlur":{"kernel_size":[1,1]}},{"CenterCrop":{"size":[40,224]}}]"#;
    let list = TransformList::new(serde_json::from_str(list).unwrap()).unwrap();
    let (row, _) = Transformer::default().apply(&list, &line, (60_000, 1), key).unwrap();
    assert_eq!((row.first(), row.last()), (Some(&0), Some(&255)));
}

#[test]
fn nested_lists_draw_different_numbers() {
    let one = r#"{"ColorJitter":{"brightness":[0.1,1.9]}}"#;
    let nested = (0..5).fold(one.to_owned(), |inner, _| {
        format!(r#"{{"RandomApply":{{"transforms":[{inner}],"p":1.0}}}}"#)
    });
    let list = format!("[{nested},{nested}]");
    let list = TransformList::new(serde_json::from_str(&list).unwrap()).unwrap();
    for sample in 0..50 {
        let key = DrawKey { seed: 1, epoch: 1, sample, occurrence: 0, view: 0 };
        let changes = list.draw((5, 5), key).unwrap();
        assert_ne!(changes.first(), changes.last());
    }
}
