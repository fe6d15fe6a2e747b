//! A region's segments contain every block that its pixels need, and each contains at least one.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::synthetic::{self, Recipe};
use fdconvert_jpeg::{EntryPoints, Jpeg, parse, region};
use fdconvert_testkit::fixtures::Random;
use std::collections::BTreeSet;
use std::ops::Range;

/// Finds the MCUs with samples of the pixels, pixel by pixel.
fn mcus(jpeg: &Jpeg, rows: Range<u32>, columns: Range<u32>) -> BTreeSet<u32> {
    let (max_h, max_v) = jpeg.max_sampling();
    let mut mcus = BTreeSet::new();
    for component in &jpeg.components {
        let along = |pixel: u32, sampling: u8, max: u32, n_mcus: u32| -> Vec<u32> {
            let sampling = u32::from(sampling);
            let sample = pixel * sampling / max;
            let near = if sampling < max {
                sample.saturating_sub(1)..=sample + 1
            } else {
                sample..=sample
            };
            near.map(|sample| (sample / (8 * sampling)).min(n_mcus - 1)).collect()
        };
        for y in rows.clone() {
            for x in columns.clone() {
                for mcu_y in along(y, component.v, max_v, jpeg.mcus_y) {
                    for mcu_x in along(x, component.h, max_h, jpeg.mcus_x) {
                        mcus.insert(mcu_y * jpeg.mcus_x + mcu_x);
                    }
                }
            }
        }
    }
    mcus
}

#[test]
fn regions_have_what_they_need() {
    let samplings: [&[(u8, u8)]; 5] = [
        &[(1, 1)],
        &[(1, 1); 3],
        &[(2, 1), (1, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(4, 1), (1, 1), (1, 1)],
    ];
    let mut random = Random::new(7);
    for sampling in samplings {
        for restart_interval in [0, 7] {
            let recipe = Recipe { restart_interval, ..Recipe::new(203, 147, sampling) };
            let (bytes, _) = synthetic::jpeg(&recipe);
            let jpeg = parse(&bytes).unwrap();
            let made = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
            for _ in 0..60 {
                let mut range = |len: u32| {
                    let start = random.below(len.into()) as u32;
                    start..start + 1 + random.below(u64::from(len - start).min(40)) as u32
                };
                let (rows, columns) = (range(jpeg.height), range(jpeg.width));
                check(&jpeg, &made, rows, columns);
            }
        }
    }
}

#[track_caller]
fn check(jpeg: &Jpeg, made: &EntryPoints, rows: Range<u32>, columns: Range<u32>) {
    let needed = region(jpeg, made, rows.clone(), columns.clone());
    let mcus = mcus(jpeg, rows, columns);
    let per_mcu = jpeg.blocks_per_mcu();
    let (mut n_bits, mut n_blocks, mut expected) = (0, 0, Vec::new());
    for (number, segment) in made.segments().iter().enumerate() {
        let last = segment.block + segment.n_blocks - 1;
        if mcus.range(segment.block / per_mcu..=last / per_mcu).next().is_some() {
            expected.push(number as u32);
            n_bits += u64::from(made.segment_bits(number).len() as u32);
            n_blocks += segment.n_blocks;
        }
    }
    assert_eq!(needed.segments, expected);
    assert_eq!((needed.n_bits, needed.n_blocks), (n_bits, n_blocks));
    // The walked runs start at known predictions, and lead to every segment.
    let mut previous = 0;
    for run in &needed.walked {
        assert!(run.start >= previous);
        let first = run.start as usize;
        assert_eq!(made.anchor_before(first).unwrap().segment, run.start);
        let next = expected.iter().find(|number| **number >= run.start).unwrap();
        assert_eq!(made.anchor_before(*next as usize).unwrap().segment, run.start);
        assert!(expected.contains(&(run.end - 1)));
        previous = run.end;
    }
    assert!(expected.iter().all(|number| needed.walked.iter().any(|run| run.contains(number))));
    assert!(needed.fraction(made) <= needed.walked_fraction(made));
    assert!(needed.walked_fraction(made) <= 1.0);
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "a caller may compute such a range")]
fn nothing_is_needed_for_nothing() {
    let (bytes, _) = synthetic::jpeg(&Recipe::new(64, 64, &[(1, 1)]));
    let jpeg = parse(&bytes).unwrap();
    let made = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
    for (rows, columns) in [(5..5, 0..9), (64..80, 0..9), (0..9, 70..90), (3..1, 0..64)] {
        let needed = region(&jpeg, &made, rows, columns);
        assert_eq!((needed.segments.len(), needed.n_bits, needed.n_walked_bits), (0, 0, 0));
    }
    let beyond = region(&jpeg, &made, 0..u32::MAX, 0..u32::MAX);
    assert_eq!(beyond.segments.len(), made.segments().len());
}
