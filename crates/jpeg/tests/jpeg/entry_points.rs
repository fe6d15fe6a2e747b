//! Decoding from entry points equals decoding from the start, for every kind of JPEG.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{
    of_all_sorts, originals, photographs, small,
    synthetic::{self, Recipe},
};
use fdconvert_jpeg::{
    EntryPointError, EntryPoints, GRIDS_BITS, Jpeg, Segment, VERSION, parse, reference, region,
    unstuff,
};
use fdconvert_testkit::needs_shared;
use proptest::prelude::*;

/// Builds with every grid, stores, reads back, and decodes.
#[track_caller]
fn check(name: &str, bytes: &[u8], grids_bits: &[u32]) -> Vec<reference::Block> {
    let jpeg = parse(bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
    let expected = reference::coefficients(&jpeg, bytes).unwrap();
    assert_eq!(expected.len(), jpeg.n_blocks as usize, "{name}");
    for grid_bits in grids_bits {
        let made = EntryPoints::build(&jpeg, bytes, *grid_bits)
            .unwrap_or_else(|refused| panic!("{name}: {refused}"));
        let decoded = reference::coefficients_from(&jpeg, bytes, &made).unwrap();
        assert!(decoded == expected, "{name}, {grid_bits} bits: other coefficients");
        let stored = made.to_bytes();
        assert_eq!(EntryPoints::from_bytes(&stored, &jpeg), Ok(made.clone()), "{name}");
        check_shape(name, &jpeg, bytes, &made);
        check_anchors(name, &jpeg, &made, &expected);
    }
    expected
}

/// Each segment has an anchor within its 16384 bits, and anchors have the predictions after the
/// blocks before them.
#[track_caller]
fn check_anchors(name: &str, jpeg: &Jpeg, made: &EntryPoints, blocks: &[reference::Block]) {
    let segments = made.segments();
    let component = |block: u32| {
        let slot = (block % jpeg.blocks_per_mcu()) as usize;
        usize::from(jpeg.slots[slot].component)
    };
    let (mut n_anchors, mut reset, mut before) = (0, 0, u32::MAX);
    for (number, segment) in segments.iter().enumerate() {
        if segment.resets {
            reset = segment.block;
        }
        let anchor = made.anchor_before(number).unwrap();
        let start = &segments[anchor.segment as usize];
        assert!(anchor.segment as usize <= number, "{name}");
        assert!(start.resets || start.bit / 16384 == segment.bit / 16384, "{name}");
        assert!(segment.bit - start.bit < 16384, "{name}");
        if anchor.segment == before {
            continue;
        }
        (before, n_anchors) = (anchor.segment, n_anchors + 1);
        let mut expected = [0; 3];
        for block in reset..start.block {
            expected[component(block)] = blocks[block as usize][0];
        }
        assert_eq!(anchor.dc, expected, "{name}: segment {number}");
    }
    // Possibly no block starts in the last run.
    assert!(n_anchors + 1 >= made.total_bits().div_ceil(16384), "{name}");
    assert_eq!(made.anchor_before(segments.len()), None, "{name}");
}

/// The segments start where the specification requires.
#[track_caller]
fn check_shape(name: &str, jpeg: &Jpeg, bytes: &[u8], made: &EntryPoints) {
    let data = unstuff(jpeg, bytes).unwrap();
    let segments = made.segments();
    let first = Segment { bit: 0, block: 0, n_blocks: segments[0].n_blocks, resets: true };
    assert_eq!(segments[0], first, "{name}");
    let mut block = 0;
    for (number, segment) in segments.iter().enumerate() {
        assert_eq!(segment.block, block, "{name}");
        assert!(segment.n_blocks > 0, "{name}");
        block += segment.n_blocks;
        if let Some(next) = segments.get(number + 1) {
            assert!(next.bit > segment.bit, "{name}");
            let same = next.bit / made.grid_bits() == segment.bit / made.grid_bits();
            assert!(!same || next.resets, "{name}: an interval has two segments");
        }
    }
    assert_eq!(block, jpeg.n_blocks, "{name}");
    let restarts: Vec<_> = segments.iter().filter(|it| it.resets).map(|it| it.bit / 8).collect();
    assert_eq!(restarts, data.starts(), "{name}");
    let n_bits = data.bytes().len() as u32 * 8;
    assert!((n_bits - 7..=n_bits).contains(&made.total_bits()), "{name}");
    let whole = region(jpeg, made, 0..jpeg.height, 0..jpeg.width);
    assert_eq!(whole.segments.len(), segments.len(), "{name}");
    assert_eq!(whole.n_bits, u64::from(made.total_bits()), "{name}");
    assert_eq!(whole.n_blocks, jpeg.n_blocks, "{name}");
    assert_eq!(whole.n_walked_bits, whole.n_bits, "{name}");
}

#[test]
fn small_images() {
    for (name, bytes) in small() {
        check(&name, &bytes, &GRIDS_BITS);
    }
}

#[test]
fn photographs_in_the_repository() {
    for (name, bytes) in photographs() {
        check(&name, &bytes, &GRIDS_BITS);
    }
}

#[test]
fn photographs_of_all_sorts() {
    for (name, bytes) in of_all_sorts() {
        check(&name, &bytes, &GRIDS_BITS);
    }
}

needs_shared! {
    fn originals_beside_the_repository() {
        for (number, (name, bytes)) in originals().iter().enumerate() {
            check(name, bytes, &GRIDS_BITS[number % 4..=number % 4]);
        }
    }
}

#[test]
fn known_coefficients_come_back() {
    let samplings: [&[(u8, u8)]; 10] = [
        &[(1, 1)],
        &[(2, 2)],
        &[(1, 1); 3],
        &[(2, 1), (1, 1), (1, 1)],
        &[(1, 2), (1, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(4, 1), (1, 1), (1, 1)],
        &[(4, 2), (1, 1), (1, 1)],
        &[(2, 2), (2, 1), (1, 2)],
        &[(1, 1), (2, 2), (3, 1)],
    ];
    for sampling in samplings {
        for restart_interval in [0, 1, 2, 5, 40, 60000] {
            for (width, height) in [(1, 1), (9, 65), (70, 40), (200, 130)] {
                for n_values in [0, 3, 30, 300] {
                    let recipe = Recipe {
                        restart_interval,
                        n_values,
                        seed: u64::from(width) + n_values,
                        ..Recipe::new(width, height, sampling)
                    };
                    let (bytes, blocks) = synthetic::jpeg(&recipe);
                    let decoded = check(&format!("{recipe:?}"), &bytes, &GRIDS_BITS);
                    assert!(decoded == blocks, "{recipe:?}: other coefficients");
                }
            }
        }
    }
}

/// Blocks of up to 1984 bits leave intervals of 512 without any.
#[test]
fn intervals_without_blocks() {
    let recipe = Recipe { n_values: 2000, ..Recipe::new(64, 64, &[(1, 1)]) };
    let (bytes, _) = synthetic::jpeg(&recipe);
    let jpeg = parse(&bytes).unwrap();
    let made = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
    assert!((made.segments().len() as u32) < made.total_bits() / 512);
}

#[test]
fn same_image_same_bytes() {
    let (bytes, _) = synthetic::jpeg(&Recipe::new(64, 24, &[(2, 1), (1, 1), (1, 1)]));
    let jpeg = parse(&bytes).unwrap();
    let made = EntryPoints::build(&jpeg, &bytes, 2048).unwrap().to_bytes();
    // Written by version 2; the specification allows no other bytes.
    assert_eq!(made, STORED, "{made:02x?}");
    // They match the example of the specification.
    let made = EntryPoints::from_bytes(STORED, &jpeg).unwrap();
    let starts: Vec<_> = made.segments().iter().map(|it| (it.bit, it.n_blocks)).collect();
    assert_eq!((made.total_bits(), starts), (5132, vec![(0, 24), (2078, 15), (4146, 9)]));
}

/// The last stored anchor, as the specification requires.
#[test]
fn stored_anchors() {
    let (bytes, _) = synthetic::jpeg(&Recipe::new(160, 160, &[(2, 2), (1, 1), (1, 1)]));
    let jpeg = parse(&bytes).unwrap();
    let made = EntryPoints::build(&jpeg, &bytes, 2048).unwrap();
    assert!((1 << 15..1 << 21).contains(&made.total_bits()), "{}", made.total_bits());
    let stored = made.to_bytes();
    let last = made.anchor_before(made.segments().len() - 1).unwrap();
    let before = made.anchor_before(last.segment as usize - 1).unwrap();
    // After two bytes and the three of the total.
    let parameters = u32::from(stored[5]);
    let mut code = String::new();
    for (component, (dc, before)) in last.dc.iter().zip(before.dc).enumerate() {
        let k = if component == 0 { parameters >> 4 } else { parameters & 15 };
        let change = i32::from(*dc) - i32::from(before);
        let folded = if change < 0 { -2 * change - 1 } else { 2 * change };
        code += &"1".repeat(folded as usize >> k);
        code += "0";
        code.extend((0..k).rev().map(|place| if folded >> place & 1 == 1 { '1' } else { '0' }));
    }
    let bits: String = stored.iter().map(|byte| format!("{byte:08b}")).collect();
    let ends = (0..8).any(|n| bits.ends_with(&(code.clone() + &"0".repeat(n))));
    assert!(ends, "{bits} does not end with {code}");
}

#[test]
fn other_versions_are_refused_by_name() {
    let (bytes, _) = synthetic::jpeg(&Recipe::new(64, 24, &[(2, 1), (1, 1), (1, 1)]));
    let jpeg = parse(&bytes).unwrap();
    for version in [0, 1, 3, 15] {
        let stored = [&[version << 4 | 2], &STORED[1..]].concat();
        let refused = EntryPointError::Version { found: version, supported: VERSION };
        assert_eq!(EntryPoints::from_bytes(&stored, &jpeg), Err(refused));
    }
}

const STORED: &[u8] = &[0x22, 0x35, 0x8c, 0x28, 0xc0, 0x5e, 0xad, 0x20];

proptest! {
    #[test]
    fn any_shape(
        (width, height) in (1..200u16, 1..120u16),
        sampling in prop_oneof![
            Just(vec![(1, 1)]),
            Just(vec![(1, 1); 3]),
            proptest::collection::vec((1..=2u8, 1..=2u8), 3)
                .prop_filter("blocks", |it| it.iter().map(|it| it.0 * it.1).sum::<u8>() <= 10),
        ],
        restart_interval in prop_oneof![Just(0), 1..30u16],
        n_values in 0..80u64,
        seed: u64,
    ) {
        let recipe = Recipe { width, height, sampling, restart_interval, n_values, seed };
        let (bytes, blocks) = synthetic::jpeg(&recipe);
        let decoded = check(&format!("{recipe:?}"), &bytes, &GRIDS_BITS);
        prop_assert!(decoded == blocks);
    }
}
