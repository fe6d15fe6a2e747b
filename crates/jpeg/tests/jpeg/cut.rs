//! The blocks of a cut are those of the whole image; and damage never panics. That its pixels are
//! the same too, the crate that decodes them tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{
    Named, of_all_sorts, originals, other_encoder, photographs, small,
    synthetic::{self, Recipe},
};
use fdconvert_jpeg::{Cut, EntryPoints, GRIDS_BITS, cut, parse, reference};
use fdconvert_testkit::{
    fixtures::{Random, pixels},
    needs_shared,
};
use jpeg_encoder::SamplingFactor;
use proptest::prelude::*;
use std::ops::Range;

/// Cuts some rows out of an image and compares; says how many cuts had a start of their own.
#[track_caller]
fn check(name: &str, bytes: &[u8], random: &mut Random, n_cuts: usize) -> usize {
    let jpeg = parse(bytes).unwrap();
    let blocks = reference::coefficients(&jpeg, bytes).unwrap();
    let mut n_headless = 0;
    for number in 0..n_cuts {
        let made = EntryPoints::build(&jpeg, bytes, GRIDS_BITS[number % 4]).unwrap();
        let made = EntryPoints::from_bytes(&made.to_bytes(), &jpeg).unwrap();
        let shrink = [1, 2, 4, 8][random.below(4) as usize];
        let first = random.below(jpeg.height.into()) as u32;
        let most = if number % 2 == 0 { u64::from(jpeg.height - first) } else { 3 };
        let rows = first..first + 1 + random.below(most) as u32;
        let mut out = Vec::new();
        let Some(found) = cut(&jpeg, bytes, &made, rows.clone(), shrink, &mut out) else {
            // Tables made for a tiny image may lack a code.
            let tiny = jpeg.width < 64 || jpeg.n_blocks < 1000 && name.contains("huffman: true");
            assert!(jpeg.restart_interval > 0 || tiny, "{name}: no cut of {rows:?}");
            continue;
        };
        check_cut(name, (bytes, &blocks), (&found, &out), rows);
        n_headless += usize::from(found.first_row > 0);
    }
    n_headless
}

#[track_caller]
fn check_cut(
    name: &str,
    (bytes, blocks): (&[u8], &[reference::Block]),
    (found, out): (&Cut, &[u8]),
    rows: Range<u32>,
) {
    let (jpeg, part) = (parse(bytes).unwrap(), parse(out).unwrap());
    let mcu_height = 8 * jpeg.max_sampling().1;
    assert_eq!((part.width, part.height), (jpeg.width, found.n_rows), "{name}");
    assert_eq!(found.first_row % mcu_height, 0, "{name}");
    // The first row of MCUs only stands in, unless it is that of the image.
    let stand_in = if found.first_row > 0 { mcu_height } else { 0 };
    let end = (found.first_row + found.n_rows).min(jpeg.height);
    assert!(found.first_row + stand_in <= rows.start && end >= rows.end.min(jpeg.height), "{name}");
    let per_row = (jpeg.mcus_x * jpeg.blocks_per_mcu()) as usize;
    let found_blocks = reference::coefficients(&part, out).unwrap();
    let from = (found.first_row + stand_in) as usize / mcu_height as usize * per_row;
    let own = stand_in as usize / mcu_height as usize * per_row;
    let n_blocks = found_blocks.len() - own;
    assert!(found_blocks[own..] == blocks[from..from + n_blocks], "{name}: {rows:?}");
    // Nothing is left behind the blocks.
    EntryPoints::build(&part, out, 512).unwrap_or_else(|why| panic!("{name}: {why}"));
}

#[test]
fn small_images() {
    let mut random = Random::new(3);
    let n: usize = small().iter().map(|(name, bytes)| check(name, bytes, &mut random, 8)).sum();
    assert!(n > 50, "{n} cuts with a start of their own");
}

#[test]
fn photographs_in_the_repository() {
    let mut random = Random::new(4);
    let mut n = 0;
    for (name, bytes) in photographs() {
        n += check(&name, &bytes, &mut random, 40);
    }
    assert!(n > 50, "{n} cuts with a start of their own");
}

/// More cuts than images have a start of their own.
fn check_images(images: &[Named]) {
    let (mut random, mut n) = (Random::new(5), 0);
    for (name, bytes) in images {
        if parse(bytes).is_ok() {
            n += check(name, bytes, &mut random, 8);
        }
    }
    assert!(n > images.len(), "{n} cuts with a start of their own");
}

#[test]
fn photographs_of_all_sorts() {
    check_images(&of_all_sorts());
}

needs_shared! {
    fn originals_beside_the_repository() {
        check_images(&originals());
    }
}

/// Predictions as far from 0 as they get, and tables that start with other codes.
#[test]
fn predictions_of_any_size() {
    let mut random = Random::new(6);
    for sampling in
        [&[(1, 1)][..], &[(2, 2), (1, 1), (1, 1)], &[(1, 1); 3], &[(2, 1), (1, 1), (1, 1)]]
    {
        for seed in 0..6 {
            let recipe = Recipe { seed, ..Recipe::new(170, 140, sampling) };
            let (bytes, _) = synthetic::jpeg(&recipe);
            check(&format!("{recipe:?}"), &bytes, &mut random, 8);
        }
    }
}

#[test]
fn what_cannot_be_cut_is_not() {
    let recipe = Recipe { restart_interval: 4, ..Recipe::new(120, 120, &[(1, 1); 3]) };
    let others = [recipe, Recipe::new(120, 120, &[(2, 2), (2, 1), (1, 2)])];
    for recipe in others {
        let (bytes, _) = synthetic::jpeg(&recipe);
        let jpeg = parse(&bytes).unwrap();
        let made = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
        assert_eq!(cut(&jpeg, &bytes, &made, 40..60, 1, &mut Vec::new()), None);
    }
    let (bytes, _) = synthetic::jpeg(&Recipe::new(120, 120, &[(1, 1); 3]));
    let jpeg = parse(&bytes).unwrap();
    let made = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
    for (rows, shrink) in [(40..40, 1), (120..130, 1), (40..60, 3), (40..60, 0), (40..60, u32::MAX)]
    {
        assert_eq!(cut(&jpeg, &bytes, &made, rows, shrink, &mut Vec::new()), None);
    }
    assert!(cut(&jpeg, &bytes, &made, 40..u32::MAX, 1, &mut Vec::new()).is_some());
    // Other bytes than those that were parsed.
    assert_eq!(cut(&jpeg, &bytes[..40], &made, 40..60, 1, &mut Vec::new()), None);
}

/// A JPEG of another image of the same size: where its blocks are elsewhere, that is noticed.
#[test]
fn entry_points_of_another_image() {
    let recipe = |seed| Recipe { seed, ..Recipe::new(200, 200, &[(1, 1)]) };
    let (bytes, _) = synthetic::jpeg(&recipe(1));
    let (other, _) = synthetic::jpeg(&recipe(2));
    let (jpeg, other_jpeg) = (parse(&bytes).unwrap(), parse(&other).unwrap());
    let made = EntryPoints::build(&other_jpeg, &other, 512).unwrap();
    for row in 16..200 {
        let found = cut(&jpeg, &bytes, &made, row..row + 1, 1, &mut Vec::new());
        assert_eq!(found, None, "row {row}");
    }
}

proptest! {
    /// Whatever the bytes, there is a JPEG or none, and decoders get along with it.
    #[test]
    fn damage(changes in proptest::collection::vec((0..2u8, any::<u16>(), any::<u8>()), 1..6), row in 0..100u32) {
        let mut bytes = other_encoder(&pixels(130, 100, 3, 4), SamplingFactor::F_2_2, 0);
        let jpeg = parse(&bytes).unwrap();
        let mut stored = EntryPoints::build(&jpeg, &bytes, 512).unwrap().to_bytes();
        for (which, at, byte) in changes {
            let changed = if which == 0 { &mut bytes } else { &mut stored };
            let at = usize::from(at) % changed.len();
            changed[at] = byte;
        }
        let Ok(jpeg) = parse(&bytes) else { return Ok(()) };
        let Ok(made) = EntryPoints::from_bytes(&stored, &jpeg) else { return Ok(()) };
        if jpeg.n_blocks > 1 << 16 {
            return Ok(());
        }
        let mut out = Vec::new();
        if let Some(found) = cut(&jpeg, &bytes, &made, row..row + 9, 1, &mut out) {
            prop_assert!(found.first_row < jpeg.height);
            let part = parse(&out).unwrap();
            prop_assert_eq!((part.width, part.height), (jpeg.width, found.n_rows));
            drop(reference::coefficients(&part, &out));
        }
    }
}
