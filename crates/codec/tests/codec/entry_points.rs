//! Parts of JPEGs decoded with entry points equal those decoded without, bit for bit.
#![cfg(feature = "turbo")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{encoded, files, kodak};
use fdconvert_codec::{Decoder, Encoder, JpegOptions, Region, Subsampling, Wanted};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_jpeg::{GRIDS_BITS, stored_entry_points};
use fdconvert_testkit::{
    fixtures::{self, Random, pixels},
    needs_shared,
};
use jpeg_encoder::{ColorType, SamplingFactor};
use proptest::prelude::*;
use std::{path::Path, sync::LazyLock};

const SHRINKS: [u8; 4] = [1, 2, 4, 8];

fn region(random: &mut Random, width: u32, height: u32) -> Region {
    let mut span = |side: u32| {
        let len = 1 + random.below(side.into()) as u32;
        // Half of them at the far border.
        let left = side - len;
        let from = if random.below(2) == 0 { left } else { random.below((left + 1).into()) as u32 };
        (from, len)
    };
    let ((x, width), (y, height)) = (span(width), span(height));
    Region { x, y, width, height }
}

fn decode(
    decoder: &mut Decoder,
    image: &Encoded,
    wanted: &Wanted<'_>,
) -> Result<(Region, Vec<u8>), String> {
    let mut out = Vec::new();
    let part = decoder.decode_part_with("part", image, &Limits::DEFAULT, wanted, &mut out);
    part.map(|part| (part.region, out)).map_err(|error| error.to_string())
}

/// Returns a region of a larger one.
fn within((part, pixels): &(Region, Vec<u8>), region: &Region) -> Vec<u8> {
    let n_channels = pixels.len() / (part.width * part.height) as usize;
    let rows = pixels.chunks(part.width as usize * n_channels).skip((region.y - part.y) as usize);
    let x = (region.x - part.x) as usize * n_channels;
    let columns = x..x + region.width as usize * n_channels;
    rows.take(region.height as usize).flat_map(|row| &row[columns.clone()]).copied().collect()
}

fn check(decoder: &mut Decoder, image: &Encoded, stored: &[u8], region: Region, shrink: u8) {
    let mut wanted = Wanted { region, shrink, entry_points: None, luma: false };
    let ours = decode(decoder, image, &wanted).unwrap();
    let without = decode(&mut Decoder::of_backend(), image, &wanted).unwrap();
    wanted.entry_points = Some(stored);
    let what = format!("{region:?} of {}x{} by {shrink}", image.width, image.height);
    assert!(decode(decoder, image, &wanted).unwrap() == ours, "{what}");
    assert!(within(&without, &ours.0) == ours.1, "{what}");
}

fn check_some(decoder: &mut Decoder, random: &mut Random, bytes: Vec<u8>, n_regions: usize) {
    let image = encoded(bytes);
    for number in 0..n_regions {
        let stored = stored_entry_points(&image.bytes, GRIDS_BITS[number % 4]).unwrap();
        for shrink in SHRINKS {
            let region = region(random, image.width, image.height);
            check(decoder, &image, &stored, region, shrink);
        }
    }
}

/// libjpeg-turbo's samplings and tables, and those that only the Rust encoder makes.
fn encodings(image: &Pixels) -> Vec<Vec<u8>> {
    let mut made = Vec::new();
    for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
        for (quality, optimize_huffman) in [(30, false), (90, false), (90, true), (100, true)] {
            let options =
                JpegOptions { quality, subsampling, optimize_huffman, ..JpegOptions::default() };
            let jpeg = Encoder::new().encode("x", image, Codec::Jpeg, &options, None).unwrap();
            made.push(jpeg.bytes.to_vec());
        }
    }
    for (sampling, restart_interval) in
        [(SamplingFactor::F_1_2, 0), (SamplingFactor::F_2_2, 0), (SamplingFactor::F_2_2, 7)]
    {
        let mut bytes = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 85);
        encoder.set_sampling_factor(sampling);
        encoder.set_restart_interval(restart_interval);
        let color = if image.channels == 1 { ColorType::Luma } else { ColorType::Rgb };
        encoder.encode(&image.data, image.width as u16, image.height as u16, color).unwrap();
        made.push(bytes);
    }
    made
}

#[test]
fn every_sampling_and_odd_sizes() {
    let (mut random, mut decoder) = (Random::new(1), Decoder::new());
    for (width, height) in [(1, 1), (15, 17), (64, 48), (129, 70), (33, 200), (200, 33), (177, 139)]
    {
        for channels in [1, 3] {
            for bytes in encodings(&pixels(width, height, channels, 5)) {
                check_some(&mut decoder, &mut random, bytes, 8);
            }
        }
    }
}

#[test]
fn every_row() {
    let mut decoder = Decoder::new();
    for bytes in encodings(&pixels(100, 101, 3, 6)) {
        let image = encoded(bytes);
        let stored = stored_entry_points(&image.bytes, 512).unwrap();
        for shrink in SHRINKS {
            for y in 0..101 {
                let region = Region { x: 3, y, width: 90, height: 1 };
                check(&mut decoder, &image, &stored, region, shrink);
            }
        }
    }
}

#[test]
fn photographs_in_the_repository() {
    let (mut random, mut decoder) = (Random::new(2), Decoder::new());
    for (name, image) in kodak().into_iter().take(4) {
        let pixels = decoder.decode(&name, &image, &Limits::DEFAULT).unwrap().pixels;
        for bytes in encodings(&pixels) {
            check_some(&mut decoder, &mut random, bytes, 4);
        }
    }
}

/// Checks the JPEGs of a folder that have entry points, and counts them.
fn check_folder(folder: &Path) -> usize {
    let (mut random, mut decoder) = (Random::new(3), Decoder::new());
    let mut n_images = 0;
    for (_, image) in files(folder) {
        if stored_entry_points(&image.bytes, 2048).is_ok() {
            check_some(&mut decoder, &mut random, image.bytes.to_vec(), 2);
            n_images += 1;
        }
    }
    n_images
}

#[test]
fn photographs_of_all_sorts() {
    assert_eq!(check_folder(&fixtures::photos()), 26);
}

needs_shared! {
    fn photographs_beside_the_repository() {
        assert!(check_folder(&fixtures::shared().join("data/images")) > 100);
    }
}

/// Entry points that do not fit are not used: the same pixels, or the same error.
#[test]
fn entry_points_that_do_not_fit() {
    for decoder in [Decoder::new(), Decoder::of_backend()] {
        entry_points_that_do_not_fit_by(decoder);
    }
}

fn entry_points_that_do_not_fit_by(mut decoder: Decoder) {
    let image = |seed| {
        let image = pixels(300, 300, 3, seed);
        let options = JpegOptions { quality: 95, ..JpegOptions::default() };
        Encoder::new().encode("x", &image, Codec::Jpeg, &options, None).unwrap()
    };
    let (image, other) = (image(1), image(2));
    let region = Region { x: 20, y: 200, width: 100, height: 50 };
    let mut wanted = Wanted { region, shrink: 1, entry_points: None, luma: false };
    let expected = decode(&mut decoder, &image, &wanted).unwrap();
    let foreign = stored_entry_points(&other.bytes, 512).unwrap();
    let older = [&[0x12][..], &stored_entry_points(&image.bytes, 512).unwrap()[1..]].concat();
    for stored in [&foreign[..], &older, &[], &[0x22; 30]] {
        wanted.entry_points = Some(stored);
        assert!(decode(&mut decoder, &image, &wanted).unwrap() == expected);
    }
    let png = Encoder::new()
        .encode("x", &pixels(300, 300, 3, 1), Codec::Png, &JpegOptions::default(), None)
        .unwrap();
    wanted.entry_points = Some(&foreign);
    assert_eq!(decode(&mut decoder, &png, &wanted).unwrap().1.len(), 300 * 300 * 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A damaged JPEG, or damaged entry points: an error, or the right number of pixels.
    #[test]
    fn damage(
        changes in proptest::collection::vec((0..2u8, any::<u16>(), any::<u8>()), 1..4),
        seed: u64,
    ) {
        static JPEGS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| encodings(&pixels(230, 250, 3, 4)));
        let decoder = if seed % 2 == 0 { Decoder::new() } else { Decoder::of_backend() };
        let (mut random, mut decoder) = (Random::new(seed), decoder);
        let mut bytes = JPEGS[random.below(JPEGS.len() as u64) as usize].clone();
        let stored = stored_entry_points(&bytes, 2048).unwrap();
        let mut bad_stored = stored.clone();
        for (which, at, byte) in changes {
            let changed = if which == 0 { &mut bytes } else { &mut bad_stored };
            let at = usize::from(at) % changed.len();
            changed[at] = byte;
        }
        let image = Encoded::new(Codec::Jpeg, 230, 250, bytes.into());
        for shrink in SHRINKS {
            let region = region(&mut random, 230, 250);
            for stored in [&stored, &bad_stored] {
                let wanted = Wanted { region, shrink, entry_points: Some(stored), luma: false };
                if let Ok((part, out)) = decode(&mut decoder, &image, &wanted) {
                    prop_assert_eq!(out.len() % (part.width * part.height) as usize, 0);
                    let by = u32::from(shrink);
                    prop_assert!(part.y <= region.y / by && part.x <= region.x / by);
                }
            }
        }
    }
}
