//! Shared by the tests: fake formats, and pictures.
#![allow(dead_code, clippy::unwrap_used, reason = "tests")]

use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_core::{Codec, Encoded, Pixels};
use fdconvert_testkit::fake::Fake;
use std::path::Path;

/// Like FFCV's layout: JPEGs and raw RGB.
pub(crate) const JPEG_OR_RAW: Fake = Fake::new(
    |header| {
        let gray_or_rgb = header.color.channels() == 3 || header.color.channels() == 1;
        match header.codec {
            Codec::Jpeg => gray_or_rgb && header.bits == 8,
            Codec::Raw => header.color.channels() == 3,
            _ => false,
        }
    },
    Codec::Raw,
);

/// Returns a picture stored in this codec.
pub(crate) fn file(width: u32, height: u32, channels: u8, codec: Codec) -> Encoded {
    let pixels = picture(width, height, channels);
    Encoder::new().encode("k", &pixels, codec, &JpegOptions::default(), None).unwrap()
}

/// A JPEG with an EXIF orientation.
pub(crate) fn turned(orientation: u8) -> Encoded {
    let plain = file(64, 48, 3, Codec::Jpeg).bytes;
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let length = (exif.len() as u16 + 2).to_be_bytes();
    let bytes = [&plain[..2], &[0xff, 0xe1], &length, &exif, &plain[2..]].concat();
    let image = encoded(bytes);
    assert_eq!(fdconvert_core::probe::probe(&image.bytes).unwrap().orientation, orientation);
    image
}

/// A PNG of 16-bit gray.
pub(crate) fn deep() -> Encoded {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
    encoder.set_depth(png::BitDepth::Sixteen);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    // 0x0180 / 257 is 1.49, 0x0181 / 257 is 1.5.
    writer.write_image_data(&[0x01, 0x80, 0x01, 0x81]).unwrap();
    writer.finish().unwrap();
    encoded(bytes)
}

/// The Kodak photos in the repository, by name.
pub(crate) fn kodak() -> Vec<(String, Encoded)> {
    files(&fdconvert_testkit::fixtures::kodak())
}

pub(crate) fn files(folder: &Path) -> Vec<(String, Encoded)> {
    let paths = fdconvert_testkit::workload::files_below(folder).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), encoded(std::fs::read(path).unwrap()))).collect()
}

/// Returns an image as from a source: labelled by its content, as far as known.
pub(crate) fn encoded(bytes: Vec<u8>) -> Encoded {
    let header = fdconvert_core::probe::probe(&bytes);
    let (codec, width, height) = header.map_or_else(
        |_| (fdconvert_core::probe::sniff(&bytes).unwrap_or(Codec::Jpeg), 1, 1),
        |header| (header.codec, header.width, header.height),
    );
    Encoded::new(codec, width, height, bytes.into())
}

/// A smooth picture with some detail.
pub(crate) fn picture(width: u32, height: u32, channels: u8) -> Pixels {
    let value = |i: u32| {
        let (x, y) = (i / u32::from(channels) % width, i / u32::from(channels) / width);
        let channel = i % u32::from(channels);
        ((x * (channel + 1)) / 2 + y * 2 + (x * y) % 7) as u8
    };
    let length = Pixels::byte_len(width, height, channels) as u32;
    Pixels { width, height, channels, data: (0..length).map(value).collect() }
}

/// Returns a small image of every codec that is both read and written here.
pub(crate) fn small_images() -> Vec<Encoded> {
    use fdconvert_codec::{Encoder, JpegOptions};
    let mut encoder = Encoder::new();
    let mut images = Vec::new();
    for channels in [1, 3, 4] {
        for codec in [Codec::Jpeg, Codec::Png, Codec::Bmp, Codec::Raw] {
            let options = JpegOptions { restart_rows: 1, ..JpegOptions::default() };
            let pixels = picture(23, 17, channels);
            images.extend(encoder.encode("k", &pixels, codec, &options, None));
        }
    }
    images
}
