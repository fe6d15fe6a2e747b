//! Any bytes give a result: no panic, no endless loop, nothing outside the image.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::synthetic::{self, Recipe};
use fdconvert_jpeg::{EntryPoints, GRIDS_BITS, Jpeg, parse, reference, region, unstuff};
use fdconvert_testkit::fixtures::{JPEG_420, JPEG_444, JPEG_GRAY};
use proptest::prelude::*;

/// Small files, with and without restarts.
fn files() -> Vec<Vec<u8>> {
    let restarts = Recipe { restart_interval: 2, ..Recipe::new(40, 24, &[(2, 1), (1, 1), (1, 1)]) };
    let synthetic = synthetic::jpeg(&restarts).0;
    vec![JPEG_420.to_vec(), JPEG_444.to_vec(), JPEG_GRAY.to_vec(), synthetic]
}

/// Decodes the bytes as far as possible. The fast walk must accept the same scans as the slow
/// decoder, which must also decode from every entry point.
fn explore(bytes: &[u8]) {
    let Ok(jpeg) = parse(bytes) else { return };
    // Images claimed by mutated headers may take long to decode slowly, but not to walk.
    let built = EntryPoints::build(&jpeg, bytes, 512);
    if jpeg.n_blocks > 1 << 16 {
        return;
    }
    match built {
        Ok(made) => {
            let sequential = reference::coefficients(&jpeg, bytes).unwrap();
            assert!(reference::coefficients_from(&jpeg, bytes, &made).unwrap() == sequential);
            assert_eq!(EntryPoints::from_bytes(&made.to_bytes(), &jpeg), Ok(made));
        }
        Err(_) => drop(reference::coefficients(&jpeg, bytes)),
    }
}

#[test]
fn every_truncation() {
    for file in files() {
        for len in 0..file.len() {
            explore(&file[..len]);
            let ended = [&file[..len], &[0xFF, 0xD9]].concat();
            explore(&ended);
        }
    }
}

#[test]
fn every_changed_byte() {
    for file in files() {
        for at in 0..file.len() {
            let mut changed = file.clone();
            for byte in 0..=255 {
                changed[at] = byte;
                explore(&changed);
            }
        }
    }
}

/// Accepted stored bytes cover the image in order, and encode to the same bytes.
fn explore_stored(stored: &[u8], jpeg: &Jpeg, bytes: &[u8]) {
    let Ok(made) = EntryPoints::from_bytes(stored, jpeg) else { return };
    let mut block = 0;
    for (number, segment) in made.segments().iter().enumerate() {
        assert_eq!(segment.block, block);
        assert!(segment.n_blocks > 0);
        assert!(!made.segment_bits(number).is_empty());
        block += segment.n_blocks;
    }
    assert_eq!(block, jpeg.n_blocks);
    assert!(made.total_bits() as usize <= jpeg.scan.len() * 8);
    assert!(GRIDS_BITS.contains(&made.grid_bits()));
    let resets = made.segments().iter().filter(|segment| segment.resets).count();
    assert_eq!(resets, jpeg.n_restarts() as usize + 1);
    assert_eq!(EntryPoints::from_bytes(&made.to_bytes(), jpeg), Ok(made.clone()));
    drop(region(jpeg, &made, 3..9, 1..30));
    let data = unstuff(jpeg, bytes).unwrap();
    for segment in made.segments() {
        drop(reference::segment(jpeg, &data, segment));
    }
}

#[test]
fn every_change_of_stored_entry_points() {
    for file in files() {
        let jpeg = parse(&file).unwrap();
        for grid_bits in GRIDS_BITS {
            let stored = EntryPoints::build(&jpeg, &file, grid_bits).unwrap().to_bytes();
            for len in 0..stored.len() {
                assert!(EntryPoints::from_bytes(&stored[..len], &jpeg).is_err());
            }
            for at in 0..stored.len() {
                let mut changed = stored.clone();
                for byte in 0..=255 {
                    changed[at] = byte;
                    explore_stored(&changed, &jpeg, &file);
                }
            }
            let longer = [&stored[..], &[0]].concat();
            assert!(EntryPoints::from_bytes(&longer, &jpeg).is_err());
        }
    }
}

/// Entry points of an image are refused for images with another number of blocks: their counts have
/// another sum. (Those of a single interval contain nothing that could be wrong.)
#[test]
fn entry_points_of_another_image() {
    let recipes = [
        Recipe::new(200, 130, &[(1, 1)]),
        Recipe::new(192, 130, &[(1, 1)]),
        Recipe::new(200, 130, &[(2, 2), (1, 1), (1, 1)]),
        Recipe { restart_interval: 9, ..Recipe::new(200, 136, &[(1, 1)]) },
    ];
    let files = recipes.map(|recipe| synthetic::jpeg(&recipe).0);
    for (number, file) in files.iter().enumerate() {
        let jpeg = parse(file).unwrap();
        let stored = EntryPoints::build(&jpeg, file, 512).unwrap().to_bytes();
        for (other_number, other) in files.iter().enumerate() {
            let read = EntryPoints::from_bytes(&stored, &parse(other).unwrap());
            assert_eq!(read.is_ok(), number == other_number, "{number} for {other_number}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes: Vec<u8>, split in 0..400usize) {
        explore(&bytes);
        explore(&[&[0xFF, 0xD8][..], &bytes].concat());
        // After a sound header.
        explore(&[&JPEG_420[..split.min(JPEG_420.len())], &bytes].concat());
    }

    #[test]
    fn any_scan(scan in proptest::collection::vec(any::<u8>(), 0..600)) {
        for file in files() {
            let jpeg = parse(&file).unwrap();
            explore(&[&file[..jpeg.scan.start], &scan].concat());
        }
    }

    #[test]
    fn any_stored_bytes(mut stored: Vec<u8>, n_bits in 0..3000u16) {
        for file in files() {
            let jpeg = parse(&file).unwrap();
            explore_stored(&stored, &jpeg, &file);
            // After a sound start.
            let total = [n_bits as u8 | 128, (n_bits >> 7) as u8];
            let start = [&[0x20, 0x33][..], &total].concat();
            stored.splice(..stored.len().min(4), start);
            explore_stored(&stored, &jpeg, &file);
        }
    }
}
