use super::pinned::{CENTER, RANDOM};
use super::*;
use proptest::prelude::*;

const KEY: Key = Key { seed: 3, epoch: 1, sample: 17, occurrence: 0 };

#[test]
fn central_crops_are_those_of_torchvision() {
    for &(resize, size, source, resized, at) in CENTER {
        let rect = center(resize, size.into(), source.into());
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
fn an_image_smaller_than_the_crop_is_enlarged_in_its_shape() {
    let crop = Crop::Center { resize: 64 };
    let geometry = Geometry::of(crop, 0.0, (128, 96), (50, 50), KEY);
    assert_eq!(geometry.rect, Rect { x: 0.0, y: 6.25, width: 50.0, height: 37.5 });
    assert_eq!(geometry.needed, Area { x: 0, y: 4, width: 50, height: 42 });
}

#[test]
fn a_letterbox_is_as_large_as_fits_and_in_the_middle() {
    let inner = |size, source| {
        let geometry = Geometry::of(Crop::Letterbox { fill: [1; 3] }, 0.0, size, source, KEY);
        let Area { x, y, width, height } = geometry.inset.unwrap().area;
        assert_eq!(geometry.needed, Area { x: 0, y: 0, width: source.0, height: source.1 });
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
    let crop = Crop::Random { scale: (0.08, 1.0), ratio: (0.75, 1.33) };
    let mut n_flipped = 0;
    for sample in 0..1000 {
        let key = Key { sample, ..KEY };
        let with = Geometry::of(crop, 0.5, (32, 32), (640, 480), key);
        let without = Geometry::of(crop, 0.0, (32, 32), (640, 480), key);
        assert_eq!((with.rect, without.flip), (without.rect, false));
        n_flipped += u32::from(with.flip);
    }
    assert!(n_flipped.abs_diff(500) < 80, "{n_flipped}");
}

#[test]
fn senseless_crops_are_refused() {
    assert!(Crop::Center { resize: 0 }.check().is_err());
    let check = |scale, ratio| Crop::Random { scale, ratio }.check();
    assert!(check((0.08, 1.0), (0.75, 1.33)).is_ok());
    assert!(check((0.0, 1.0), (0.75, 1.33)).is_err());
    assert!(check((0.5, 0.1), (0.75, 1.33)).is_err());
    assert!(check((0.5, 1.1), (0.75, 1.33)).is_err());
    assert!(check((0.5, 1.0), (f64::NAN, 1.33)).is_err());
    assert!(check((0.5, 1.0), (0.5, f64::INFINITY)).is_err());
}

/// Checks that a geometry lies in its image and contains the pixels that are read.
fn check(crop: Crop, size: (u32, u32), source: (u32, u32), sample: u64) {
    let Geometry { rect, needed, .. } =
        Geometry::of(crop, 0.5, size, source, Key { sample, ..KEY });
    let what = format!("{crop:?} {size:?} {source:?} {rect:?} {needed:?}");
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
    assert!(matches!(scale_for(rect, size), 1 | 2 | 4 | 8));
}

proptest! {
    #[test]
    fn every_geometry_lies_in_its_image(
        source in (1_u32..5000, 1_u32..5000),
        size in (1_u32..512, 1_u32..512),
        resize in 1_u32..1000,
        scale in (0.0001..1.0_f64, 0.0001..1.0_f64),
        ratio in (0.01..50.0_f64, 0.01..50.0_f64),
        sample: u64,
    ) {
        let ascending = |(a, b): (f64, f64)| (a.min(b), a.max(b));
        let random = Crop::Random { scale: ascending(scale), ratio: ascending(ratio) };
        let letterbox = Crop::Letterbox { fill: [0; 3] };
        for crop in [Crop::Center { resize }, random, Crop::None, letterbox] {
            check(crop, size, source, sample);
            check(crop, size, (source.0, 1), sample);
            check(crop, size, (1, source.1), sample);
        }
    }
}
