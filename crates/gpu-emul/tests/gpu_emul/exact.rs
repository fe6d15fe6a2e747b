//! The kernels give the coefficients of the reference and the pixels of libjpeg-turbo.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use crate::common::{Named, by_libjpeg, of_all_sorts, originals, photographs, small};
use crate::synthetic;
use fdconvert_gpu::{Fallback, Limits, Output, Plan, Request, Status};
use fdconvert_gpu_emul::decode;
use fdconvert_jpeg::{EntryPoints, GRIDS_BITS, parse, reference};
use fdconvert_testkit::needs_shared;

#[derive(Default)]
struct Count {
    decodings: usize,
    refused: usize,
    coefficients: usize,
    samples: usize,
    differing: usize,
}

impl Count {
    fn report(&self, what: &str) {
        println!(
            "{what}: {} decodings, {} images refused, {} coefficients and {} samples compared, {} differ",
            self.decodings, self.refused, self.coefficients, self.samples, self.differing
        );
        assert_eq!(self.differing, 0, "{what}");
        assert!(self.decodings > 0, "{what}");
    }
}

/// Decodes one image alone, with each of the grids, and counts differences.
fn check(name: &str, bytes: &[u8], grids_bits: &[u32], count: &mut Count) {
    let Ok(jpeg) = parse(bytes) else {
        count.refused += 1;
        return;
    };
    let expected = reference::coefficients(&jpeg, bytes).unwrap();
    let pixels = by_libjpeg(bytes, jpeg.width, jpeg.height);
    for grid_bits in grids_bits {
        let entry_points = EntryPoints::build(&jpeg, bytes, *grid_bits).unwrap().to_bytes();
        let request = Request::whole(bytes, Some(&entry_points));
        let plan = Plan::new(&[request], Output::Native, Limits::DEFAULT);
        let decoded = decode(&plan, &[request]);
        let statuses = plan.statuses(&decoded.states);
        assert_eq!(statuses, [Status::Decoded], "{name}, {grid_bits} bits");
        let differing = differing(decoded.coefficients.as_flattened(), expected.as_flattened());
        assert_eq!(differing, 0, "{name}, {grid_bits} bits: coefficients");
        count.decodings += 1;
        count.coefficients += expected.len() * 64;
        let Some(pixels) = &pixels else { continue };
        let differing_samples = self::differing(&decoded.output, &pixels.data);
        if differing_samples > 0 {
            println!("{name}, {grid_bits} bits: {differing_samples} samples differ");
        }
        count.samples += pixels.data.len();
        count.differing += differing + differing_samples;
    }
}

fn differing<T: PartialEq>(found: &[T], expected: &[T]) -> usize {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).filter(|(found, expected)| found != expected).count()
}

fn check_all(what: &str, images: &[Named], all_grids: bool) {
    let mut count = Count::default();
    for (number, (name, bytes)) in images.iter().enumerate() {
        let one = &GRIDS_BITS[number % 4..=number % 4];
        check(name, bytes, if all_grids { &GRIDS_BITS } else { one }, &mut count);
    }
    count.report(what);
}

#[test]
fn small_images() {
    check_all("small images", &small(), true);
}

#[test]
fn photographs_in_the_repository() {
    check_all("photographs", &photographs(2), true);
}

#[test]
fn photographs_of_all_sorts() {
    check_all("photographs of other encoders", &of_all_sorts(), true);
}

needs_shared! {
    fn originals_beside_the_repository() {
        check_all("originals", &originals(), true);
    }
}

/// Synthetic coefficients, for the samplings that no encoder here writes: factors of 3 and 4,
/// chroma that is finer than luma, components of three different sizes.
#[test]
fn any_sampling() {
    let mut count = Count::default();
    for (seed, sampling) in (1..).zip([
        &[(4, 1), (1, 1), (1, 1)][..],
        &[(1, 4), (1, 1), (1, 1)],
        &[(4, 2), (1, 1), (1, 1)],
        &[(3, 1), (1, 1), (1, 1)],
        &[(1, 1), (2, 2), (1, 2)],
        &[(2, 2), (2, 1), (1, 2)],
        &[(2, 2), (1, 2), (2, 2)],
        &[(4, 1), (2, 1), (1, 1)],
        &[(2, 2)],
    ]) {
        for (width, height) in [(1, 1), (5, 3), (17, 33), (40, 70)] {
            for restart_interval in [0, 1, 2] {
                let recipe = synthetic::Recipe {
                    restart_interval,
                    seed,
                    n_values: 3,
                    ..synthetic::Recipe::new(width, height, sampling)
                };
                let (mut bytes, _) = synthetic::jpeg(&recipe);
                soften(&mut bytes);
                check(&format!("{recipe:?}"), &bytes, &GRIDS_BITS, &mut count);
            }
        }
    }
    count.report("made up");
}

/// Sets all quantisation factors to 1: with large ones the values would leave the range in which
/// decoders agree.
fn soften(bytes: &mut [u8]) {
    let mut at = 2;
    while bytes[at..at + 2] != [0xFF, 0xDA] {
        let n_bytes = usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
        match bytes[at..at + 2] {
            [0xFF, 0xDB] if n_bytes == 67 => bytes[at + 5..at + 69].fill(1),
            [0xFF, 0xDB] => {
                bytes[at + 5..at + 133].chunks_mut(2).for_each(|it| it.copy_from_slice(&[0, 1]));
            }
            [0xFF, 0xFF] => {
                at += 1;
                continue;
            }
            _ => {}
        }
        at += 2 + n_bytes;
    }
}

#[test]
fn samplings_that_libjpeg_refuses_are_left_to_the_caller() {
    let recipe = synthetic::Recipe::new(20, 20, &[(3, 1), (2, 1), (1, 1)]);
    let (bytes, _) = synthetic::jpeg(&recipe);
    let jpeg = parse(&bytes).unwrap();
    let entry_points = EntryPoints::build(&jpeg, &bytes, 512).unwrap().to_bytes();
    let request = Request::whole(&bytes, Some(&entry_points));
    let plan = Plan::new(&[request], Output::Native, Limits::DEFAULT);
    let sampling = Fallback::Sampling { h: 2, v: 1, max_h: 3, max_v: 1 };
    assert_eq!(plan.statuses(&[]), [Status::Fallback(sampling)]);
}
