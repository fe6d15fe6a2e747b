//! Small enough for Miri, which checks every memory access: `make miri`. Portable code everywhere,
//! as on a machine without vector instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fdconvert_fractal::{
    Coin, Draw, ExactLevel, ExactSampler, ExactScratch, Flip, Frame, Key, LanesLevel, LanesSampler,
    LanesScratch, LanesSystem, Map, MersenneTwister, NO_WEIGHTS, PatchScratch, System, coin_bitmap,
    patch, weights,
};

/// Contracting, expanding and overflowing systems, and some with NaN or useless probabilities.
fn systems() -> Vec<System> {
    let half = |e, f| -> Map { [0.5, 0.0, 0.0, 0.5, e, f] };
    let gasket = vec![half(0.0, 0.0), half(0.5, 0.0), half(0.0, 0.5)];
    let with =
        |map: Map, probability| System::new(vec![half(0.1, 0.2), map], vec![0.5, probability]);
    vec![
        System::by_area(gasket).unwrap(),
        with([1.5, 0.3, -0.2, 1.4, 1.0, -1.0], 0.5).unwrap(),
        with([1e200, 0.0, 0.0, -1e200, 1.0, 1.0], 0.5).unwrap(),
        with([f64::NAN, 1.0, 0.0, 1.0, f64::INFINITY, 0.0], 0.5).unwrap(),
        with([0.3, 0.0, 0.0, 0.3, 0.0, 0.0], f64::NAN).unwrap(),
        System::new(vec![half(0.0, 0.0); 8], vec![0.0; 8]).unwrap(),
    ]
}

#[test]
fn portable_samplers_touch_only_their_own_memory() {
    for (size, points) in [(9, 128), (65, 150)] {
        let frame = Frame::new(size, 4, points).unwrap();
        for system in systems() {
            let exact = ExactSampler::new(frame).with_level(ExactLevel::Portable);
            let mut covered = Vec::new();
            let rows = [NO_WEIGHTS, weights(0.4)[4]];
            exact.coverage(&system, &rows, &mut covered, &mut ExactScratch::default());
            let mut masks = MersenneTwister::python(7);
            for draw in Draw::ALL {
                assert_eq!(exact.render(&system, draw, &mut masks).width, size);
            }
            let lanes = LanesSampler::new(frame).with_level(LanesLevel::Scalar);
            let key = Key { seed: 1, class: 2, instance: 3 };
            let (mut scratch, mut points) = (LanesScratch::default(), frame.bitmap());
            let prepared = LanesSystem::new(&system);
            lanes.coverage(&prepared, key, &mut scratch, &mut points);
            let owners = lanes.owners(&prepared, key, &mut scratch);
            assert_eq!(owners.coverage(), points);

            let coin = Coin::new(key.words());
            let mut patches = frame.bitmap();
            patch(&covered[0], coin, &mut patches, &mut PatchScratch::default());
            let coins = coin_bitmap(coin, size, size);
            assert_eq!(owners.patch_color(&coins, Flip::Flip3).channels, 3);
            let mut bytes = Vec::new();
            for flip in Flip::ALL {
                patches.to_rgb_into(127, flip, &mut bytes);
                patches.to_gray_into(127, flip, &mut bytes);
                patches.to_msb_rows(flip, &mut bytes);
            }
            assert_eq!(bytes.len(), (size.div_ceil(8) * size) as usize);
        }
    }
}
