//! Verdicts and pixels of many changed files as one number, which must be the same on every
//! processor: a machine that only emulates one cannot run libjpeg-turbo's code of another.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::turbo::progressive;
use fdconvert_jpeg::{marker, marker_segments, stored_entry_points};
use fdconvert_jpeg_decode::{Decoder, Entropy, Header, Options, PixelFormat, Scale};
use fdconvert_testkit::fixtures::{JPEG_420, JPEG_444, JPEG_GRAY, Random, photos};
use fdconvert_testkit::workload::files_below;

/// FNV-1a, of 64 bits.
#[derive(Debug)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
        }
    }
}

/// Changes some bytes, anywhere or only behind the headers.
fn changed(file: &[u8], scan_start: usize, random: &mut Random, number: usize) -> Vec<u8> {
    let mut changed = file.to_vec();
    for _ in 0..1 + number % 4 {
        let from = if number.is_multiple_of(3) { 0 } else { scan_start };
        let at = from + random.below((file.len() - from) as u64) as usize;
        match number % 2 {
            0 => changed[at] ^= 1 << random.below(8),
            _ => changed[at] = random.below(256) as u8,
        }
    }
    changed
}

/// Compare what this prints on several processors. `MUTATIONS` sets the number of files.
#[test]
#[ignore = "takes minutes; run it with --nocapture on the processors to compare"]
#[allow(clippy::print_stdout, reason = "the hash is what it is run for")]
fn hash_of_many_changed_files() {
    let n = std::env::var("MUTATIONS").map_or(100_000, |it| it.parse().unwrap());
    let photos = files_below(&photos()).unwrap();
    let photos = photos.iter().map(|file| std::fs::read(file).unwrap());
    let small = photos.filter(|bytes| bytes.len() < 25_000 && Header::read(bytes).is_ok());
    let fixtures = [JPEG_420, JPEG_444, JPEG_GRAY];
    let fixtures = fixtures.map(<[u8]>::to_vec).into_iter().chain(fixtures.map(progressive));
    let files = fixtures.chain(small).map(|file| {
        let scan = marker_segments(&file).find(|it| it.marker == marker::SOS);
        let scan_start = scan.unwrap().end;
        // Progressive ones have none.
        let entry_points = stored_entry_points(&file, 512).unwrap_or_default();
        (file, scan_start, entry_points)
    });
    let files: Vec<_> = files.collect();
    let (mut decoder, mut random) = (Decoder::new(), Random::new(3));
    let (mut hash, mut n_decoded, mut n_refused) = (Hash(0xCBF2_9CE4_8422_2325), 0, 0);
    for number in 0..n {
        let (file, scan_start, entry_points) = &files[number % files.len()];
        let file = changed(file, *scan_start, &mut random, number);
        let Ok(header) = Header::read(&file) else {
            n_refused += 1;
            continue;
        };
        let kind = random.below(8);
        let options = Options {
            entry_points: (kind % 2 == 1).then_some(&entry_points[..]),
            entropy: Some(Entropy::Streams(6)),
            format: if kind == 7 { PixelFormat::Luma } else { PixelFormat::Rgb },
            scale: [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth]
                [random.below(16).saturating_sub(12) as usize],
            region: None,
        };
        if header.n_bytes(&options) > 1 << 20 {
            continue;
        }
        let mut out = vec![0; header.n_bytes(&options) as usize];
        let verdict = decoder.decode(&file, &options, &mut out);
        hash.add(format!("{verdict:?}").as_bytes());
        match verdict {
            Ok(_) => {
                hash.add(&out);
                n_decoded += 1;
            }
            Err(_) => n_refused += 1,
        }
        if (number + 1) % 10_000 == 0 {
            println!("{} files: {:016x}", number + 1, hash.0);
        }
    }
    let by = decoder.instructions();
    println!("{n} files by {by:?}: {n_decoded} decoded, {n_refused} refused, {:016x}", hash.0);
    assert!(n_decoded > n / 20 && n_refused > n / 20);
}
