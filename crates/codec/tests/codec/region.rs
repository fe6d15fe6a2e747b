//! Parts of images equal the pixels of the whole, bit for bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use fdconvert_codec::{Decoder, Encoder, JpegOptions, Part, Region, Subsampling};
use fdconvert_core::{Bilevel, Codec, Encoded, Limits, Pixels};
use fdconvert_testkit::{
    fixtures::{self, Random, photos, pixels},
    needs_shared,
    workload::files_below,
};
use std::path::Path;

/// Checks that pixels (x, y) equal those of the whole image at the same reduction.
fn check(decoder: &mut Decoder, image: &Encoded, wanted: Region, shrink: u8) {
    let limits = Limits::DEFAULT;
    let mut out = Vec::new();
    let part = decoder.decode_part("part", image, &limits, wanted, shrink, &mut out).unwrap();
    let stored = Part::stored("part", image, &limits, wanted).unwrap();
    assert_eq!(stored.is_some(), image.codec == Codec::Raw);
    if let Some(stored) = stored {
        assert_eq!(stored, (part, &out[..]), "what is there");
        assert!(image.bytes.as_ptr_range().contains(&stored.1.as_ptr()));
    }
    let (width, height) = (image.width, image.height);
    let all = Region { x: 0, y: 0, width, height };
    let mut whole_out = Vec::new();
    let whole = decoder.decode_part("all", image, &limits, all, shrink, &mut whole_out).unwrap();
    assert_eq!((whole.shrink, whole.channels), (part.shrink, part.channels));
    let by = u32::from(part.shrink);
    assert_eq!(
        (whole.region.x, whole.region.y, whole.region.width, whole.region.height),
        (0, 0, width.div_ceil(by), height.div_ceil(by))
    );
    if part.shrink == 1 {
        let decoded = decoder.decode("all", image, &limits).unwrap();
        assert_eq!(decoded.pixels.data, whole_out, "the whole image as a part");
    }
    let (x0, y0) = (wanted.x / by, wanted.y / by);
    let x1 = (wanted.x + wanted.width).div_ceil(by);
    let y1 = (wanted.y + wanted.height).div_ceil(by);
    let held = part.region;
    assert!(held.x <= x0 && held.y <= y0, "{held:?} does not hold {wanted:?}");
    assert!(held.x + held.width >= x1 && held.y + held.height >= y1, "{held:?} and {wanted:?}");
    let channels = usize::from(part.channels);
    let row = |out: &[u8], region: Region, y: u32| {
        let start = ((y - region.y) * region.width + (x0 - region.x)) as usize * channels;
        out[start..start + (x1 - x0) as usize * channels].to_vec()
    };
    for y in y0..y1 {
        let same = row(&out, held, y) == row(&whole_out, whole.region, y);
        assert!(same, "row {y} of {wanted:?}, {width}x{height} by {shrink}");
    }
}

fn region(random: &mut Random, width: u32, height: u32) -> Region {
    let mut span = |side: u32| {
        let len = 1 + random.below(side.into()) as u32;
        (random.below((side - len + 1).into()) as u32, len)
    };
    let ((x, width), (y, height)) = (span(width), span(height));
    Region { x, y, width, height }
}

#[test]
fn parts_of_jpegs_of_every_sampling() {
    let (mut random, mut decoder) = (Random::new(1), Decoder::new());
    for (subsampling, channels) in [
        (Subsampling::S420, 3),
        (Subsampling::S422, 3),
        (Subsampling::S444, 3),
        (Subsampling::S420, 1),
    ] {
        for (width, height) in [(1, 1), (15, 17), (64, 48), (129, 70), (33, 200)] {
            let image = pixels(width, height, channels, 5);
            let options = JpegOptions { subsampling, ..JpegOptions::default() };
            let jpeg = Encoder::new().encode("x", &image, Codec::Jpeg, &options, None).unwrap();
            for _ in 0..12 {
                for shrink in [1, 2, 4, 8] {
                    check(&mut decoder, &jpeg, region(&mut random, width, height), shrink);
                }
            }
        }
    }
}

#[test]
fn parts_of_other_codecs() {
    let (mut random, mut decoder) = (Random::new(2), Decoder::new());
    for codec in [Codec::Png, Codec::Bmp, Codec::Raw] {
        let image = pixels(37, 29, 3, 5);
        let options = JpegOptions::default();
        let image = Encoder::new().encode("x", &image, codec, &options, None).unwrap();
        for shrink in [1, 8] {
            check(&mut decoder, &image, region(&mut random, 37, 29), shrink);
        }
    }
    for width in (8..=200).step_by(8) {
        let bits = (0..width / 8 * 5).map(|at| (at * 37) as u8).collect();
        let image = Bilevel { width, height: 5, levels: [0, 127], bits };
        let options = JpegOptions::default();
        let image = Encoder::new().encode_bilevel("x", &image, Codec::Bmp, &options).unwrap();
        let wanted = region(&mut random, width, 5);
        check(&mut decoder, &image, wanted, 1);
        // Only the region of a BMP is read.
        let mut out = Vec::new();
        let part = decoder.decode_part("x", &image, &Limits::DEFAULT, wanted, 1, &mut out).unwrap();
        assert_eq!(part.region, wanted);
    }
}

/// Checks some regions of each photo of a folder; returns the number of photos.
fn check_photos(folder: &Path, n_regions: usize) -> usize {
    let (mut random, mut decoder) = (Random::new(3), Decoder::new());
    let files = files_below(folder).unwrap();
    for path in &files {
        let bytes: Bytes = std::fs::read(path).unwrap().into();
        let header = fdconvert_core::probe::probe(&bytes).unwrap();
        let (width, height) = (header.width, header.height);
        let image = Encoded::new(header.codec, width, height, bytes);
        for shrink in [1, 2, 4, 8].repeat(n_regions) {
            check(&mut decoder, &image, region(&mut random, width, height), shrink);
        }
    }
    files.len()
}

#[test]
fn parts_of_photos() {
    assert_eq!(check_photos(&photos(), 5), 26);
}

needs_shared! {
    fn parts_of_originals() {
        assert!(check_photos(&fixtures::shared().join("data/images"), 1) > 100);
    }
}

#[test]
fn regions_outside_are_refused() {
    let image = Encoder::new()
        .encode("x", &pixels(20, 10, 3, 1), Codec::Jpeg, &JpegOptions::default(), None)
        .unwrap();
    for (x, y, width, height) in [
        (0, 0, 21, 1),
        (0, 0, 0, 1),
        (20, 0, 1, 1),
        (0, 10, 1, 1),
        (u32::MAX, 0, 1, 1),
        (1, 1, u32::MAX, 1),
    ] {
        let wanted = Region { x, y, width, height };
        let mut out = Vec::new();
        let refused =
            Decoder::new().decode_part("x", &image, &Limits::DEFAULT, wanted, 1, &mut out);
        assert!(refused.is_err(), "{wanted:?}");
    }
    let whole = Pixels { width: 20, height: 10, channels: 3, data: Vec::new() };
    let mut out = Vec::new();
    let all = Region { x: 0, y: 0, width: whole.width, height: whole.height };
    // An unsupported reduction is ignored.
    let part = Decoder::new().decode_part("x", &image, &Limits::DEFAULT, all, 3, &mut out).unwrap();
    assert_eq!((part.shrink, out.len()), (1, 600));
}
