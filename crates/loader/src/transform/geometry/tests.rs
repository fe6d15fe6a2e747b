use super::super::list::{Change, DrawKey, Resample, Stage, Transform, TransformList, fuse};
use super::pinned::{CENTER, RANDOM};
use super::*;
use proptest::prelude::*;

const KEY: DrawKey = DrawKey { seed: 3, epoch: 1, sample: 17, occurrence: 0, view: 0 };

fn drawn(list: &[Transform], source: (u32, u32), key: DrawKey) -> Vec<Change> {
    TransformList::new(list.to_vec()).unwrap().draw(source, key).unwrap()
}

/// Returns the only stage of a list that cuts and resizes.
fn resample(list: &[Transform], source: (u32, u32), key: DrawKey) -> Resample {
    match &fuse(drawn(list, source, key), source)[..] {
        [Stage::Resample(resample)] => *resample,
        other => panic!("{other:?}"),
    }
}

#[test]
fn central_crops_are_those_of_torchvision() {
    for &(resize, size, source, resized, at) in CENTER {
        let list = [Transform::resize(resize), Transform::CenterCrop { size: [size[1], size[0]] }];
        let changes = drawn(&list, source.into(), KEY);
        let [Change::Resize { size: whole, .. }, Change::Crop { top, left, .. }] = changes[..]
        else {
            panic!("{changes:?}")
        };
        assert_eq!(whole, [resized[1], resized[0]], "{resize} {source:?}");
        assert_eq!([left, top], at.map(i64::from), "{resize} {size:?} {source:?}");
        let rect = resample(&list, source.into(), KEY).rect;
        let back =
            |value: f64, axis: usize| value * f64::from(resized[axis]) / f64::from(source[axis]);
        let found = [back(rect.x, 0), back(rect.y, 1), back(rect.width, 0), back(rect.height, 1)];
        let expected = [at[0], at[1], size[0], size[1]].map(f64::from);
        let is_near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-8);
        assert!(is_near, "{resize} {size:?} {source:?}: {found:?} {expected:?}");
    }
}

#[test]
fn random_crops_are_those_of_torchvision() {
    for (source, scale, ratio, draws, expected) in RANDOM {
        let mut draws = draws.iter();
        let area = random((*scale).into(), (*ratio).into(), (*source).into(), &mut |_| {
            *draws.next().unwrap()
        });
        assert_eq!([area.x, area.y, area.width, area.height], *expected, "{source:?} {scale:?}");
        assert!(draws.next().is_none());
    }
}

#[test]
fn a_letterbox_is_as_large_as_fits_and_in_the_middle() {
    let inner = |size, source| {
        let Area { x, y, width, height } = inner(size, source);
        (x, y, width, height)
    };
    assert_eq!(inner((224, 224), (640, 480)), (0, 28, 224, 168));
    assert_eq!(inner((224, 224), (480, 641)), (28, 0, 167, 224));
    assert_eq!(inner((300, 200), (30, 20)), (0, 0, 300, 200));
    assert_eq!(inner((300, 200), (20, 20)), (50, 0, 200, 200));
    assert_eq!(inner((64, 64), (5000, 3)), (0, 31, 64, 1));
}

#[test]
fn scales_leave_enough_pixels() {
    let rect = |width, height| Rect { x: 0.5, y: 0.0, width, height };
    assert_eq!(scale_for(rect(448.0, 448.0), (224, 224)), 2);
    assert_eq!(scale_for(rect(447.9, 448.0), (224, 224)), 1);
    assert_eq!(scale_for(rect(9000.0, 1000.0), (224, 224)), 4);
    assert_eq!(scale_for(rect(9000.0, 9000.0), (224, 224)), 8);
    assert_eq!(scale_for(rect(10.0, 10.0), (224, 224)), 1);
}

#[test]
fn the_flip_does_not_move_the_crop() {
    let crop = Transform::random_resized_crop(32);
    let mut n_flipped = 0;
    for sample in 0..1000 {
        let key = DrawKey { sample, ..KEY };
        let with = [crop.clone(), Transform::random_horizontal_flip()];
        let with = resample(&with, (640, 480), key);
        let without = resample(std::slice::from_ref(&crop), (640, 480), key);
        assert_eq!((with.rect, without.mirrored), (without.rect, false));
        n_flipped += u32::from(with.mirrored);
    }
    assert!(n_flipped.abs_diff(500) < 80, "{n_flipped}");
}

/// Checks that a rectangle lies in its image, and that it and what is read of it are inside.
fn check(list: &[Transform], source: (u32, u32), sample: u64) {
    let stages = fuse(drawn(list, source, DrawKey { sample, ..KEY }), source);
    let Some(Stage::Resample(Resample { rect, needed, size, .. })) = stages.first() else { return };
    let what = format!("{list:?} {source:?} {rect:?} {needed:?}");
    for (at, length, from, n_pixels, side) in [
        (rect.x, rect.width, needed.x, needed.width, source.0),
        (rect.y, rect.height, needed.y, needed.height, source.1),
    ] {
        assert!(at >= 0.0 && length > 0.0, "{what}");
        assert!(at + length <= f64::from(side) + 1e-6, "{what}");
        assert!(n_pixels > 0 && from + n_pixels <= side, "{what}");
        assert!(f64::from(from) <= at, "{what}");
        assert!(f64::from(from + n_pixels) >= at + length - 1e-6, "{what}");
    }
    assert!(matches!(scale_for(*rect, *size), 1 | 2 | 4 | 8));
}

proptest! {
    #[test]
    fn every_rectangle_lies_in_its_image(
        source in (1_u32..5000, 1_u32..5000),
        size in (1_u32..512, 1_u32..512),
        resize in 1_u32..1000,
        scale in (0.0001..1.0_f64, 0.0001..1.0_f64),
        ratio in (0.01..50.0_f64, 0.01..50.0_f64),
        sample: u64,
    ) {
        let ascending = |(a, b): (f64, f64)| [a.min(b), a.max(b)];
        let size = [size.1, size.0];
        let (scale, ratio) = (ascending(scale), ascending(ratio));
        for list in [
            vec![Transform::resize(resize), Transform::CenterCrop { size }],
            vec![Transform::CenterCrop { size }],
            vec![Transform::RandomResizedCrop { size, scale, ratio }],
            vec![Transform::squeeze(size)],
            vec![Transform::Letterbox { size, fill: [0; 3] }],
        ] {
            check(&list, source, sample);
            check(&list, (source.0, 1), sample);
            check(&list, (1, source.1), sample);
        }
    }
}
