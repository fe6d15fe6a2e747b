//! Damaged JPEGs have one verdict, whether our decoder is tried first or not: the same pixels and
//! notes, or an error.
#![cfg(feature = "turbo")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use crate::common::encoded;
use fdconvert_codec::{Decoder, Encoder, JpegOptions, Region, Subsampling, Wanted};
use fdconvert_core::{Codec, Encoded, Limits};
use fdconvert_jpeg::stored_entry_points;
use fdconvert_testkit::fixtures::{Random, pixels};

/// Files of many kinds, small enough that many can be tried; some are large enough to decode at
/// several places at once.
fn files() -> Vec<Vec<u8>> {
    use Subsampling::{S420, S422, S444};
    let mut files = Vec::new();
    for (number, (width, height)) in
        [(45, 37), (64, 64), (17, 90), (330, 250), (400, 300)].into_iter().enumerate()
    {
        for (subsampling, optimize_huffman, restart_rows) in
            [(S420, false, 0), (S422, true, 0), (S444, true, 1), (S420, false, 2)]
        {
            let quality = [30, 75, 90, 97, 60][number];
            let channels = if restart_rows == 2 { 1 } else { 3 };
            let image = pixels(width, height, channels, number as u64);
            let options = JpegOptions { quality, subsampling, optimize_huffman, restart_rows };
            let made = Encoder::new().encode("x", &image, Codec::Jpeg, &options, None).unwrap();
            files.push(made.bytes.to_vec());
        }
    }
    files
}

fn damage(random: &mut Random, file: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let any = |random: &mut Random, below: usize| random.below(below as u64) as usize;
    for _ in 0..1 + random.below(3) {
        // Markers are a small part of a file, but get half of the damage.
        let head = random.below(2) == 0;
        let at = any(random, if head { bytes.len().min(700) } else { bytes.len() });
        match random.below(6) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.below(256) as u8,
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, random.below(256) as u8),
            _ if head => bytes[at] = 0xFF,
            _ => {
                bytes.truncate(at.max(4));
                if random.below(2) == 0 {
                    bytes.extend([0xFF, 0xD9]);
                }
            }
        }
        if bytes.len() < 8 {
            break;
        }
    }
    bytes
}

fn compare(n_files: u64, seed: u64) {
    let mut random = Random::new(seed);
    let (mut decoder, mut backend) = (Decoder::new(), Decoder::of_backend());
    let limits = Limits::DEFAULT;
    let files = files();
    let stored: Vec<_> = files.iter().map(|it| stored_entry_points(it, 512).unwrap()).collect();
    let (mut n_sound, mut n_refused) = (0, 0);
    // libjpeg-turbo's NEON code treats coefficients that no encoder makes in another way.
    let differs = cfg!(not(target_arch = "x86_64"));
    for number in 0..n_files {
        let which = random.below(files.len() as u64) as usize;
        let intact = encoded(files[which].clone());
        let bytes = damage(&mut random, &files[which]);
        let mut image = Encoded::new(Codec::Jpeg, intact.width, intact.height, bytes.into());
        let due = backend.decode("k", &image, &limits).ok();
        if number % 2 == 1 {
            image.entry_points = Some(stored[which].clone().into());
        }
        let found = decoder.decode("k", &image, &limits).ok();
        match due.is_some() {
            true => n_sound += 1,
            false => n_refused += 1,
        }
        let verdicts = (found.is_some(), due.is_some());
        let is_same = found == due || differs && verdicts.0 == verdicts.1;
        assert!(is_same, "file {number}, made of {which}: {verdicts:?}, {:?}", &image.bytes[..]);
        // Parts may leave out the damage: if both have pixels, they are the same.
        let (width, height) = (intact.width, intact.height / 2);
        let region = Region { x: 0, y: height / 2, width, height };
        let wanted = Wanted { region, shrink: 1, entry_points: None, luma: false };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let found = decoder.decode_part_with("k", &image, &limits, &wanted, &mut ours);
        let due = backend.decode_part_with("k", &image, &limits, &wanted, &mut theirs);
        if let (Ok(found), Ok(due)) = (found, due)
            && found.region == due.region
        {
            assert!(ours == theirs || differs, "part of file {number}, made of {which}");
        }
    }
    println!("{n_sound} decoded, {n_refused} refused, the same by both");
    assert!(n_sound > n_files / 20 && n_refused > n_files / 4, "{n_sound}, {n_refused}");
}

/// A file without tables does not get those of the previous image.
#[test]
fn tables_of_another_image_are_not_used() {
    let whole = files().swap_remove(0);
    let image = |bytes: Vec<u8>| Encoded::new(Codec::Jpeg, 45, 37, bytes.into());
    for marker in [0xDB, 0xC4] {
        let at = whole.windows(2).position(|it| it == [0xFF, marker]).unwrap();
        let length = usize::from(u16::from_be_bytes([whole[at + 2], whole[at + 3]]));
        let without = [&whole[..at], &whole[at + 2 + length..]].concat();
        for mut decoder in [Decoder::new(), Decoder::of_backend()] {
            let first = decoder.decode("k", &image(without.clone()), &Limits::DEFAULT).ok();
            decoder.decode("k", &image(whole.clone()), &Limits::DEFAULT).unwrap();
            let found = decoder.decode("k", &image(without.clone()), &Limits::DEFAULT).ok();
            assert!(found == first, "without a table, marker {marker:#x}");
            // libjpeg uses the standard's codes if there are none.
            assert_eq!(found.is_some(), marker == 0xC4);
        }
    }
}

#[test]
fn damaged_files_have_one_verdict() {
    compare(1500, 1);
}

#[test]
#[ignore = "minutes"]
fn many_damaged_files_have_one_verdict() {
    compare(100_000, 2);
}
