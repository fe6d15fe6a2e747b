//! AVIF and JPEG XL: pixels within one level of those that other programs show (`make_codecs.py` in
//! the fixtures recorded them), claims that are kept, and damage that is an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::{JPEG_OR_RAW, encoded, files};
use fdconvert_codec::{
    Check, Decoder, Encode, Metadata, Notes, Policy, Worker, find_metadata, orient, strip_metadata,
    unsupported,
};
use fdconvert_core::{Codec, Color, Encoded, Error, Image, Limits, Pixels, probe::probe};
use fdconvert_testkit::{fake::FILES, fixtures::fixture};

/// The AVIFs and JPEG XLs of the fixtures.
fn images() -> Vec<(String, Encoded)> {
    let is_png = |name: &str| name.ends_with(".png");
    files(&fixture("codecs")).into_iter().filter(|(name, _)| !is_png(name)).collect()
}

fn image(name: &str) -> Encoded {
    encoded(std::fs::read(fixture("codecs").join(name)).unwrap())
}

fn is_decoded(codec: Codec) -> bool {
    let features = [(Codec::Avif, cfg!(feature = "avif")), (Codec::Jxl, cfg!(feature = "jxl"))];
    features.contains(&(codec, true))
}

/// Four channels, so that images compare whose gray or opaque alpha is stored otherwise.
fn rgba(pixels: &Pixels) -> Vec<[u8; 4]> {
    let pixels = pixels.data.chunks_exact(usize::from(pixels.channels));
    let four = |pixel: &[u8]| match *pixel {
        [gray] => [gray, gray, gray, 255],
        [red, green, blue] => [red, green, blue, 255],
        [red, green, blue, alpha] => [red, green, blue, alpha],
        _ => [0; 4],
    };
    pixels.map(four).collect()
}

#[test]
fn every_fixture_shows_what_others_show() {
    let mut decoder = Decoder::new();
    for (name, image) in images().into_iter().filter(|(_, image)| is_decoded(image.codec)) {
        let decoded = decoder.decode(&name, &image, &Limits::DEFAULT).unwrap();
        let seen = decoder.decode(&name, &self::image(&format!("{name}.png")), &Limits::DEFAULT);
        let (found, seen) =
            (orient(decoded.pixels, decoded.header.orientation), seen.unwrap().pixels);
        assert_eq!((found.width, found.height), (seen.width, seen.height), "{name}");
        let pairs = rgba(&found).into_iter().zip(rgba(&seen));
        let most = pairs.map(|(a, b)| {
            // Colours count as much as is seen of them.
            let seen = |at: usize| u32::from(a[at].abs_diff(b[at])) * u32::from(b[3]) / 255;
            (0..3).map(seen).max().unwrap_or(0).max(u32::from(a[3].abs_diff(b[3])))
        });
        let most = most.max().unwrap();
        assert!(most <= 1, "{name}: {most} levels");
    }
}

#[test]
fn claims_are_what_decoding_finds() {
    let claims = [
        ("400-full.avif", Color::Gray, 8, 1),
        ("420-limited.avif", Color::Rgb, 8, 1),
        ("alpha.avif", Color::Rgba, 8, 1),
        ("10-bits.avif", Color::Rgb, 10, 1),
        ("12-bits.avif", Color::Rgb, 12, 1),
        ("turned-7.avif", Color::Rgb, 8, 7),
        ("gray.jxl", Color::Gray, 8, 1),
        ("gray-alpha.jxl", Color::GrayAlpha, 8, 1),
        ("16-bits.jxl", Color::Rgb, 16, 1),
        ("float.jxl", Color::Rgb, 32, 1),
        // The orientation is applied already, and the EXIF's has no effect.
        ("container.jxl", Color::Rgb, 8, 1),
    ];
    for (name, color, bits, orientation) in claims {
        let image = image(name);
        let header = probe(&image.bytes).unwrap();
        assert_eq!(
            (header.color, header.bits, header.orientation),
            (color, bits, orientation),
            "{name}"
        );
        if is_decoded(image.codec) {
            let decoded = Decoder::new().decode(name, &image, &Limits::DEFAULT).unwrap();
            let reduced = if bits > 8 { Notes::DEPTH_REDUCED } else { Notes::NONE };
            assert_eq!(decoded.notes, reduced, "{name}");
            assert_eq!(decoded.pixels.channels == 1, color == Color::Gray, "{name}");
            assert_eq!(decoded.pixels.channels == 4, color.has_alpha(), "{name}");
        }
    }
}

#[test]
fn bytes_stay_where_a_format_holds_them_and_are_decoded_elsewhere() {
    let mut worker = Worker::new();
    for (name, image) in images() {
        let (keep, strip) =
            (Policy::default(), Policy { strip: Metadata::GPS, ..Policy::default() });
        let mut apply = |policy: &Policy, format| {
            policy.apply(&name, Image::Encoded(image.clone()), format, &mut worker)
        };
        let kept = apply(&keep, &FILES).unwrap();
        assert!(kept.notes.contains(Notes::KEPT) && kept.encoded == image, "{name}");
        assert_eq!(kept.notes.contains(Notes::NOT_DECODED), !is_decoded(image.codec), "{name}");
        for made in [apply(&keep, &JPEG_OR_RAW), apply(&strip, &FILES)] {
            if !is_decoded(image.codec) {
                let error = made.unwrap_err().to_string();
                assert!(error.contains("this build cannot decode"), "{error}");
                assert!(
                    error.contains("a build with the feature") && error.contains(&name),
                    "{error}"
                );
                continue;
            }
            let made = made.unwrap();
            assert!(!matches!(made.encoded.codec, Codec::Avif | Codec::Jxl), "{name}");
            assert_eq!(made.notes.contains(Notes::FIRST_FRAME), name == "animated.avif", "{name}");
        }
        let checked = Policy { check: Check::Pixels, ..Policy::default() };
        assert_eq!(apply(&checked, &FILES).is_ok(), is_decoded(image.codec), "{name}");
        assert_eq!(unsupported(&image.bytes).is_some(), !is_decoded(image.codec), "{name}");
    }
}

#[test]
fn limits_count_before_anything_is_decoded() {
    let limits = Limits { max_pixels: 100, ..Limits::DEFAULT };
    for name in ["420-full.avif", "lossy.jxl"] {
        let error = Decoder::new().decode(name, &image(name), &limits).unwrap_err();
        assert!(matches!(error, Error::Limit { most: 100, .. }), "{error}");
    }
}

/// The grid of the fixtures with its first tile alone, of 64x64 pixels, which reaches over the edges.
#[cfg(feature = "avif")]
fn of_one_tile() -> Encoded {
    let mut bytes = std::fs::read(fixture("codecs").join("grid.avif")).unwrap();
    let changes: [(&[u8], &[u8]); 3] = [
        (b"dimg\0\x01\0\x04", b"dimg\0\x01\0\x01"),
        (b"idat\0\0\x01\x01\0\x78\0\x64", b"idat\0\0\0\0\0\x28\0\x1e"),
        (b"ispe\0\0\0\0\0\0\0\x78\0\0\0\x64", b"ispe\0\0\0\0\0\0\0\x28\0\0\0\x1e"),
    ];
    for (from, to) in changes {
        let at = bytes.windows(from.len()).position(|found| found == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    encoded(bytes)
}

#[test]
#[cfg(feature = "avif")]
fn a_tile_is_cut_to_its_image_and_counts_as_a_whole() {
    let (one, mut decoder) = (of_one_tile(), Decoder::new());
    let part = decoder.decode("k", &one, &Limits::DEFAULT).unwrap().pixels;
    let whole = decoder.decode("k", &image("grid.avif"), &Limits::DEFAULT).unwrap().pixels;
    assert_eq!((part.width, part.height), (40, 30));
    // Colours of the last column and row are interpolated with what is beyond, or not.
    for y in 0..29 {
        assert_eq!(part.data[y * 120..][..117], whole.data[y * 360..][..117], "row {y}");
    }
    let limits = Limits { max_pixels: 2000, ..Limits::DEFAULT };
    let error = decoder.decode("k", &one, &limits).unwrap_err().to_string();
    assert!(error.contains("4096 pixels, over the limit of 2000"), "{error}");
}

#[test]
fn metadata_is_found_and_taken_out_only_with_the_pixels() {
    for name in ["turned-3.avif", "container.jxl"] {
        let image = image(name);
        let found = find_metadata(&image.bytes, image.codec);
        assert!(found.kinds.contains(Metadata::EXIF), "{name}");
        assert_eq!(found.is_turned, name == "turned-3.avif");
        assert!(strip_metadata(&image.bytes, image.codec, Metadata::ALL).is_err());
    }
    let plain = image("lossy.jxl");
    assert!(find_metadata(&plain.bytes, plain.codec).kinds.is_empty());
}

/// Those of AVIFs are in `tests/avif_damage.rs`.
#[test]
fn damage_is_an_error_or_an_image_of_the_claimed_size() {
    let (mut decoder, mut n_errors, mut n_images) = (Decoder::new(), 0, 0);
    let small = Limits { max_pixels: 1 << 20, ..Limits::DEFAULT };
    let mut check = |bytes: Vec<u8>| {
        let image = encoded(bytes);
        match decoder.decode("k", &image, &small) {
            Ok(decoded) => {
                assert_eq!(
                    (decoded.pixels.width, decoded.pixels.height),
                    (image.width, image.height)
                );
                n_images += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains('k'));
                n_errors += 1;
            }
        }
    };
    for name in
        ["alpha.avif", "grid.avif", "10-bits.avif", "lossy.jxl", "container.jxl", "alpha.jxl"]
    {
        let image = image(name);
        let len = image.bytes.len();
        for at in (0..len).step_by(len / 60) {
            check(image.bytes[..at].to_vec());
            let mut bytes = image.bytes.to_vec();
            bytes[at] ^= 1 << (at % 8);
            check(bytes);
        }
    }
    assert!(n_errors > 50, "{n_errors} errors, {n_images} images");
}

#[test]
fn cut_files_are_not_kept() {
    let mut worker = Worker::new();
    for name in ["420-full.avif", "lossy.jxl", "container.jxl"] {
        let mut cut = image(name);
        cut.bytes.truncate(cut.bytes.len() - 5);
        let policy = Policy { encode: Encode::Keep, ..Policy::default() };
        let outcome = policy.apply(name, Image::Encoded(cut), &FILES, &mut worker);
        // Nothing but decoding shows where a bare JPEG XL ends.
        let is_found = name != "lossy.jxl" || is_decoded(Codec::Jxl);
        assert_eq!(outcome.is_err(), is_found, "{name}");
    }
}
