//! Images of two gray levels under a policy.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use crate::common::JPEG_OR_RAW;
use fdconvert_codec::{Decoder, Encode, Gray, Notes, Outcome, Policy, Size, Worker};
use fdconvert_core::{Bilevel, Codec, Color, Encoded, Image, Limits, Pixels, Result};
use fdconvert_testkit::fake::{FILES, Fake};
use png::{BitDepth, ColorType, Transformations};
use std::io::Cursor;

const FRACTAL: [u8; 2] = [0, 127];

/// A sparse, irregular bitmap.
fn bitmap(width: u32, height: u32, levels: [u8; 2]) -> Bilevel {
    let row_bytes = width.div_ceil(8);
    let beyond = if width.is_multiple_of(8) { 0 } else { 0xff_u8 >> (width % 8) };
    let byte = |i: u32| {
        let noise = i.wrapping_mul(2_654_435_761) >> 11;
        let last = i % row_bytes == row_bytes - 1;
        (noise & noise >> 8) as u8 & !if last { beyond } else { 0 }
    };
    Bilevel { width, height, levels, bits: (0..row_bytes * height).map(byte).collect() }
}

/// Returns a chaos game with three corners: a small formula-driven image.
fn sierpinski(side: u32) -> Bilevel {
    let mut image = bitmap(side, side, FRACTAL);
    image.bits.fill(0);
    let (mut x, mut y, mut state) = (0, 0, 1u32);
    for _ in 0..side * side {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (cx, cy) = [(0, side), (side, side), (side / 2, 0)][(state >> 16) as usize % 3];
        (x, y) = (u32::midpoint(x, cx), u32::midpoint(y, cy));
        let (x, y) = (x.min(side - 1), y.min(side - 1));
        image.bits[(y * side.div_ceil(8) + x / 8) as usize] |= 0x80 >> (x % 8);
    }
    image
}

fn apply(policy: &Policy, image: Bilevel, format: &Fake) -> Result<Outcome> {
    policy.apply("the/key", Image::Bilevel(image), format, &mut Worker::new())
}

#[test]
fn what_is_no_file_is_expanded_and_checked_like_one() {
    let expand = |image: Image, limits: &Limits| {
        let mut out = vec![9; 5];
        let found = Decoder::new().expand_into("the/key", image, limits, &mut out);
        found.map(|(header, channels, _)| ((header.width, header.height), channels, out))
    };
    let image = bitmap(19, 7, FRACTAL);
    let pixels = image.to_pixels();
    let expected = ((19, 7), 1, pixels.data.clone());
    for image in [Image::Bilevel(image.clone()), Image::Pixels(pixels.clone())] {
        assert_eq!(expand(image.clone(), &Limits::DEFAULT).unwrap(), expected);
        let limits = Limits { max_pixels: 19 * 7 - 1, ..Limits::DEFAULT };
        assert!(expand(image, &limits).unwrap_err().to_string().contains("max_pixels"));
    }
    let encoded = Encoded::new(Codec::Raw, 19, 7, pixels.data.clone().into());
    assert_eq!(expand(Image::Encoded(encoded), &Limits::DEFAULT).unwrap(), expected);
    for wrong in [
        Image::Bilevel(Bilevel { height: 8, ..image }),
        Image::Pixels(Pixels { height: 8, ..pixels }),
    ] {
        assert!(expand(wrong, &Limits::DEFAULT).unwrap_err().to_string().contains("the/key"));
    }
}

fn with(encode: Encode) -> Policy {
    Policy { encode, ..Policy::default() }
}

fn decoded(image: &Encoded) -> Pixels {
    Decoder::new().decode("k", image, &Limits::DEFAULT).unwrap().pixels
}

/// Returns the colour type and the rows of a 1-bit PNG as stored.
fn stored(image: &Encoded) -> (ColorType, Option<Vec<u8>>, Vec<u8>) {
    let mut decoder = png::Decoder::new(Cursor::new(&image.bytes));
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().unwrap();
    assert_eq!(reader.info().bit_depth, BitDepth::One);
    let (color, palette) = (reader.info().color_type, reader.info().palette.clone());
    let mut bits = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bits).unwrap();
    reader.finish().unwrap();
    (color, palette.map(Into::into), bits)
}

#[test]
fn what_leads_to_png_leads_to_one_bit() {
    for encode in [
        Encode::Keep,
        Encode::Png,
        Encode::Smart { ratio: 1e6 },
        Encode::Mix { jpeg_share: 0.0, seed: 1 },
    ] {
        for width in 1..=70 {
            let image = bitmap(width, 5, FRACTAL);
            let outcome = apply(&with(encode), image.clone(), &FILES).unwrap();
            assert_eq!(outcome.notes, Notes::MADE);
            let png = outcome.encoded;
            assert_eq!((png.codec, png.width, png.height), (Codec::Png, width, 5));
            let palette = Some(vec![0, 0, 0, 127, 127, 127]);
            assert_eq!(stored(&png), (ColorType::Indexed, palette, image.bits.clone()));
            let header = fdconvert_core::probe::probe(&png.bytes).unwrap();
            assert_eq!((header.width, header.height, header.color), (width, 5, Color::Rgb));
            fdconvert_core::probe::check_complete(&png.bytes, &header).unwrap();
            // Readers get the levels, three times each.
            let rgb = decoded(&png);
            assert_eq!(rgb.channels, 3);
            let gray: Vec<_> = rgb.data.iter().step_by(3).copied().collect();
            assert_eq!(gray, image.to_pixels().data);
            assert!(rgb.data.as_chunks::<3>().0.iter().all(|[r, g, b]| r == g && g == b));
        }
    }
}

#[test]
fn black_and_white_needs_no_palette() {
    let image = || bitmap(21, 9, [0, 255]);
    let outcome = apply(&Policy::default(), image(), &FILES).unwrap();
    assert_eq!(stored(&outcome.encoded), (ColorType::Grayscale, None, image().bits));
    assert_eq!(decoded(&outcome.encoded), image().to_pixels());
    // A palette has three channels.
    let expand = Policy { gray: Gray::Expand, ..Policy::default() };
    let outcome = apply(&expand, image(), &FILES).unwrap();
    assert_eq!(stored(&outcome.encoded).0, ColorType::Indexed);
    assert_eq!(outcome.notes, Notes::MADE);
    // One bit of gray has only the order white on black.
    let turned = apply(&Policy::default(), bitmap(21, 9, [255, 0]), &FILES).unwrap();
    assert_eq!(stored(&turned.encoded).0, ColorType::Indexed);
    assert_eq!(decoded(&turned.encoded).data[..3], [255; 3]);
}

#[test]
fn the_format_is_asked_for_the_form() {
    let no_gray = Fake::new(|header| header.color == Color::Rgb, Codec::Png);
    let outcome = apply(&Policy::default(), bitmap(8, 8, [0, 255]), &no_gray).unwrap();
    assert_eq!(stored(&outcome.encoded).0, ColorType::Indexed);
    let no_color = Fake::new(|header| header.color == Color::Gray, Codec::Png);
    let image = bitmap(8, 8, FRACTAL);
    let outcome = apply(&Policy::default(), image.clone(), &no_color).unwrap();
    let header = fdconvert_core::probe::probe(&outcome.encoded.bytes).unwrap();
    assert_eq!((header.color, header.bits), (Color::Gray, 8));
    assert_eq!(decoded(&outcome.encoded), image.to_pixels());
    let error = apply(&with(Encode::Png), image, &JPEG_OR_RAW).unwrap_err().to_string();
    assert!(
        error.contains("the/key") && error.ends_with("to choose another codec: encode"),
        "{error}"
    );
}

#[test]
fn elsewhere_they_are_like_other_pixels() {
    let image = || bitmap(37, 20, FRACTAL);
    let resized = |encode| Policy { size: Some(Size::MaxSide(20)), ..with(encode) };
    for (policy, format, notes) in [
        (Policy::default(), &JPEG_OR_RAW, Notes::GRAY_EXPANDED),
        (with(Encode::Raw), &JPEG_OR_RAW, Notes::GRAY_EXPANDED),
        (with(Encode::Bmp), &FILES, Notes::NONE),
        (with(Encode::Jpeg), &FILES, Notes::BILEVEL_JPEG),
        (with(Encode::Jpeg), &JPEG_OR_RAW, Notes::BILEVEL_JPEG),
        (with(Encode::Smart { ratio: 0.01 }), &FILES, Notes::BILEVEL_JPEG),
        (resized(Encode::Png), &FILES, Notes::RESIZED),
        (resized(Encode::Jpeg), &FILES, Notes::RESIZED | Notes::BILEVEL_JPEG),
    ] {
        let outcome = apply(&policy, image(), format).unwrap();
        let pixels = Image::Pixels(image().to_pixels());
        let same = policy.apply("the/key", pixels, format, &mut Worker::new()).unwrap();
        assert_eq!(outcome.encoded, same.encoded, "{policy:?}");
        assert_eq!(same.notes | Notes::BILEVEL_JPEG, outcome.notes | Notes::BILEVEL_JPEG);
        assert_eq!(outcome.notes, Notes::MADE | notes, "{policy:?}");
    }
    let raw = apply(&Policy::default(), image(), &JPEG_OR_RAW).unwrap().encoded;
    let gray: Vec<_> = raw.bytes.iter().step_by(3).copied().collect();
    assert_eq!((raw.codec, gray), (Codec::Raw, image().to_pixels().data));
}

#[test]
fn wrong_bits_and_too_many_pixels_are_refused() {
    let refuse = |image: Bilevel| {
        let limits = Limits { max_pixels: 1000, ..Limits::DEFAULT };
        let policy = Policy { limits, ..Policy::default() };
        apply(&policy, image, &FILES).unwrap_err().to_string()
    };
    let image = bitmap(9, 4, FRACTAL);
    let short = Bilevel { bits: vec![0; 7], ..image.clone() };
    assert!(refuse(short).contains("8 bytes, not 7"));
    assert!(refuse(Bilevel { bits: vec![0xff; 8], ..image.clone() }).contains("beyond"));
    assert!(refuse(Bilevel { height: 0, bits: vec![], ..image }).contains("no pixels"));
    assert!(refuse(bitmap(100, 11, FRACTAL)).contains("pixel count"));
}

#[test]
fn one_worker_gives_what_fresh_workers_give() {
    let mut worker = Worker::new();
    for side in [200, 3, 64, 200] {
        let image = Image::Bilevel(sierpinski(side));
        let again = Policy::default().apply("k", image, &FILES, &mut worker).unwrap();
        let fresh = apply(&Policy::default(), sierpinski(side), &FILES).unwrap();
        assert_eq!(again.encoded, fresh.encoded);
    }
}

/// A change here changes the bytes of every dataset made by formulas.
#[test]
fn the_size_is_pinned() {
    let png = apply(&Policy::default(), sierpinski(362), &FILES).unwrap().encoded;
    assert_eq!(png.bytes.len(), 4419);
    let gray = Image::Pixels(sierpinski(362).to_pixels());
    let gray = Policy::default().apply("k", gray, &FILES, &mut Worker::new()).unwrap().encoded;
    assert!(png.bytes.len() * 3 < gray.bytes.len(), "{}", gray.bytes.len());
}
