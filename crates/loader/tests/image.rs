//! Photographs on their way into a batch, through the public API.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use fdconvert_codec::Decoder;
use fdconvert_core::{Codec, Encoded, Limits};
use fdconvert_loader::{
    Augment, Crop, DType, Layout, Normalise, Output,
    parts::{Area, Augmenter, Geometry, Key, Op, Policy, Region, Renderer},
};
use fdconvert_testkit::fixtures;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

const KEY: Key = Key { seed: 7, epoch: 2, sample: 99, occurrence: 0 };

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

fn region(pixels: &[u8]) -> Region<'_> {
    let area = Area { x: 0, y: 0, width: SOURCE.0, height: SOURCE.1 };
    Region { pixels, area, channels: 3, denominator: 1 }
}

#[test]
fn changes_give_the_pixels_of_pillow() {
    // Hashes of results that `torchvision.py` found equal to torchvision's on Pillow images.
    let pixels = photograph(5);
    let augmenter = &mut Augmenter::default();
    let found: Vec<_> = [
        (Op::Identity, 0.0),
        (Op::ShearX, 0.3),
        (Op::ShearX, -0.99),
        (Op::ShearY, -0.3),
        (Op::TranslateX, 101.5),
        (Op::TranslateX, -1000.0),
        (Op::TranslateY, -101.5),
        (Op::Rotate, 30.0),
        (Op::Rotate, -117.0),
        (Op::Rotate, 90.0),
        (Op::Brightness, -0.5),
        (Op::Brightness, 0.9),
        (Op::Color, -0.5),
        (Op::Color, 0.9),
        (Op::Contrast, -0.5),
        (Op::Contrast, 0.9),
        (Op::Sharpness, -0.5),
        (Op::Sharpness, 0.9),
        (Op::Posterize, 4.0),
        (Op::Solarize, 110.5),
        (Op::AutoContrast, 0.0),
        (Op::Equalize, 0.0),
        (Op::Invert, 0.0),
    ]
    .into_iter()
    .map(|(op, strength)| {
        let mut image = pixels.clone();
        if op == Op::AutoContrast {
            // The photograph has all levels already.
            image.iter_mut().for_each(|level| *level = *level / 2 + 40);
        }
        augmenter.apply(op, strength, SOURCE, &mut image);
        (op, strength, xxh3_64(&image))
    })
    .collect();
    let text: Vec<_> = found.iter().map(|found| format!("{found:x?}")).collect();
    let differ: Vec<_> = found.iter().zip(CHANGES).filter(|(a, b)| a.2 != *b).collect();
    assert!(differ.is_empty() && found.len() == CHANGES.len(), "{text:#?}");
}

const CHANGES: [u64; 23] = [
    0xf52d_6e0c_b6af_9863, // Identity.
    0x1b55_ef58_6dd7_ac1e, // ShearX.
    0x8f87_ab18_44ed_3acd, // ShearX.
    0x7d5d_df9f_916f_c33e, // ShearY.
    0x439a_1cc8_8ac1_1a54, // TranslateX.
    0x0992_d02a_284a_cfb0, // TranslateX.
    0x41b7_b39a_ac58_43ea, // TranslateY.
    0xf23a_cb48_6c46_0293, // Rotate.
    0x7f86_26de_1fbf_3ef1, // Rotate.
    0xed6a_cee2_1d85_5781, // Rotate.
    0xa71e_2967_aa4d_b285, // Brightness.
    0xd31e_471e_3fb1_2f20, // Brightness.
    0x0ff2_7fe1_7cd0_7c0a, // Color.
    0x3aa8_cb52_3c18_8b4c, // Color.
    0x3cbd_415c_167b_4b82, // Contrast.
    0xebb1_4371_ba81_9068, // Contrast.
    0xba16_ac1c_8d67_c8f8, // Sharpness.
    0xc94b_ef5b_3aac_a435, // Sharpness.
    0xe08e_374b_9017_6900, // Posterize.
    0x3028_d9f7_cfb7_382f, // Solarize.
    0xc458_bbad_0762_4d18, // AutoContrast.
    0x41fe_3bb2_b783_bce4, // Equalize.
    0xf26d_616e_610f_fb0a, // Invert.
];

#[test]
fn changes_that_change_nothing_leave_every_byte() {
    let pixels = photograph(1);
    let augmenter = &mut Augmenter::default();
    for (op, strength) in Op::ALL
        .into_iter()
        .map(|op| match op {
            Op::Posterize => (op, 8.0),
            Op::Solarize => (op, 256.0),
            op => (op, 0.0),
        })
        .filter(|(op, _)| !matches!(op, Op::AutoContrast | Op::Equalize | Op::Invert))
    {
        let mut image = pixels.clone();
        augmenter.apply(op, strength, SOURCE, &mut image);
        assert!(image == pixels, "{op:?}");
    }
    let mut image = pixels.clone();
    augmenter.apply(Op::Invert, 0.0, SOURCE, &mut image);
    augmenter.apply(Op::Invert, 0.0, SOURCE, &mut image);
    assert!(image == pixels);
}

#[test]
fn changes_bear_any_size_and_strength() {
    let augmenter = &mut Augmenter::default();
    for size in [(0, 0), (1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (40, 3)] {
        for op in Op::ALL {
            for strength in [0.0, -0.5, 1.0, 7.0, 255.0, -1e9, 1e300, f64::NAN, f64::INFINITY] {
                let n_bytes = (size.0 * size.1 * 3) as usize;
                let mut image: Vec<u8> = (0..n_bytes).map(|i| (i * 37) as u8).collect();
                augmenter.apply(op, strength, size, &mut image);
                assert_eq!(image.len(), n_bytes);
            }
        }
    }
}

#[test]
fn a_sample_is_the_same_in_any_order_on_any_thread() {
    let pixels = [photograph(1), photograph(3)];
    let output = Output {
        size: (64, 48),
        dtype: DType::F16,
        layout: Layout::Nchw,
        normalise: Some(Normalise::IMAGENET),
    };
    let crop = Crop::Random { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) };
    for augment in [
        Augment::AutoAugment(Policy::ImageNet),
        Augment::RandAugment { n_ops: 2, magnitude: 9, n_bins: 31 },
        Augment::TrivialAugmentWide { n_bins: 31 },
    ] {
        let render = |renderer: &mut Renderer, sample: u64, epoch: u64| {
            let key = Key { seed: 1, epoch, sample, occurrence: 0 };
            let geometry = Geometry::of(crop, 0.5, output.size, SOURCE, key);
            let mut row = vec![0; output.n_bytes()];
            let region = region(&pixels[sample as usize % 2]);
            renderer.render("photograph", &region, &geometry, key, &mut row).unwrap();
            xxh3_64(&row)
        };
        let forwards = &mut Renderer::new(output, Some(augment)).unwrap();
        let first: Vec<_> = (0..24).map(|sample| render(forwards, sample, 0)).collect();
        let mut last: Vec<_> = std::thread::scope(|scope| {
            let backwards = scope.spawn(|| {
                let renderer = &mut Renderer::new(output, Some(augment)).unwrap();
                (0..24).rev().map(|sample| render(renderer, sample, 0)).collect()
            });
            backwards.join().unwrap()
        });
        last.reverse();
        assert_eq!(first, last);
        let n_alike = (0..24).filter(|&i| render(forwards, i, 1) == first[i as usize]).count();
        assert_eq!(n_alike, 0, "another epoch, other pixels");
    }
}

#[test]
fn policies_draw_what_they_should() {
    let count = |augment: Augment| {
        let (mut n_made, mut n_negative) = (BTreeMap::new(), 0);
        for sample in 0..14_000 {
            augment.draw((224, 224), Key { sample, ..KEY }, |op, strength| {
                *n_made.entry(format!("{op:?}")).or_insert(0_u32) += 1;
                n_negative += u32::from(strength < 0.0);
            });
        }
        (n_made, n_negative)
    };
    let (n_made, n_negative) = count(Augment::TrivialAugmentWide { n_bins: 31 });
    assert_eq!(n_made.len(), 14);
    assert!(n_made.values().all(|n| n.abs_diff(1000) < 160), "{n_made:?}");
    // Nine of fourteen have a sign, and one strength in 31 is 0.
    assert!(n_negative.abs_diff(4355) < 280, "{n_negative}");

    let (n_made, n_negative) = count(Augment::RandAugment { n_ops: 3, magnitude: 9, n_bins: 31 });
    assert!(n_made.len() == 14 && n_made.values().all(|n| n.abs_diff(3000) < 270), "{n_made:?}");
    assert!(n_negative.abs_diff(13_500) < 480, "{n_negative}");

    // Sums of the probabilities in the paper's table, of 25 pairs.
    let (n_made, _) = count(Augment::AutoAugment(Policy::ImageNet));
    let expected = |sum: f64| (sum / 25.0 * 14_000.0) as u32;
    assert!(n_made["Equalize"].abs_diff(expected(EQUALIZE)) < 500, "{n_made:?}");
    assert!(n_made["Invert"].abs_diff(expected(1.8)) < 200, "{n_made:?}");
    assert!(!n_made.contains_key("Brightness"));
    for policy in [Policy::Cifar10, Policy::Svhn] {
        assert!(count(Augment::AutoAugment(policy)).0.len() > 8);
    }
}

const EQUALIZE: f64 = 11.2;

#[test]
fn senseless_policies_are_refused() {
    let refused = |augment: Augment| augment.check().is_err();
    assert!(refused(Augment::RandAugment { n_ops: 2, magnitude: 31, n_bins: 31 }));
    assert!(refused(Augment::TrivialAugmentWide { n_bins: 1 }));
    assert!(!refused(Augment::RandAugment { n_ops: 2, magnitude: 30, n_bins: 31 }));
    assert!(!refused(Augment::AutoAugment(Policy::Svhn)));
}

#[test]
fn whole_rows_never_change() {
    let pixels = photograph(7);
    let output =
        Output { size: (224, 224), dtype: DType::U8, layout: Layout::Nhwc, normalise: None };
    let augment = Augment::RandAugment { n_ops: 2, magnitude: 9, n_bins: 31 };
    let random = Crop::Random { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) };
    let found =
        [(Crop::Center { resize: 256 }, None), (random, Some(augment))].map(|(crop, augment)| {
            let geometry = Geometry::of(crop, 0.5, output.size, SOURCE, KEY);
            let mut row = vec![0; output.n_bytes()];
            let mut renderer = Renderer::new(output, augment).unwrap();
            renderer.render("photograph", &region(&pixels), &geometry, KEY, &mut row).unwrap();
            xxh3_64(&row)
        });
    assert_eq!(found, ROWS, "{found:x?}");
}

const ROWS: [u64; 2] = [0xa0da_7ff9_a011_852f, 0x5fbc_9a82_bbd0_512b];
