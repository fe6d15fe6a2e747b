//! The coefficients that vectors read equal those of libjpeg-turbo. Unlike tests from outside, these
//! notice if vectors refuse an image, which the portable code would then decode.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#[path = "../../tests/jpeg_decode/common/turbo.rs"]
mod turbo;

use super::*;
use crate::{guess::Guesses, instructions::Base};
use fdconvert_jpeg::parse;
use fdconvert_testkit::{
    fixtures::{JPEG_420, JPEG_444, JPEG_GRAY, photos},
    workload::files_below,
};

/// Compares all kinds, streams with guessed starts included. Returns the number of blocks, without
/// those that only fill MCUs.
fn check(name: &str, jpeg: &Jpeg, bytes: &[u8]) -> Option<usize> {
    let data = unstuff(jpeg, bytes).ok()?;
    // libjpeg-turbo would take memory for any size that a header claims.
    entropy::check_claims(jpeg, &data).ok()?;
    let expected = turbo::coefficients(bytes)?;
    let best = Loops::new(Instructions::best())?;
    let base = best.base()?;
    let mut found = vec![("no entry points".to_owned(), without_entry_points(jpeg, &data, base))];
    let lanes: &[_] = match best {
        #[cfg(target_arch = "x86_64")]
        Loops::Avx512(..) => &[Entropy::Lanes(1), Entropy::Lanes(2)],
        _ => &[],
    };
    for grid in [512, 2048] {
        let entry_points = EntryPoints::build(jpeg, bytes, grid).unwrap();
        for entropy in lanes.iter().copied().chain([Entropy::Streams(6)]) {
            let mut runs = Runs::of_entry_points(jpeg, &data, &entry_points, 0).unwrap().1;
            let blocks = by_vectors(jpeg, &data, &mut runs, entropy, best);
            found.push((format!("{entropy:?}, grid {grid}"), blocks));
        }
    }
    let mut n_blocks = 0;
    for (way, blocks) in found {
        let blocks = blocks.unwrap_or_else(|| panic!("{name}: refused by {way}"));
        n_blocks = compare(jpeg, &blocks, &expected)
            .unwrap_or_else(|block| panic!("{name}, {way}: block {block} differs"));
    }
    Some(n_blocks)
}

fn without_entry_points(jpeg: &Jpeg, data: &Unstuffed, base: Base) -> Option<Vec<Block>> {
    let (mut streams, mut window) = (Interleaved::new(base), Window::default());
    streams.prepare(jpeg, data, false)?;
    if jpeg.n_restarts() > 0 {
        let mut runs = Runs::of_restarts(jpeg, data, 0).1;
        streams.decode(data, &mut runs, &(0..jpeg.n_blocks), 6, &mut window)?;
    }
    let mut guesses = Guesses::new();
    while window.half_of.len() < jpeg.n_blocks as usize {
        guesses.decode(&mut streams, jpeg, data, jpeg.n_blocks, 6, &mut window)?;
    }
    let (blocks, are_sound) = summed(jpeg, window);
    are_sound.then_some(blocks)
}

/// Returns the number of blocks of all components, or the first block that differs.
fn compare(jpeg: &Jpeg, found: &[Block], expected: &[turbo::Plane]) -> Result<usize, usize> {
    let n_due: usize = expected.iter().map(|plane| plane.columns * plane.rows).sum();
    let (mut n_compared, n_slots, places) = (0, jpeg.slots.len(), turbo::zigzag());
    for (number, block) in found.iter().enumerate() {
        let (mcu, slot) = (number / n_slots, jpeg.slots[number % n_slots]);
        let (component, plane) =
            (jpeg.components[usize::from(slot.component)], &expected[usize::from(slot.component)]);
        let mcus_x = jpeg.mcus_x as usize;
        let x = mcu % mcus_x * usize::from(component.h) + usize::from(slot.x);
        let y = mcu / mcus_x * usize::from(component.v) + usize::from(slot.y);
        if x >= plane.columns || y >= plane.rows {
            continue;
        }
        let expected = &plane.blocks[y * plane.columns + x];
        if places.iter().zip(block).any(|(place, value)| expected[*place] != *value) {
            return Err(number);
        }
        n_compared += 1;
    }
    if n_compared == n_due { Ok(n_compared) } else { Err(found.len()) }
}

#[test]
fn fixtures_as_libjpeg_turbo() {
    if Instructions::best() == Instructions::Portable {
        return;
    }
    let mut files: Vec<_> = [JPEG_420, JPEG_444, JPEG_GRAY].map(<[u8]>::to_vec).into();
    files.extend(files_below(&photos()).unwrap().iter().map(|it| std::fs::read(it).unwrap()));
    let mut n_blocks = 0;
    for (number, bytes) in files.iter().enumerate() {
        let Ok(jpeg) = parse(bytes) else { continue };
        n_blocks += check(&number.to_string(), &jpeg, bytes).unwrap();
    }
    assert!(n_blocks > 1000, "{n_blocks}");
}

/// Compares the JPEGs of all folders in `JPEG_FOLDERS`, and counts them.
#[test]
#[ignore = "needs folders of JPEGs in JPEG_FOLDERS, separated as in PATH; run it with --nocapture"]
#[allow(clippy::print_stdout, reason = "the counts are what it is run for")]
fn folders_as_libjpeg_turbo() {
    let folders = std::env::var_os("JPEG_FOLDERS").expect("JPEG_FOLDERS names folders");
    for folder in std::env::split_paths(&folders) {
        let (mut n_images, mut n_blocks, mut left_out) = (0, 0, Vec::new());
        for file in files_below(&folder).unwrap() {
            let bytes = std::fs::read(&file).unwrap();
            let name = file.display().to_string();
            match parse(&bytes).ok().and_then(|jpeg| check(&name, &jpeg, &bytes)) {
                Some(n) => (n_images, n_blocks) = (n_images + 1, n_blocks + n),
                None => left_out.push(name),
            }
        }
        assert!(n_images > 0, "{}", folder.display());
        println!("{}: {n_images} images, {n_blocks} blocks, the same", folder.display());
        println!("left out, refused by the parser or libjpeg-turbo: {left_out:?}");
    }
}
