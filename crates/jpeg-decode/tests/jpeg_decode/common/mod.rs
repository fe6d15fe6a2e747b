//! JPEGs of all kinds, and libjpeg-turbo's pixels of them.
#![allow(dead_code, clippy::unwrap_used, reason = "each test takes a part; it fails by panicking")]

pub(crate) mod turbo;

use fdconvert_codec::{Decoder, Encoder, JpegOptions, Subsampling};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_jpeg_decode::{Entropy, Instructions};
use fdconvert_testkit::{fixtures::kodak, workload::files_below};
use jpeg_encoder::{ColorType, SamplingFactor};
pub(crate) use turbo::zigzag;

/// Returns a decoder with each available instruction set.
pub(crate) fn decoders() -> Vec<fdconvert_jpeg_decode::Decoder> {
    Instructions::ALL.into_iter().filter_map(fdconvert_jpeg_decode::Decoder::with).collect()
}

/// Returns the kinds of entropy decoding for these numbers of streams, and lanes if the instructions
/// have them.
pub(crate) fn kinds(by: Instructions, numbers_of_streams: &[usize]) -> Vec<Entropy> {
    let lanes: &[_] = if by == Instructions::Avx512 { &[1, 2] } else { &[] };
    let streams = numbers_of_streams.iter().copied().map(Entropy::Streams);
    streams.chain(lanes.iter().copied().map(Entropy::Lanes)).collect()
}

/// Returns the kind with a number: 0 to 8 streams, then lanes.
pub(crate) fn kind(number: usize) -> Entropy {
    match number {
        0..=8 => Entropy::Streams(number),
        _ => Entropy::Lanes(number - 8),
    }
}

pub(crate) const QUALITIES: [u8; 4] = [10, 50, 90, 98];

pub(crate) const N_WAYS: usize = 14;

/// Stores an image in one of the ways: every sampling, optimised tables, restarts, gray, RGB.
pub(crate) fn stored(image: &Pixels, quality: u8, way: usize) -> Vec<u8> {
    use SamplingFactor::{F_1_1, F_1_2, F_2_1, F_2_2};
    use Subsampling::{S420, S422, S444};
    match way % N_WAYS {
        0 => turbo(image, quality, S420, false, 0),
        1 => turbo(image, quality, S422, false, 0),
        2 => turbo(image, quality, S444, false, 0),
        3 => turbo(image, quality, S420, true, 0),
        4 => turbo(image, quality, S422, true, 1),
        5 => turbo(image, quality, S420, false, 2),
        6 => other(image, quality, F_1_2, 0),
        7 => quarter(image, quality),
        8 => other(image, quality, F_2_2, 1),
        9 => other(image, quality, F_1_2, 3),
        10 => other(image, quality, [F_1_1, F_2_1, F_2_2][way / N_WAYS % 3], 5),
        11 => turbo(&gray(image), quality, S420, true, 0),
        12 => turbo(&gray(image), quality, S420, false, 1),
        _ => as_rgb(&turbo(image, quality, S444, false, 0)),
    }
}

fn turbo(
    image: &Pixels,
    quality: u8,
    subsampling: Subsampling,
    optimize_huffman: bool,
    restart_rows: u16,
) -> Vec<u8> {
    let options = JpegOptions { quality, subsampling, optimize_huffman, restart_rows };
    Encoder::new().encode("", image, Codec::Jpeg, &options, None).unwrap().bytes.to_vec()
}

/// Encodes as 4:1:1, which libjpeg-turbo writes only if the source has it; the encoder of that
/// source puts its components into several scans.
fn quarter(image: &Pixels, quality: u8) -> Vec<u8> {
    let source = other(image, 50, SamplingFactor::F_4_1, 0);
    let subsampling = Subsampling::Keep;
    let options = JpegOptions { quality, subsampling, restart_rows: 1, ..JpegOptions::default() };
    let made = Encoder::new().encode("", image, Codec::Jpeg, &options, Some(&source)).unwrap();
    let bytes = made.bytes.to_vec();
    let frame = bytes.windows(2).position(|it| it == [0xFF, 0xC0]).unwrap();
    assert_eq!(bytes[frame + 11], 0x41, "the source's sampling");
    bytes
}

/// Encodes with an encoder that has more samplings, and restarts anywhere in a row.
fn other(image: &Pixels, quality: u8, sampling: SamplingFactor, restart_interval: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(sampling);
    encoder.set_restart_interval(restart_interval);
    let (width, height) = (image.width as u16, image.height as u16);
    encoder.encode(&image.data, width, height, ColorType::Rgb).unwrap();
    bytes
}

/// Declares the same data to be red, green and blue: an Adobe marker instead of the JFIF marker.
fn as_rgb(jpeg: &[u8]) -> Vec<u8> {
    let jfif_bytes = 2 + usize::from(u16::from_be_bytes([jpeg[4], jpeg[5]]));
    assert_eq!(&jpeg[..4], [0xFF, 0xD8, 0xFF, 0xE0]);
    let adobe = b"\xFF\xD8\xFF\xEE\x00\x0EAdobe\x00\x64\x00\x00\x00\x00\x00";
    [&adobe[..], &jpeg[2 + jfif_bytes..]].concat()
}

fn gray(image: &Pixels) -> Pixels {
    let data = image.data.iter().skip(1).step_by(3).copied().collect();
    Pixels { channels: 1, data, ..*image }
}

/// The photographs in the repository, of 768x512 pixels or 512x768.
pub(crate) fn photographs() -> Vec<Pixels> {
    let files = files_below(&kodak()).unwrap();
    let read = |file| {
        let bytes = std::fs::read(file).unwrap();
        let [width, height] =
            [16, 20].map(|at| u32::from_be_bytes(*bytes[at..].first_chunk().unwrap()));
        let png = Encoded::new(Codec::Png, width, height, bytes.into());
        Decoder::new().decode("", &png, &Limits::DEFAULT).unwrap().pixels
    };
    files.into_iter().map(read).collect()
}

pub(crate) fn part(image: &Pixels, at: (u32, u32), (width, height): (u32, u32)) -> Pixels {
    let row = |y: u32| {
        let start = ((y * image.width + at.0) * 3) as usize;
        &image.data[start..start + 3 * width as usize]
    };
    let data = (at.1..at.1 + height).flat_map(row).copied().collect();
    Pixels { width, height, channels: 3, data }
}

/// Decodes RGB with libjpeg-turbo; `None` on any warning.
pub(crate) fn by_libjpeg(bytes: &[u8], width: u32, height: u32) -> Option<Vec<u8>> {
    let mut pixels = vec![0; (width * height * 3) as usize];
    turbo::Turbo::new().decode(bytes, 1, 3, &mut pixels).then_some(pixels)
}
