//! The area filter equals its slow twin bit for bit, with all instructions; refusals.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::oracle;
use fdconvert_core::Pixels;
use fdconvert_resize::{Filter, Instructions, Resizer};
use proptest::prelude::*;

pub(crate) fn noise(width: u32, height: u32, channels: u8, seed: u64) -> Pixels {
    let length = Pixels::byte_len(width, height, channels) as usize;
    let mut state = seed | 1;
    let data = (0..length).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Mostly noise, with runs of the extremes, where rounding saturates.
        match state >> 60 {
            0 => 255,
            1 => 0,
            _ => (state >> 40) as u8,
        }
    });
    Pixels { width, height, channels, data: data.collect() }
}

fn check(pixels: &Pixels, width: u32, height: u32) {
    let expected = oracle::area(pixels, width as usize, height as usize);
    for instructions in Instructions::ALL {
        let Some(mut resizer) = Resizer::with(instructions) else { continue };
        let mut out = vec![77; 5];
        resizer.resize("k", pixels, (width, height), Filter::Area, &mut out).unwrap();
        let differing = out.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(
            (out.len(), differing),
            (expected.len(), 0),
            "{instructions:?}: {}x{} to {width}x{height}",
            pixels.width,
            pixels.height
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn area_equals_the_oracle_with_all_instructions(
        (width, to_width) in (1..90u32).prop_flat_map(|n| (Just(n), 1..=n)),
        (height, to_height) in (1..90u32).prop_flat_map(|n| (Just(n), 1..=n)),
        channels in prop::sample::select(vec![1u8, 3, 4]),
        seed: u64,
    ) {
        check(&noise(width, height, channels, seed), to_width, to_height);
    }

    #[test]
    fn whole_ratios_equal_the_oracle(
        across in 1..6u32, down in 1..6u32, width in 1..20u32, height in 1..20u32,
        channels in prop::sample::select(vec![1u8, 3, 4]),
        seed: u64,
    ) {
        check(&noise(width * across, height * down, channels, seed), width, height);
    }
}

#[test]
fn real_sizes_equal_the_oracle() {
    for (width, height, to_width, to_height) in
        [(768, 512, 256, 170), (531, 400, 499, 376), (512, 384, 256, 192), (600, 400, 200, 100)]
    {
        check(&noise(width, height, 3, 5), to_width, to_height);
    }
}

#[test]
fn instructions_above_the_portable_ones_are_tested_where_there_are_any() {
    let here: Vec<_> = Instructions::ALL.into_iter().filter(|it| it.are_here()).collect();
    eprintln!("tested with {here:?}");
    assert_eq!(here.first(), Some(&Instructions::Portable));
    assert_eq!(here.last(), Some(&Instructions::best()));
}

#[test]
fn every_filter_keeps_a_flat_colour_and_reuses_its_buffers() {
    let mut resizer = Resizer::new();
    let mut out = Vec::new();
    for filter in [Filter::Area, Filter::Lanczos3, Filter::Bilinear] {
        for channels in [1u8, 3, 4] {
            for (width, height) in [(64, 48), (31, 17), (1, 1)] {
                let data = vec![200; Pixels::byte_len(width, height, channels) as usize];
                let pixels = Pixels { width, height, channels, data };
                let (to_width, to_height) = (width.div_ceil(3), height.div_ceil(2));
                resizer.resize("k", &pixels, (to_width, to_height), filter, &mut out).unwrap();
                let expected = Pixels::byte_len(to_width, to_height, channels) as usize;
                // Colour under an alpha of 200 is premultiplied and divided again.
                assert!(out.len() == expected && out.iter().all(|v| v.abs_diff(200) <= 1));
            }
        }
    }
}

#[test]
fn what_cannot_be_resized_is_refused_by_name() {
    let mut resizer = Resizer::new();
    let mut out = Vec::new();
    let good = noise(8, 8, 3, 1);
    let short = Pixels { data: vec![0; 5], ..good.clone() };
    let odd = Pixels { channels: 2, data: vec![0; 128], ..good.clone() };
    for (pixels, size) in [(&good, (9, 8)), (&good, (8, 0)), (&short, (4, 4)), (&odd, (4, 4))] {
        let error = resizer.resize("a/b.png", pixels, size, Filter::Area, &mut out).unwrap_err();
        assert!(error.to_string().contains("a/b.png"), "{error}");
    }
}
