//! Rectangles of RGB are identical with our loops and with `fast_image_resize` alone, which itself
//! gives the same with all its instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::resizer::noise;
use fdconvert_resize::{Instructions, Source, Stretcher};
use proptest::prelude::*;

/// A rectangle of some view of noise, as fractions of the remaining space.
#[derive(Debug, Clone)]
struct Case {
    size: (u32, u32),
    view: [f64; 4],
    rect: [f64; 4],
    out: (u32, u32),
    seed: u64,
    /// True for whole pixels, as in random crops.
    is_whole: bool,
}

/// The instructions of this processor that have loops of ours.
fn ours() -> impl Iterator<Item = Instructions> {
    let all = Instructions::ALL.into_iter();
    all.filter(|it| *it != Instructions::Portable && it.are_here())
}

fn check(case: &Case) {
    let (width, height) = case.size;
    let pixels = noise(width, height, 3, case.seed);
    let part = |side: u32, from: f64, len: f64| {
        let len = ((f64::from(side) * len) as u32).max(1);
        ((f64::from(side - len) * from) as u32, len)
    };
    let [x, y, columns, rows] = case.view;
    let ((x, columns), (y, rows)) = (part(width, x, columns), part(height, y, rows));
    let [left, top, across, down] = case.rect;
    let span = |side: u32, from: f64, len: f64| {
        let whole = |value: f64| if case.is_whole { value.floor() } else { value };
        let len = whole(f64::from(side) * len).max(0.5);
        (whole((f64::from(side) - len) * from), len)
    };
    let ((left, across), (top, down)) = (span(columns, left, across), span(rows, top, down));
    let source = Source {
        pixels: &pixels.data,
        size: case.size,
        view: (x, y, columns, rows),
        rect: (left, top, across, down),
    };
    let n_bytes = case.out.0 as usize * case.out.1 as usize * 3;
    let mut expected = vec![7; n_bytes];
    let plain = Stretcher::with(Instructions::Portable).rgb(&source, case.out, &mut expected);
    for instructions in ours() {
        let mut found = vec![9; n_bytes];
        let result = Stretcher::with(instructions).rgb(&source, case.out, &mut found);
        assert_eq!(plain, result, "{instructions:?}: {case:?}");
        let differing = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        let message = format!("{instructions:?}: {differing} of {n_bytes} differ: {case:?}");
        assert!(plain.is_err() || differing == 0, "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rectangles_are_those_of_the_other_library(
        size in (1..260u32, 1..120u32),
        view in [0.0..1.0f64, 0.0..1.0f64, 0.1..1.0f64, 0.1..1.0f64],
        rect in [0.0..1.0f64, 0.0..1.0f64, 0.05..1.0f64, 0.05..1.0f64],
        out in (1..130u32, 1..60u32),
        seed: u64,
        is_whole: bool,
    ) {
        check(&Case { size, view, rect, out, seed, is_whole });
    }

    #[test]
    fn real_sizes_are_those_of_the_other_library(
        size in (230..520u32, 230..520u32),
        rect in [0.0..1.0f64, 0.0..1.0f64, 0.3..1.0f64, 0.3..1.0f64],
        seed: u64,
        is_whole: bool,
    ) {
        let view = [0.0, 0.0, 1.0, 1.0];
        check(&Case { size, view, rect, out: (224, 224), seed, is_whole });
    }
}

/// A stretcher keeps its tables: another image must not get those of the previous one.
#[test]
fn one_stretcher_for_many_images() {
    let mut plain = Stretcher::with(Instructions::Portable);
    let mut ours: Vec<_> = ours().map(Stretcher::with).collect();
    for (number, (width, height)) in
        [(300, 200), (150, 220), (80, 90), (301, 199)].iter().enumerate()
    {
        let pixels = noise(*width, *height, 3, number as u64);
        let source = Source {
            pixels: &pixels.data,
            size: (*width, *height),
            view: (3, 2, width - 5, height - 4),
            rect: (0.25, 1.5, f64::from(width - 7), f64::from(height - 9)),
        };
        let mut expected = vec![1; 96 * 64 * 3];
        plain.rgb(&source, (96, 64), &mut expected).unwrap();
        for ours in &mut ours {
            let mut found = vec![0; 96 * 64 * 3];
            ours.rgb(&source, (96, 64), &mut found).unwrap();
            assert_eq!(found, expected);
        }
    }
}

/// Enlarged by an odd number, some outputs lie on an input, whose weight is then 1: the only one
/// that needs more bits than 16 with the vectors that have no sign.
#[test]
fn inputs_of_weight_1_are_those_of_the_other_library() {
    for factor in [3, 5, 7] {
        for seed in 0..4 {
            let (size, whole) = ((33, 25), [0.0, 0.0, 1.0, 1.0]);
            let out = (size.0 * factor, size.1 * factor);
            check(&Case { size, view: whole, rect: whole, out, seed, is_whole: true });
        }
    }
}
