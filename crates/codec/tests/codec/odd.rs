//! JPEGs and TIFFs of rare kinds: decoded, or refused with a clear cause.
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

/// Keeps the bytes, if they are accepted.
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
            // The standard allows an end marker between two scans.
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
        // Our decoder crops some that libjpeg-turbo does not.
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

/// Two pixels of RGBA in one strip; `extra` is the meaning of the alpha channel.
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

/// A TIFF of 16 by 16 pixels in one strip, with these additional entries.
fn strip_tiff(strip: &[u8], changes: &[(u16, u32)]) -> Encoded {
    let mut entries = std::collections::BTreeMap::from([
        (256, 16),
        (257, 16),
        (258, 8),
        (259, 1),
        (262, 1),
        (273, 0),
        (277, 1),
        (279, strip.len() as u32),
    ]);
    entries.extend(changes.iter().copied());
    let at = 8 + 2 + 12 * entries.len() as u32 + 4;
    entries.insert(273, at);
    let entries: Vec<_> = entries.into_iter().map(|(tag, value)| (tag, 4, 1, value)).collect();
    let mut bytes = tiff_directory(&entries);
    assert_eq!(bytes.len(), at as usize);
    bytes.extend(strip);
    encoded(bytes)
}

/// Values of `Compression` and `PhotometricInterpretation`.
const JPEG: (u16, u32) = (259, 7);
const WEBP: (u16, u32) = (259, 50_001);
const RGB: (u16, u32) = (262, 2);
const YCBCR: (u16, u32) = (262, 6);

/// Like libtiff, which takes the colours of its JPEGs from the TIFF.
#[test]
fn markers_of_a_jpeg_in_a_tiff_do_not_overrule_its_colours() {
    const JFIF: &[u8] = b"\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
    const ADOBE_RGB: &[u8] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0";
    let jpeg = common::file(16, 16, 3, fdconvert_core::Codec::Jpeg);
    assert_eq!(jpeg.bytes[2..4], JFIF[..2]);
    let bare = 4 + usize::from(u16::from_be_bytes([jpeg.bytes[4], jpeg.bytes[5]]));
    let with = |markers: &[u8]| [&[0xff, 0xd8], markers, &jpeg.bytes[bare..]].concat();
    let tiff = |markers: &[u8], colors| {
        decode(&strip_tiff(&with(markers), &[JPEG, colors, (277, 3)])).unwrap().0
    };
    let (rgb, ycbcr) = (tiff(&[], RGB), tiff(&[], YCBCR));
    assert_eq!(ycbcr, decode(&jpeg).unwrap().0);
    assert_ne!(rgb, ycbcr);
    for markers in [JFIF, ADOBE_RGB, &[JFIF, ADOBE_RGB].concat()] {
        assert_eq!((tiff(markers, RGB), tiff(markers, YCBCR)), (rgb.clone(), ycbcr.clone()));
    }
}

/// libwebp omits alpha if all of it is opaque, tile by tile.
#[test]
fn webps_in_a_tiff_have_the_channels_that_it_says() {
    let pixels = |channels: u8| common::picture(16, 16, channels).data;
    let webp = |channels: u8, kind| {
        let mut bytes = Vec::new();
        let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut bytes);
        encoder.encode(&pixels(channels), 16, 16, kind).unwrap();
        bytes
    };
    let rgb = webp(3, image::ExtendedColorType::Rgb8);
    let alpha = (338, 2);
    let (found, _) = decode(&strip_tiff(&rgb, &[WEBP, RGB, (277, 4), alpha])).unwrap();
    let opaque = |pixel: &[u8; 3]| [pixel[0], pixel[1], pixel[2], 255];
    assert!(found == pixels(3).as_chunks().0.iter().flat_map(opaque).collect::<Vec<_>>());
    let rgba = webp(4, image::ExtendedColorType::Rgba8);
    let (found, _) = decode(&strip_tiff(&rgba, &[WEBP, RGB, (277, 3)])).unwrap();
    let colors = |pixel: &[u8; 4]| [pixel[0], pixel[1], pixel[2]];
    assert!(found == pixels(4).as_chunks().0.iter().flat_map(colors).collect::<Vec<_>>());
}

#[test]
fn tiles_of_a_small_tiff_are_under_the_limit_on_pixels_too() {
    let tiles = [(322, 60_000), (323, 30_000), (324, 8), (325, 9), (256, 1), (257, 30_000)];
    let error =
        decode(&strip_tiff(&[0; 9], &[(259, 8)].into_iter().chain(tiles).collect::<Vec<_>>()));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("tiles of 60000x30000") && error.contains("limit"), "{error}");
}

#[test]
fn kept_bytes_that_are_not_decoded_are_not_said_to_be_rounded() {
    let floats = strip_tiff(&[0; 1024], &[(258, 32), (339, 3)]);
    assert_eq!(keep(&floats, false).unwrap(), Notes::KEPT | Notes::BANDS_KEPT);
    let doubles = strip_tiff(&[0; 2048], &[(258, 64), (339, 3)]);
    assert_eq!(keep(&doubles, false).unwrap(), Notes::KEPT | Notes::NOT_DECODED);
}

#[test]
fn gifs_without_what_some_writers_leave_out_have_their_pixels() {
    const TABLE: [u8; 6] = [10, 20, 30, 40, 50, 60];
    // One pixel with index 1, and before it the control that makes index 0 transparent.
    const FRAME: &[u8] = b",\0\0\0\0\x01\0\x01\0\0\x02\x02\x4c\x01\0";
    const CONTROL: &[u8] = b"!\xf9\x04\x01\0\0\0\0";
    let pixels = |size: u8, table: &[u8], blocks: &[&[u8]]| {
        let flags = if table.is_empty() { 0 } else { 0x80 };
        let screen = [size, 0, size, 0, flags, 0, 0];
        let gif = [b"GIF89a", &screen[..], table, &blocks.concat(), b";"].concat();
        decode(&encoded(gif)).unwrap().0
    };
    assert_eq!(pixels(1, &TABLE, &[CONTROL, FRAME]), [40, 50, 60]);
    assert_eq!(pixels(1, &TABLE, &[b"\0", CONTROL, b"\0\0", FRAME]), [40, 50, 60]);
    assert_eq!(pixels(0, &TABLE, &[CONTROL, FRAME]), [40, 50, 60]);
    assert_eq!(pixels(1, &[], &[CONTROL, FRAME]), [1, 1, 1]);
}

#[test]
fn pixels_of_a_gif_beyond_its_table_are_transparent_whatever_the_buffer_held() {
    let mut gif = b"GIF89a\x01\0\x01\0\x80\0\0\x09\x09\x09\x09\x09\x09".to_vec();
    // One pixel with index 2.
    gif.extend(b",\0\0\0\0\x01\0\x01\0\0\x02\x02\x54\x01\0;");
    let mut out = vec![7; 99];
    Decoder::new().decode_into("k", &encoded(gif), &Limits::DEFAULT, &mut out).unwrap();
    assert_eq!(out, [0; 4]);
}

/// A WebP of several frames, each a complete still image.
fn animated_webp(frames: &[Vec<u8>]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let padding = &[0][..data.len() % 2];
        [&kind[..], &(data.len() as u32).to_le_bytes(), data, padding].concat()
    };
    let size = [4_u32 - 1, 3 - 1].map(|side| side.to_le_bytes()[..3].to_vec()).concat();
    let mut chunks = chunk(b"VP8X", &[&[2, 0, 0, 0][..], &size].concat());
    chunks.extend(chunk(b"ANIM", &[0; 6]));
    for still in frames {
        // Place, size, duration, flags (not blended with the canvas), and the chunk of the still
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
        // All frames are there, byte for byte.
        assert_eq!(keep(&encoded(animated), true).unwrap(), Notes::KEPT);
    }
}
