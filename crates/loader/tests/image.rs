//! Photographs on their way into a batch, through the public API.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{list, transform};
use fdconvert_codec::Decoder;
use fdconvert_core::{Codec, Encoded, Limits};
use fdconvert_loader::{
    DType, Layout, Transform, TransformList,
    parts::{Change, DrawKey, Transformer, Warp},
};
use fdconvert_testkit::fixtures;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

const KEY: DrawKey = DrawKey { seed: 7, epoch: 2, sample: 99, occurrence: 0, view: 0 };

/// Returns a photograph of 768x512 pixels.
fn photograph(number: u32) -> Vec<u8> {
    let path = fixtures::kodak().join(format!("PhotoCD_PCD0992_{number:02}.png"));
    let bytes = std::fs::read(path).unwrap().into();
    let encoded = Encoded::new(Codec::Png, 768, 512, bytes);
    let pixels = Decoder::new().decode("photograph", &encoded, &Limits::DEFAULT).unwrap().pixels;
    assert_eq!((pixels.width, pixels.height, pixels.channels), (768, 512, 3));
    pixels.data
}

const SOURCE: (u32, u32) = (768, 512);

fn applied(transforms: impl Into<Vec<Transform>>, pixels: &[u8]) -> Vec<u8> {
    Transformer::default().apply(&list(transforms), pixels, SOURCE, KEY).unwrap().0
}

#[test]
fn changes_that_change_nothing_leave_every_byte() {
    let pixels = photograph(1);
    for json in [
        r#"{"RandomAffine": {"degrees": [0, 0], "shear": [0, 0, 0, 0], "scale": [1, 1]}}"#,
        r#"{"RandomAffine": {"degrees": [0, 0], "interpolation": "bilinear"}}"#,
        r#"{"RandomRotation": {"degrees": [0, 0], "expand": true}}"#,
        r#"{"RandomRotation": {"degrees": [360, 360]}}"#,
        r#"{"RandomPerspective": {"distortion_scale": 0, "p": 1}}"#,
        r#"{"ColorJitter": {"brightness": [1, 1], "saturation": [1, 1], "contrast": [1, 1]}}"#,
        r#"{"RandomAdjustSharpness": {"sharpness_factor": 1, "p": 1}}"#,
        r#"{"RandomPosterize": {"bits": 8, "p": 1}}"#,
        r#"{"RandomSolarize": {"threshold": 256, "p": 1}}"#,
        r#"{"RandAugment": {"num_ops": 0}}"#,
        r#"{"Pad": {"padding": [0, 0, 0, 0]}}"#,
        r#"{"CenterCrop": {"size": [512, 768]}}"#,
        r#"{"RandomErasing": {"p": 0}}"#,
    ] {
        assert!(applied([transform(json)], &pixels) == pixels, "{json}");
    }
    for transform in [
        Transform::RandomInvert { p: 1.0 },
        Transform::RandomHorizontalFlip { p: 1.0 },
        Transform::RandomVerticalFlip { p: 1.0 },
    ] {
        assert!(applied([transform.clone()], &pixels) != pixels);
        assert!(applied([transform.clone(), transform], &pixels) == pixels);
    }
}

#[test]
fn transforms_bear_any_size_and_strength() {
    let transformer = &mut Transformer::default();
    let all = [
        r#"{"RandomAffine": {"degrees": [-1e6, 1e6], "translate": [1, 1], "scale": [1e-9, 1e6],
            "shear": [-89, 89, -89, 89]}}"#,
        r#"{"RandomAffine": {"degrees": [0, 0], "scale": [1e6, 1e6], "center": [-1e300, 1e300],
            "interpolation": "bilinear"}}"#,
        r#"{"RandomRotation": {"degrees": [-1e6, 1e6], "expand": true}}"#,
        r#"{"RandomPerspective": {"distortion_scale": 1, "p": 1}}"#,
        r#"{"ColorJitter": {"brightness": [1e300, 1e300], "contrast": [1e300, 1e300],
            "saturation": [1e300, 1e300], "hue": [-0.5, 0.5]}}"#,
        r#"{"ColorJitter": {"brightness": [0, 0], "contrast": [0, 0], "saturation": [0, 0]}}"#,
        r#"{"RandomAdjustSharpness": {"sharpness_factor": 1e300, "p": 1}}"#,
        r#"{"GaussianBlur": {"kernel_size": [23, 101], "sigma": [1e-300, 1e300]}}"#,
        r#"{"RandomPosterize": {"bits": 0, "p": 1}}"#,
        r#"{"RandomSolarize": {"threshold": 0, "p": 1}}"#,
        r#"{"RandomAutocontrast": {"p": 1}}"#,
        r#"{"RandomEqualize": {"p": 1}}"#,
        r#"{"RandomErasing": {"p": 1, "scale": [0, 1], "ratio": [1e-300, 1e300]}}"#,
        r#"{"RandAugment": {"num_ops": 100, "magnitude": 30}}"#,
        r#"{"TrivialAugmentWide": {}}"#,
        r#"{"AutoAugment": {"policy": "svhn"}}"#,
        r#"{"AugMix": {"severity": 10, "mixture_width": 9, "chain_depth": 9}}"#,
        r#"{"ScaleJitter": {"target_size": [9, 9], "scale_range": [1e-9, 9]}}"#,
        r#"{"Pad": {"padding": [90, 0, 31, 77], "padding_mode": "reflect"}}"#,
        r#"{"RandomCrop": {"size": [50, 9], "pad_if_needed": true, "padding_mode": "symmetric"}}"#,
    ];
    for size in [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (40, 3)] {
        let image: Vec<u8> = (0..size.0 * size.1 * 3).map(|i| (i * 37) as u8).collect();
        for (json, sample) in all.iter().flat_map(|json| (0..20).map(move |sample| (json, sample)))
        {
            let list = list([transform(json)]);
            let key = DrawKey { sample, ..KEY };
            let changes = list.draw(size, key).unwrap();
            let expected = changes.iter().fold(size, |size, change| change.size(size));
            let (row, output) = transformer.apply(&list, &image, size, key).unwrap();
            assert_eq!(output.size, expected, "{json}");
            assert_eq!(row.len() as u32, expected.0 * expected.1 * 3, "{json}");
        }
    }
    let nothing = transformer.apply(&list([]), &[], (0, 0), KEY);
    assert!(nothing.unwrap_err().to_string().contains("are not an image of 0x0"));
}

#[test]
fn a_sample_is_the_same_in_any_order_on_any_thread() {
    let pixels = [photograph(1), photograph(3)];
    for policy in ["AutoAugment", "RandAugment", "TrivialAugmentWide", "AugMix"] {
        let list = &list([
            Transform::RandomResizedCrop {
                size: [48, 64],
                scale: [0.08, 1.0],
                ratio: [3.0 / 4.0, 4.0 / 3.0],
            },
            Transform::random_horizontal_flip(),
            transform(&format!("{{\"{policy}\": {{}}}}")),
            Transform::normalize_imagenet(),
            Transform::to_dtype(DType::F16),
            Transform::ToLayout { layout: Layout::Nchw },
        ]);
        let pixels = &pixels;
        let make = |transformer: &mut Transformer, sample: u64, epoch: u64, view: u64| {
            let key = DrawKey { seed: 1, epoch, sample, occurrence: 0, view };
            let (row, output) =
                transformer.apply(list, &pixels[sample as usize % 2], SOURCE, key).unwrap();
            assert_eq!((output.size, row.len()), ((64, 48), 64 * 48 * 3 * 2));
            xxh3_64(&row)
        };
        let forwards = &mut Transformer::default();
        let first: Vec<_> = (0..24).map(|sample| make(forwards, sample, 0, 0)).collect();
        let mut last: Vec<_> = std::thread::scope(|scope| {
            let backwards = scope.spawn(move || {
                let transformer = &mut Transformer::default();
                (0..24).rev().map(|sample| make(transformer, sample, 0, 0)).collect()
            });
            backwards.join().unwrap()
        });
        last.reverse();
        assert_eq!(first, last);
        for (epoch, view) in [(1, 0), (0, 1)] {
            let n_alike =
                (0..24).filter(|&i| make(forwards, i, epoch, view) == first[i as usize]).count();
            assert_eq!(n_alike, 0, "another epoch or view, other pixels");
        }
    }
}

/// Returns torchvision's name of a change of a policy, and whether its strength is negative.
fn named(change: &Change) -> (&'static str, bool) {
    match *change {
        Change::Warp { warp: Warp::Affine { shear: [x, y], translate, .. }, .. } => {
            match [x, y, translate[0], translate[1]].map(|it| it.partial_cmp(&0.0)) {
                [Some(x), ..] if x.is_ne() => ("ShearX", x.is_lt()),
                [_, Some(y), ..] if y.is_ne() => ("ShearY", y.is_lt()),
                [_, _, Some(x), _] if x.is_ne() => ("TranslateX", x.is_lt()),
                [_, _, _, Some(y)] if y.is_ne() => ("TranslateY", y.is_lt()),
                _ => ("Affine by nothing", false),
            }
        }
        Change::Warp { warp: Warp::Rotate { angle, .. }, .. } => ("Rotate", angle < 0.0),
        Change::AdjustBrightness(factor) => ("Brightness", factor < 1.0),
        Change::AdjustSaturation(factor) => ("Color", factor < 1.0),
        Change::AdjustContrast(factor) => ("Contrast", factor < 1.0),
        Change::AdjustSharpness(factor) => ("Sharpness", factor < 1.0),
        Change::Posterize(_) => ("Posterize", false),
        Change::Solarize(_) => ("Solarize", false),
        Change::Autocontrast => ("AutoContrast", false),
        Change::Equalize => ("Equalize", false),
        Change::Invert => ("Invert", false),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn policies_draw_what_they_should() {
    let count = |json: &str| {
        let list = list([transform(json)]);
        let (mut n_made, mut n_negative) = (BTreeMap::new(), 0);
        for sample in 0..14_000 {
            for change in list.draw((224, 224), DrawKey { sample, ..KEY }).unwrap() {
                let (name, is_negative) = named(&change);
                *n_made.entry(name).or_insert(0_u32) += 1;
                n_negative += u32::from(is_negative);
            }
        }
        (n_made, n_negative)
    };
    // Nothing is made of the fourteenth one, the identity; nor seen of strengths of 0.
    let (mut n_made, n_negative) = count(r#"{"TrivialAugmentWide": {}}"#);
    assert!(n_made.remove("Affine by nothing").unwrap().abs_diff(4000 / 31) < 60, "{n_made:?}");
    assert_eq!(n_made.len(), 13);
    assert!(n_made.values().all(|n| n.abs_diff(1000) < 160), "{n_made:?}");
    // Nine of fourteen have a sign, and one strength in 31 is 0.
    assert!(n_negative.abs_diff(4355) < 280, "{n_negative}");

    let (n_made, n_negative) = count(r#"{"RandAugment": {"num_ops": 3}}"#);
    assert!(n_made.len() == 13 && n_made.values().all(|n| n.abs_diff(3000) < 270), "{n_made:?}");
    assert!(n_negative.abs_diff(13_500) < 480, "{n_negative}");

    // Sums of the probabilities in the paper's table, of 25 pairs.
    let (n_made, _) = count(r#"{"AutoAugment": {}}"#);
    let expected = |sum: f64| (sum / 25.0 * 14_000.0) as u32;
    assert!(n_made["Equalize"].abs_diff(expected(EQUALIZE)) < 500, "{n_made:?}");
    assert!(n_made["Invert"].abs_diff(expected(1.8)) < 200, "{n_made:?}");
    assert!(!n_made.contains_key("Brightness"));
    for policy in ["cifar10", "svhn"] {
        assert!(count(&format!(r#"{{"AutoAugment": {{"policy": "{policy}"}}}}"#)).0.len() > 8);
    }
}

const EQUALIZE: f64 = 11.2;

#[test]
fn senseless_policies_are_refused() {
    let refused = |json: &str| TransformList::new(vec![transform(json)]).is_err();
    assert!(refused(r#"{"RandAugment": {"magnitude": 31}}"#));
    assert!(refused(r#"{"TrivialAugmentWide": {"num_magnitude_bins": 1}}"#));
    assert!(!refused(r#"{"RandAugment": {"magnitude": 30}}"#));
    assert!(!refused(r#"{"AutoAugment": {"policy": "svhn"}}"#));
}

#[test]
fn whole_rows_never_change() {
    let pixels = photograph(7);
    let evaluation = TransformList::default();
    let training = list([
        Transform::random_resized_crop(224),
        Transform::random_horizontal_flip(),
        transform(r#"{"RandAugment": {}}"#),
    ]);
    let found = [evaluation, training]
        .map(|list| xxh3_64(&Transformer::default().apply(&list, &pixels, SOURCE, KEY).unwrap().0));
    assert_eq!(found, ROWS, "{found:x?}");
}

const ROWS: [u64; 2] = [0xa0da_7ff9_a011_852f, 0xfaee_a2ae_9a2d_bd5a];
