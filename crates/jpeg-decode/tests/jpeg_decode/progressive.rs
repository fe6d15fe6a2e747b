//! Progressive files have the pixels of libjpeg-turbo, or are left to it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::{
    common::{N_WAYS, QUALITIES, decoders, part, photographs, stored, turbo::progressive},
    damage::explore,
    parts,
};
use fdconvert_jpeg::{Refused, marker, marker_segments};
use fdconvert_jpeg_decode::{Damage, Decoder, Error, Header, Options, Unsupported};
use fdconvert_testkit::fixtures::{Random, pixels};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// Encodes with an encoder whose scans are bands of all bits, of any number.
fn in_bands(side: (u16, u16), sampling: SamplingFactor, n_scans: u8) -> Vec<u8> {
    let image = pixels(side.0.into(), side.1.into(), 3, n_scans.into());
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 90);
    encoder.set_sampling_factor(sampling);
    encoder.set_progressive_scans(n_scans);
    encoder.encode(&image.data, side.0, side.1, ColorType::Rgb).unwrap();
    bytes
}

/// Small files: gray, of all samplings, and of two encoders.
fn files() -> Vec<Vec<u8>> {
    let ways = [0, 1, 2, 6, 7, 11].into_iter();
    let made = ways.map(|way| progressive(&stored(&pixels(45, 37, 3, way as u64), 90, way)));
    made.chain([in_bands((45, 37), SamplingFactor::F_2_2, 7)]).collect()
}

/// The ends of the headers of all scans.
fn scans(file: &[u8]) -> Vec<usize> {
    let segments = marker_segments(file).filter(|it| it.marker == marker::SOS);
    segments.map(|it| it.end).collect()
}

fn refused(file: &[u8]) -> Error {
    let header = Header::read(file).unwrap();
    let mut out = vec![0; header.n_bytes(&Options::default()) as usize];
    Decoder::new().decode(file, &Options::default(), &mut out).unwrap_err()
}

#[test]
fn parts_of_photographs_in_every_way() {
    let mut decoders = decoders();
    for (number, image) in photographs().iter().enumerate() {
        let image = part(image, (300, 200), (211, 187));
        for way in (number % 3..N_WAYS).step_by(3) {
            let quality = QUALITIES[(number + way) % 4];
            let bytes = progressive(&stored(&image, quality, way + number / 4 * N_WAYS));
            let name = format!("photograph {number}, quality {quality}, way {way}");
            parts::check(&mut decoders, &name, &bytes, 2, (number * N_WAYS + way) as u64);
        }
    }
}

#[test]
fn every_small_size() {
    let mut decoders = decoders();
    for width in 1..=35 {
        for height in (1 + width % 3..=35).step_by(3) {
            let seed = u64::from(width * 35 + height);
            let bytes = stored(&pixels(width, height, 3, seed), 90, (seed * 5) as usize);
            let name = format!("{width}x{height}");
            parts::check(&mut decoders, &name, &progressive(&bytes), 0, seed);
        }
    }
}

#[test]
fn bands_of_another_encoder() {
    use SamplingFactor::{F_1_1, F_1_2, F_2_1, F_2_2, F_4_1};
    let mut decoders = decoders();
    for (n_scans, sampling) in (2..=64).zip([F_1_1, F_1_2, F_2_1, F_2_2, F_4_1].iter().cycle()) {
        let file = in_bands((70, 53), *sampling, n_scans);
        let name = format!("{n_scans} scans, {sampling:?}");
        if scans(&file).len() > 64 {
            assert!(matches!(refused(&file), Error::Unsupported(_)), "{name}");
        } else {
            parts::check(&mut decoders, &name, &file, 1, n_scans.into());
        }
    }
}

#[test]
fn changed_bytes() {
    let (mut decoders, mut random) = (decoders(), Random::new(4));
    let (mut n_decoded, mut n_refused) = (0, 0);
    for file in files() {
        let start = scans(&file)[0];
        for number in 0..400 {
            let mut changed = file.clone();
            for _ in 0..1 + number % 3 {
                let at = start + random.below((file.len() - start) as u64) as usize;
                changed[at] ^= 1 << random.below(8);
            }
            match explore(&mut decoders, &changed, &[], 1) {
                true => n_decoded += 1,
                false => n_refused += 1,
            }
        }
    }
    assert!(n_decoded > 50 && n_refused > 50, "{n_decoded} decoded, {n_refused} refused");
}

/// Cut anywhere, also between two scans, some bits of values are missing.
#[test]
fn cut_scans() {
    let mut decoders = decoders();
    for file in files() {
        let scans = scans(&file);
        let ends = (scans[0]..file.len() - 2).step_by(7);
        let between = marker_segments(&file).map(|it| it.at).filter(|at| *at > scans[0]);
        for end in ends.chain(between.filter(|at| *at < file.len() - 2)) {
            let cut = [&file[..end], &[0xFF, 0xD9]].concat();
            assert!(!explore(&mut decoders, &cut, &[], 1), "cut at {end}");
        }
        let longer = [&file[..file.len() - 2], &[0x12], &file[file.len() - 2..]].concat();
        assert!(!explore(&mut decoders, &longer, &[], 1), "a byte more");
    }
}

#[test]
fn what_does_not_continue_the_scans_before_is_left_to_libjpeg() {
    let file = &files()[0];
    let scans = scans(file);
    let progression = |file: &[u8]| {
        matches!(refused(file), Error::Unsupported(Unsupported::File(Refused::Progression { .. })))
    };
    // A bit that was there; a scan twice; restarts.
    let mut changed = file.clone();
    changed[scans[scans.len() - 1] - 1] = 0x21;
    assert!(progression(&changed));
    let segments: Vec<_> = marker_segments(file).collect();
    let [.., before, last] = &segments[..] else { panic!("no segments") };
    let scan = &file[before.at..last.at];
    assert!(progression(&[&file[..last.at], scan, &file[last.at..]].concat()));
    let restarts = [0xFF, marker::DRI, 0, 4, 0, 1];
    assert!(progression(&[&file[..2], &restarts, &file[2..]].concat()));
}

/// A header that claims a large image allocates no memory for blocks that cannot exist.
#[test]
fn claims_are_checked() {
    let mut file = files()[0].clone();
    let frame = file.windows(2).position(|it| it == [0xFF, 0xC2]).unwrap();
    file[frame + 5..frame + 9].copy_from_slice(&[0x0F; 4]);
    assert!(matches!(refused(&file), Error::Damaged { what: Damage::DataEnds, .. }));
}
