//! Damaged files give an error or the pixels of libjpeg-turbo: no panic, and no other pixels.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::{by_libjpeg, decoders, kind, part, photographs, stored};
use fdconvert_jpeg::{parse, stored_entry_points};
use fdconvert_jpeg_decode::{Damage, Decoder, Entropy, Error, Header, Options, PixelFormat, Scale};
use fdconvert_testkit::{
    fixtures::{JPEG_420, JPEG_444, JPEG_GRAY, Random, pixels},
    workload::files_below,
};
use proptest::prelude::*;

/// Small files, with and without restarts.
fn files() -> Vec<Vec<u8>> {
    let made = [0, 3, 7, 8, 12].map(|way| stored(&pixels(45, 37, 3, way as u64), 90, way));
    made.into_iter().chain([JPEG_420, JPEG_444, JPEG_GRAY].map(<[u8]>::to_vec)).collect()
}

/// Decodes with and without entry points; returns whether that succeeded. If it does, the pixels
/// are those of libjpeg-turbo, provided that it accepts the file too.
pub(crate) fn explore(
    decoders: &mut [Decoder],
    bytes: &[u8],
    entry_points: &[u8],
    number: usize,
) -> bool {
    let Ok(header) = Header::read(bytes) else { return false };
    if header.n_bytes(&Options::default()) > 1 << 20 {
        return false;
    }
    let mut out = vec![0; header.n_bytes(&Options::default()) as usize];
    let mut decoded = false;
    let entropy = Some(kind(number));
    for entry_points in [None, Some(entry_points)] {
        let options = Options { entry_points, entropy, ..Options::default() };
        let mut verdicts = Vec::new();
        for decoder in &mut *decoders {
            let verdict = decoder.decode(bytes, &options, &mut out);
            verdicts.push(verdict.clone());
            if verdict.is_err() {
                continue;
            }
            decoded = true;
            let (by, expected) =
                (decoder.instructions(), by_libjpeg(bytes, header.width, header.height));
            let expected = expected.expect("libjpeg-turbo has no doubts either");
            // Its NEON code treats coefficients that no encoder makes in another way.
            let is_same = out == expected || cfg!(not(target_arch = "x86_64"));
            assert!(is_same, "other pixels than those of libjpeg-turbo by {by:?}");
        }
        // Not all instruction sets use all entry points.
        let same = entry_points.is_some() || verdicts.iter().all(|it| *it == verdicts[0]);
        assert!(same, "{verdicts:?}");
    }
    explore_averages(decoders, bytes, &header, entropy);
    decoded
}

/// Decoding only averages, which skips all other values, finds the same damage.
fn explore_averages(
    decoders: &mut [Decoder],
    bytes: &[u8],
    header: &Header,
    entropy: Option<Entropy>,
) {
    let (format, scale) = (PixelFormat::Luma, Scale::Eighth);
    let options = Options { entropy, format, scale, ..Options::default() };
    let mut found = decoders.iter_mut().map(|decoder| {
        let mut out = vec![0; header.n_bytes(&options) as usize];
        let verdict = decoder.decode(bytes, &options, &mut out);
        let pixels = verdict.is_ok().then_some(out);
        (verdict, pixels)
    });
    let first = found.next().expect("there is a decoder");
    found.for_each(|other| assert!(other == first, "{:?}, not {:?}", other.0, first.0));
}

#[test]
fn changed_bytes_of_scans() {
    let (mut decoders, mut random) = (decoders(), Random::new(1));
    let (mut n_decoded, mut n_refused) = (0, 0);
    for file in files() {
        let entry_points = stored_entry_points(&file, 512).unwrap();
        let scan = parse(&file).unwrap().scan;
        for number in 0..150 {
            let mut changed = file.clone();
            for _ in 0..1 + number % 3 {
                let at = scan.start + random.below(scan.len() as u64) as usize;
                changed[at] ^= 1 << random.below(8);
            }
            match explore(&mut decoders, &changed, &entry_points, 1 + number % 10) {
                true => n_decoded += 1,
                false => n_refused += 1,
            }
        }
    }
    assert!(n_decoded > 50 && n_refused > 50, "{n_decoded} decoded, {n_refused} refused");
}

/// Counts the verdicts of lanes, streams and libjpeg-turbo on files with changed bytes and the entry
/// points of the sound ones.
#[test]
#[ignore = "takes minutes; run it after changes to entropy decoding, with --nocapture"]
#[allow(clippy::print_stdout, reason = "the counts are what it is run for")]
fn lanes_and_streams_on_many_changed_files() {
    let (mut decoder, mut random) = (Decoder::new(), Random::new(2));
    let photograph = part(&photographs()[0], (0, 0), (320, 240));
    let large = [0, 2, 5].map(|way| stored(&photograph, 90, way));
    let files: Vec<_> = files().into_iter().chain(large).collect();
    let mut counts = std::collections::BTreeMap::new();
    for number in 0..100_000 {
        let mut file = files[number % files.len()].clone();
        let entry_points = stored_entry_points(&file, 512).unwrap();
        let scan = parse(&file).unwrap().scan;
        for _ in 0..1 + number % 50 {
            let at = scan.start + random.below(scan.len() as u64) as usize;
            file[at] = random.below(256) as u8;
            if number % 3 > 0 {
                break;
            }
        }
        let Ok(header) = Header::read(&file) else { continue };
        let mut decode = |entropy, entry_points| {
            let options = Options { entropy: Some(entropy), entry_points, ..Options::default() };
            let mut out = vec![0; header.n_bytes(&options) as usize];
            decoder.decode(&file, &options, &mut out).is_ok().then_some(out)
        };
        let by_lanes = decode(Entropy::LANES, Some(&entry_points[..]));
        let by_streams = decode(Entropy::STREAMS, Some(&entry_points[..]));
        let without = decode(Entropy::STREAMS, None);
        let expected = by_libjpeg(&file, header.width, header.height);
        for found in [&by_lanes, &by_streams, &without].into_iter().flatten() {
            assert!(expected.as_ref().is_none_or(|it| it == found), "file {number}");
        }
        // Without entry points all codes are read from one start, as libjpeg does.
        assert!(without.is_some() || by_lanes.is_none() && by_streams.is_none(), "file {number}");
        let verdict = [&by_lanes, &by_streams, &without, &expected].map(Option::is_some);
        *counts.entry(verdict).or_insert(0) += 1;
    }
    for ([lanes, streams, without, libjpeg], count) in counts {
        println!(
            "{count:6} files: lanes {lanes}, streams {streams}, without entry points {without}, \
             libjpeg-turbo {libjpeg}"
        );
    }
}

#[test]
fn cut_scans() {
    let mut decoders = decoders();
    for file in files() {
        let entry_points = stored_entry_points(&file, 512).unwrap();
        let scan = parse(&file).unwrap().scan;
        for end in (scan.start..scan.end).step_by(5) {
            let cut = [&file[..end], &[0xFF, 0xD9]].concat();
            assert!(!explore(&mut decoders, &cut, &entry_points, 1 + end % 10), "cut at {end}");
        }
    }
}

#[test]
fn bytes_too_many() {
    let mut decoders = decoders();
    // The photograph is large enough for guessed places, up to its last block.
    let photograph = stored(&part(&photographs()[0], (0, 0), (400, 300)), 50, 0);
    for file in files().into_iter().chain([photograph]) {
        let entry_points = stored_entry_points(&file, 512).unwrap();
        let scan = parse(&file).unwrap().scan;
        for n_bytes in [1, 2, 100, 200] {
            let more = vec![0x12; n_bytes];
            let longer = [&file[..scan.end], &more, &file[scan.end..]].concat();
            assert!(!explore(&mut decoders, &longer, &entry_points, 4), "{n_bytes} more");
        }
    }
}

/// Seeds of the fuzzer, and its findings.
#[test]
fn seeds_of_the_fuzzer() {
    let mut decoders = decoders();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/jpeg_decode");
    let seeds = files_below(folder.as_ref()).unwrap();
    assert!(seeds.len() > 5);
    for seed in seeds {
        // Seven bytes say how it is decoded, the last one the share of entry points in the rest.
        let bytes = std::fs::read(&seed).unwrap();
        let (how, rest) = bytes.split_first_chunk::<7>().unwrap();
        let (entry_points, jpeg) = rest.split_at(usize::from(how[6]).min(rest.len()));
        for number in 1..=10 {
            explore(&mut decoders, jpeg, entry_points, number);
        }
    }
}

#[test]
fn errors_name_the_place() {
    let file = stored(&part(&photographs()[0], (0, 0), (64, 48)), 90, 0);
    let scan = parse(&file).unwrap().scan;
    let mut out = vec![0; 64 * 48 * 3];
    let mut decode =
        |bytes: &[u8]| Decoder::new().decode(bytes, &Options::default(), &mut out).unwrap_err();
    let cut = [&file[..scan.start + scan.len() / 2], &[0xFF, 0xD9]].concat();
    let Error::Damaged { block, bit, what } = decode(&cut) else { panic!("another error") };
    assert!((10..72).contains(&block) && bit > 100 && what == Damage::DataEnds);

    // The longest code of only ones is invalid.
    let mut ones = file.clone();
    let half = scan.start + scan.len() / 2;
    (half..half + 12).step_by(2).for_each(|at| ones[at..at + 2].copy_from_slice(&[0xFF, 0]));
    let Error::Damaged { bit, what, .. } = decode(&ones) else { panic!("another error") };
    assert!(bit > 100 && matches!(what, Damage::NoSuchCode | Damage::TooManyValues), "{what}");
}

/// A header that claims a large image allocates no memory for blocks that cannot exist.
#[test]
fn claims_are_checked() {
    let mut file = JPEG_GRAY.to_vec();
    let height_at = parse(&file).unwrap().height_at;
    file[height_at..height_at + 4].copy_from_slice(&[0x0F; 4]);
    let mut out = vec![0; Header::read(&file).unwrap().n_bytes(&Options::default()) as usize];
    let found = Decoder::new().decode(&file, &Options::default(), &mut out);
    assert!(matches!(found, Err(Error::Damaged { what: Damage::DataEnds, .. })));
}

proptest! {
    #[test]
    fn any_scan(scan in proptest::collection::vec(any::<u8>(), 0..400), number in 0..11usize) {
        let mut decoders = decoders();
        // With an end marker, without which libjpeg-turbo warns of any scan.
        for file in files().iter().step_by(3) {
            let entry_points = stored_entry_points(file, 512).unwrap();
            let start = parse(file).unwrap().scan.start;
            let bytes = [&file[..start], &scan, &[0xFF, 0xD9]].concat();
            explore(&mut decoders, &bytes, &entry_points, number);
        }
    }

    #[test]
    fn any_stored_entry_points(
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        number in 0..11usize,
    ) {
        let mut decoders = decoders();
        for file in files() {
            let mut entry_points = stored_entry_points(&file, 512).unwrap();
            let at = at.index(entry_points.len());
            entry_points[at] = with;
            explore(&mut decoders, &file, &entry_points, number);
        }
    }
}
