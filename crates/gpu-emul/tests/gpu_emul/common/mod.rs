//! JPEGs of all kinds, and libjpeg-turbo's pixels of them.
#![allow(dead_code, clippy::unwrap_used, reason = "each test takes a part; it fails by panicking")]

use fdconvert_codec::{Decoder, Encoder, JpegOptions, Subsampling};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_testkit::{
    fixtures::{JPEG_420, JPEG_444, JPEG_GRAY, kodak, photos, pixels, shared},
    workload::files_below,
};
use jpeg_encoder::{ColorType, SamplingFactor};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A JPEG with a description for messages.
pub(crate) type Named = (String, Vec<u8>);

pub(crate) const SIZES: [(u32, u32); 11] = [
    (1, 1),
    (2, 3),
    (3, 2),
    (5, 4),
    (8, 8),
    (7, 5),
    (17, 9),
    (16, 33),
    (17, 33),
    (100, 75),
    (129, 64),
];

/// Small images: all samplings, sizes with partial blocks, tables and restarts.
pub(crate) fn small() -> Vec<Named> {
    let mut made: Vec<Named> = [("420", JPEG_420), ("444", JPEG_444), ("gray", JPEG_GRAY)]
        .into_iter()
        .map(|(name, bytes)| (format!("fixture {name}"), bytes.to_vec()))
        .collect();
    for (seed, (width, height)) in (0..).zip(SIZES) {
        made.extend(encodings(&pixels(width, height, 3, seed), &format!("{width}x{height}")));
        let gray = pixels(width, height, 1, seed);
        for (quality, restart_rows) in [(50, 0), (90, 1)] {
            let options = JpegOptions { quality, restart_rows, ..JpegOptions::default() };
            made.push((format!("{width}x{height} gray {options:?}"), turbo(&gray, &options)));
        }
    }
    made
}

/// Encodes one image in every sampling, with several qualities, tables and restarts.
pub(crate) fn encodings(image: &Pixels, name: &str) -> Vec<Named> {
    let mut made = Vec::new();
    for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
        for (quality, optimize_huffman, restart_rows) in
            [(50, false, 0), (90, false, 1), (90, true, 0), (50, true, 2)]
        {
            let options = JpegOptions { quality, subsampling, optimize_huffman, restart_rows };
            made.push((format!("{name} {options:?}"), turbo(image, &options)));
        }
    }
    // An encoder with 4:4:0, and restarts anywhere in a row.
    for sampling in [SamplingFactor::F_1_1, SamplingFactor::F_1_2, SamplingFactor::F_2_1] {
        for (quality, restart_interval) in [(50, 0), (90, 1), (90, 3)] {
            let mut bytes = Vec::new();
            let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, quality);
            encoder.set_sampling_factor(sampling);
            encoder.set_restart_interval(restart_interval);
            let (width, height) = (image.width as u16, image.height as u16);
            encoder.encode(&image.data, width, height, ColorType::Rgb).unwrap();
            made.push((
                format!("{name} {sampling:?} q{quality} restart {restart_interval}"),
                bytes,
            ));
        }
    }
    let options = JpegOptions { subsampling: Subsampling::S444, ..JpegOptions::default() };
    made.push((format!("{name} stored as RGB"), as_rgb(&turbo(image, &options))));
    made
}

fn turbo(image: &Pixels, options: &JpegOptions) -> Vec<u8> {
    Encoder::new().encode("", image, Codec::Jpeg, options, None).unwrap().bytes.to_vec()
}

/// Declares the same data to be red, green and blue: an Adobe marker instead of the JFIF marker.
fn as_rgb(jpeg: &[u8]) -> Vec<u8> {
    let jfif_bytes = 2 + usize::from(u16::from_be_bytes([jpeg[4], jpeg[5]]));
    assert_eq!(&jpeg[..4], [0xFF, 0xD8, 0xFF, 0xE0]);
    let adobe = b"\xFF\xD8\xFF\xEE\x00\x0EAdobe\x00\x64\x00\x00\x00\x00\x00";
    [&adobe[..], &jpeg[2 + jfif_bytes..]].concat()
}

/// The photographs in the repository, in every encoding.
pub(crate) fn photographs(n: usize) -> Vec<Named> {
    let mut made = Vec::new();
    for file in files_below(&kodak()).unwrap().into_iter().take(n) {
        let bytes = std::fs::read(&file).unwrap().into();
        let png = Encoded::new(Codec::Png, 768, 512, bytes);
        let image = Decoder::new().decode("", &png, &Limits::DEFAULT).unwrap().pixels;
        made.extend(encodings(&image, &file.file_name().unwrap().to_string_lossy()));
    }
    made
}

/// The JPEGs in the repository, from other encoders.
pub(crate) fn of_all_sorts() -> Vec<Named> {
    named(&photos())
}

/// Originals of ImageNet, from the folder next to the repository.
pub(crate) fn originals() -> Vec<Named> {
    named(&shared().join("data/images"))
}

fn named(folder: &Path) -> Vec<Named> {
    let named = |file: PathBuf| (file.display().to_string(), std::fs::read(file).unwrap());
    files_below(folder).unwrap().into_iter().map(named).collect()
}

/// Decodes with libjpeg-turbo: accurate DCT, fancy upsampling. Its interface supports fewer
/// samplings than the library itself; the others are decoded by its program, if `FDCONVERT_DJPEG`
/// names it.
pub(crate) fn by_libjpeg(bytes: &[u8], width: u32, height: u32) -> Option<Pixels> {
    let encoded = Encoded::new(Codec::Jpeg, width, height, bytes.to_vec().into());
    match Decoder::new().decode("", &encoded, &Limits::DEFAULT) {
        Ok(decoded) => Some(decoded.pixels),
        Err(error) => {
            assert!(format!("{error}").contains("subsampling level"), "{error}");
            by_program(bytes)
        }
    }
}

fn by_program(bytes: &[u8]) -> Option<Pixels> {
    let mut djpeg = Command::new(std::env::var_os("FDCONVERT_DJPEG")?);
    djpeg.args(["-pnm", "-dct", "int"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = djpeg.spawn().unwrap();
    // Small enough for a pipe, like all images here.
    running.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let mut parts = output.stdout.splitn(4, |byte| byte.is_ascii_whitespace());
    let channels = if parts.next()? == b"P6" { 3 } else { 1 };
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let (width, height) = (number()?, number()?);
    let data = parts.next()?.strip_prefix(b"255\n")?.to_vec();
    Some(Pixels { width, height, channels, data })
}
