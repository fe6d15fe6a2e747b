//! The coefficients equal those of the slow reference, by every kind of entropy decoding.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{N_WAYS, QUALITIES, kinds, part, photographs, stored, zigzag};
use crate::synthetic;
use fdconvert_jpeg::{EntryPoints, GRIDS_BITS, Jpeg, parse, reference};
use fdconvert_jpeg_decode::{Block, Entropy, Error, Instructions, coefficients};
use fdconvert_testkit::fixtures::pixels;

fn by_reference(jpeg: &Jpeg, bytes: &[u8]) -> Vec<Block> {
    let zigzag = zigzag();
    let in_zigzag = |block: reference::Block| std::array::from_fn(|place| block[zigzag[place]]);
    reference::coefficients(jpeg, bytes).unwrap().into_iter().map(in_zigzag).collect()
}

fn check(name: &str, bytes: &[u8], grids: &[u32]) {
    let jpeg = parse(bytes).unwrap();
    let expected = by_reference(&jpeg, bytes);
    let made = grids.iter().map(|grid| EntryPoints::build(&jpeg, bytes, *grid).unwrap());
    let made: Vec<_> = made.collect();
    for entry_points in made.iter().map(Some).chain([None]) {
        for (entropy, found) in with_all(&jpeg, bytes, entry_points) {
            let grid = entry_points.map(EntryPoints::grid_bits);
            assert!(found.unwrap() == expected, "{name}, grid {grid:?}, {entropy:?}");
        }
    }
}

type Found = Result<Vec<Block>, Error>;

fn with_all(jpeg: &Jpeg, bytes: &[u8], made: Option<&EntryPoints>) -> Vec<(Entropy, Found)> {
    let here = Instructions::ALL.into_iter().filter(|it| it.are_here());
    let ways = here.flat_map(|it| {
        kinds(it, &[1, 2, 3, 4, 5, 6, 7, 8]).into_iter().map(move |entropy| (it, entropy))
    });
    ways.map(|(it, entropy)| (entropy, coefficients(jpeg, bytes, made, entropy, it))).collect()
}

#[test]
fn photographs_in_every_way() {
    for (number, image) in photographs().iter().enumerate() {
        let image = part(image, (100, 50), (251, 187));
        for way in (number % 3..N_WAYS).step_by(3) {
            let quality = QUALITIES[(number + way) % 4];
            let bytes = stored(&image, quality, way);
            let name = format!("photograph {number}, quality {quality}, way {way}");
            check(&name, &bytes, &GRIDS_BITS[number % 4..=number % 4]);
        }
    }
}

#[test]
fn whole_photographs() {
    for (number, image) in photographs().iter().enumerate().step_by(5) {
        let bytes = stored(image, QUALITIES[number % 4], number);
        check(&format!("photograph {number}"), &bytes, &[512]);
    }
}

#[test]
fn small_images() {
    for (number, (width, height)) in
        [(1, 1), (2, 9), (8, 8), (17, 9), (16, 33), (35, 34), (100, 75)].into_iter().enumerate()
    {
        for way in 0..N_WAYS {
            let image = pixels(width, height, 3, way as u64);
            let bytes = stored(&image, QUALITIES[(number + way) % 4], way);
            check(&format!("{width}x{height}, way {way}"), &bytes, &GRIDS_BITS);
        }
    }
}

/// Codes and values of every length, including the longest, in any sampling.
#[test]
fn made_up_coefficients() {
    for (seed, sampling) in (1..).zip([
        &[(1, 1)][..],
        &[(2, 2), (1, 1), (1, 1)],
        &[(4, 1), (2, 1), (1, 1)],
        &[(1, 1), (2, 2), (1, 2)],
    ]) {
        for (restart_interval, n_values) in [(0, 64), (1, 5), (3, 0)] {
            let recipe = synthetic::Recipe::new(70, 50, sampling);
            let recipe = synthetic::Recipe { restart_interval, n_values, seed, ..recipe };
            check(&format!("{recipe:?}"), &synthetic::jpeg(&recipe).0, &GRIDS_BITS);
        }
    }
}

/// Entry points of another image of the same size fit its blocks, but not its bits. Not all of them
/// are used, so they must do no harm.
#[test]
fn entry_points_of_another_image_change_nothing() {
    let photographs = photographs();
    let [first, second] =
        [0, 1].map(|it| stored(&part(&photographs[it], (0, 0), (200, 100)), 90, 0));
    let jpeg = parse(&first).unwrap();
    let others = EntryPoints::build(&parse(&second).unwrap(), &second, 512).unwrap();
    let (expected, mut n_refused) = (by_reference(&jpeg, &first), 0);
    for (_, found) in with_all(&jpeg, &first, Some(&others)) {
        match found {
            Ok(found) => assert!(found == expected),
            Err(Error::Damaged { .. } | Error::OtherEntryPoints { .. }) => n_refused += 1,
            Err(error) => panic!("another error: {error}"),
        }
    }
    assert!(n_refused > 8, "{n_refused}");
}
