//! JPEGs and TIFFs of rare kinds: decoded, or refused with the cause, in our own words.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]
#![cfg_attr(not(feature = "turbo"), allow(dead_code, unused_imports))]

use crate::common::{self, encoded};
use fdconvert_codec::{Decoder, Notes, Part, Policy, Region, Worker};
use fdconvert_core::{Encoded, Error, Image, Limits};
use fdconvert_testkit::{fake::FILES, fixtures::tiff_directory};

const ARITHMETIC: [&[u8]; 2] = [
    include_bytes!("../fixtures/arithmetic.jpg"),
    include_bytes!("../fixtures/arithmetic-progressive.jpg"),
];
const SAMPLINGS: [&[u8]; 3] = [
    include_bytes!("../fixtures/410.jpg"),
    include_bytes!("../fixtures/2x4.jpg"),
    include_bytes!("../fixtures/odd.jpg"),
];
const END: [u8; 2] = [0xff, 0xd9];

fn decode(image: &Encoded) -> Result<(Vec<u8>, Notes), Error> {
    let decoded = Decoder::new().decode("the/key", image, &Limits::DEFAULT)?;
    Ok((decoded.pixels.data, decoded.notes))
}

/// Keeps the bytes, if they are let through.
fn keep(image: &Encoded, strict: bool) -> Result<Notes, Error> {
    let policy = Policy { strict, ..Policy::default() };
    let image = Image::Encoded(image.clone());
    Ok(policy.apply("the/key", image, &FILES, &mut Worker::new())?.notes)
}

#[cfg(feature = "turbo")]
#[test]
fn arithmetic_data_that_stops_early_is_an_error() {
    for whole in ARITHMETIC {
        let image = encoded(whole.to_vec());
        let (pixels, notes) = decode(&image).unwrap();
        assert_eq!(notes, Notes::NONE);
        assert_eq!(keep(&image, true).unwrap(), Notes::KEPT);

        let open = encoded(whole[..whole.len() - 2].to_vec());
        assert_eq!(decode(&open).unwrap(), (pixels, Notes::NO_END_MARKER));
        assert!(keep(&open, false).unwrap().contains(Notes::NO_END_MARKER));

        for percent in [90, 70, 50, 35] {
            let cut = &whole[..whole.len() * percent / 100];
            let open = encoded(cut.to_vec());
            assert!(decode(&open).is_err() && keep(&open, false).is_err(), "{percent}");
            // Between two scans the standard allows an end marker.
            let closed = decode(&encoded([cut, &END].concat())).map(|(_, notes)| notes);
            let told = matches!(&closed, Ok(notes) if *notes == Notes::COEFFICIENTS_LEFT_OUT);
            assert!(closed.is_err() || told && whole == ARITHMETIC[1], "{percent}: {closed:?}");
        }
    }
}

#[cfg(feature = "turbo")]
#[test]
fn arithmetic_data_that_stops_early_is_not_rewritten() {
    let [_, whole] = ARITHMETIC;
    let policy = Policy { baseline: true, ..Policy::default() };
    let rewrite = |bytes: Vec<u8>| {
        policy.apply("k", Image::Encoded(encoded(bytes)), &FILES, &mut Worker::new())
    };
    assert!(rewrite(whole.to_vec()).unwrap().notes.contains(Notes::BASELINE));
    let cut = [&whole[..whole.len() - 60], &END].concat();
    assert!(rewrite(cut).unwrap_err().to_string().contains("arithmetic"));
}

#[cfg(feature = "turbo")]
#[test]
fn any_sampling_decodes_whole_and_in_parts() {
    for bytes in SAMPLINGS {
        let image = encoded(bytes.to_vec());
        let (whole, notes) = decode(&image).unwrap();
        assert_eq!((whole.len(), notes), (32 * 24 * 3, Notes::NONE));
        let region = Region { x: 5, y: 7, width: 4, height: 9 };
        let (mut out, mut backend) = (Vec::new(), Decoder::of_backend());
        let part = backend.decode_part("k", &image, &Limits::DEFAULT, region, 2, &mut out).unwrap();
        let Part { region: found, shrink, .. } = part;
        assert_eq!((found.width, found.height, shrink), (32, 24, 1));
        assert!(out == whole);
        // Our own decoder cuts some that libjpeg-turbo does not.
        let mut decoder = Decoder::new();
        let part = decoder.decode_part("k", &image, &Limits::DEFAULT, region, 1, &mut out).unwrap();
        let Region { x, y, width, height } = part.region;
        let rows = whole.chunks(32 * 3).skip(y as usize).take(height as usize);
        let columns = x as usize * 3..(x + width) as usize * 3;
        assert!(out == rows.flat_map(|row| &row[columns.clone()]).copied().collect::<Vec<_>>());
    }
}

/// 8x8 gray pixels, each equal to its prediction, and the first to half of the range.
#[cfg(feature = "turbo")]
#[test]
fn a_lossless_jpeg_decodes() {
    let mut bytes = b"\xff\xd8\xff\xc3\0\x0b\x08\0\x08\0\x08\x01\x01\x11\0".to_vec();
    bytes.extend(b"\xff\xc4\0\x14\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(b"\xff\xda\0\x08\x01\x01\0\x01\0\0");
    bytes.extend([0; 8]);
    bytes.extend(END);
    let image = encoded(bytes);
    assert_eq!(decode(&image).unwrap(), (vec![128; 64], Notes::NONE));
    let region = Region { x: 0, y: 0, width: 8, height: 8 };
    let mut out = Vec::new();
    let part = Decoder::new().decode_part("k", &image, &Limits::DEFAULT, region, 8, &mut out);
    assert_eq!((part.unwrap().shrink, out.len()), (1, 64));
}

/// The scans of a progressive file that ends early, but properly.
#[test]
fn coefficients_left_out_are_told_and_refused_when_strict() {
    let [_, whole] = ARITHMETIC;
    let second = whole.windows(2).enumerate().filter(|(_, pair)| pair == &[0xff, 0xda]).nth(1);
    let image = encoded([&whole[..second.unwrap().0], &END].concat());
    assert!(keep(&image, false).unwrap().contains(Notes::COEFFICIENTS_LEFT_OUT));
    let what = keep(&image, true).unwrap_err().to_string();
    assert!(what.contains("coefficients") && what.contains("`strict`"), "{what}");
}

/// Two pixels of RGBA in one strip; `extra` says what the alpha channel is.
fn alpha_tiff(extra: u32) -> Vec<u8> {
    let entries: [(u16, u16, u32, u32); 10] = [
        (256, 3, 1, 2),
        (257, 3, 1, 1),
        (258, 3, 4, 134),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, 142),
        (277, 3, 1, 4),
        (278, 3, 1, 1),
        (279, 4, 1, 8),
        (338, 3, 1, extra),
    ];
    let mut bytes = tiff_directory(&entries);
    assert_eq!(bytes.len(), 134);
    bytes.extend([8, 0, 8, 0, 8, 0, 8, 0]);
    bytes.extend([50, 25, 100, 100, 10, 20, 30, 0]);
    bytes
}

#[test]
fn colours_that_a_tiff_has_multiplied_by_alpha_are_divided_again() {
    let pixels = |extra| decode(&encoded(alpha_tiff(extra))).unwrap().0;
    assert_eq!(pixels(2), [50, 25, 100, 100, 10, 20, 30, 0]);
    assert_eq!(pixels(1), [128, 64, 255, 100, 10, 20, 30, 0]);
}

/// A WebP of several frames, each a still one of its own.
fn animated_webp(frames: &[Vec<u8>]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let padding = &[0][..data.len() % 2];
        [&kind[..], &(data.len() as u32).to_le_bytes(), data, padding].concat()
    };
    let size = [4_u32 - 1, 3 - 1].map(|side| side.to_le_bytes()[..3].to_vec()).concat();
    let mut chunks = chunk(b"VP8X", &[&[2, 0, 0, 0][..], &size].concat());
    chunks.extend(chunk(b"ANIM", &[0; 6]));
    for still in frames {
        // Place, size, duration, flags (not blended with what is there), and the chunk of the still
        // image.
        let frame = [&[0; 6][..], &size, &[100, 0, 0, 2], &still[12..]].concat();
        chunks.extend(chunk(b"ANMF", &frame));
    }
    let len = (chunks.len() as u32 + 4).to_le_bytes();
    [b"RIFF", &len[..], b"WEBP", &chunks].concat()
}

#[test]
fn animations_give_their_first_frame_and_are_told() {
    let frame = |value: u8| vec![value; 4 * 3 * 3];
    let webp = |value: u8| {
        let mut bytes = Vec::new();
        let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut bytes);
        encoder.encode(&frame(value), 4, 3, image::ExtendedColorType::Rgb8).unwrap();
        bytes
    };
    let gif = |values: &[u8]| {
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        for &value in values {
            encoder.encode(&frame(value), 4, 3, image::ExtendedColorType::Rgb8).unwrap();
        }
        drop(encoder);
        bytes
    };
    let apng = |values: &[u8]| {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 4, 3);
        encoder.set_color(png::ColorType::Rgb);
        if values.len() > 1 {
            encoder.set_animated(values.len() as u32, 0).unwrap();
        }
        let mut writer = encoder.write_header().unwrap();
        values.iter().for_each(|&value| writer.write_image_data(&frame(value)).unwrap());
        writer.finish().unwrap();
        bytes
    };
    let apply = |bytes: &[u8], strict| {
        let policy = Policy { strict, ..Policy::default() };
        let image = Image::Encoded(encoded(bytes.to_vec()));
        policy.apply("the/key", image, &common::JPEG_OR_RAW, &mut Worker::new())
    };
    let [one, two] = [[7, 7].as_slice(), &[7, 200]];
    for (still, animated) in [
        (webp(7), animated_webp(&[webp(7), webp(200)])),
        (gif(&one[..1]), gif(two)),
        (apng(&one[..1]), apng(two)),
    ] {
        let expected = apply(&still, true).unwrap();
        assert!(!expected.notes.contains(Notes::FIRST_FRAME));
        let found = apply(&animated, false).unwrap();
        assert!(found.notes.contains(Notes::FIRST_FRAME), "{:?}", found.notes);
        assert_eq!(found.encoded.bytes, expected.encoded.bytes);
        let refused = apply(&animated, true).map(|outcome| outcome.notes).unwrap_err();
        assert!(refused.to_string().contains("first frame"), "{refused}");
        // Byte for byte all frames are there.
        assert_eq!(keep(&encoded(animated), true).unwrap(), Notes::KEPT);
    }
}
