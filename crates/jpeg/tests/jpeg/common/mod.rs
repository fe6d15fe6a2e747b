//! Shared by the tests: JPEGs of all kinds.
#![allow(dead_code, clippy::unwrap_used, reason = "each test takes a part; it fails by panicking")]

pub(crate) mod synthetic;

use fdconvert_codec::{Decoder, Encoder, JpegOptions, Subsampling};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use fdconvert_testkit::{
    fixtures::{JPEG_420, JPEG_444, JPEG_GRAY, kodak, photos, pixels, shared},
    workload::files_below,
};
use jpeg_encoder::{ColorType, SamplingFactor};
use std::path::{Path, PathBuf};

/// A JPEG with a description for messages.
pub(crate) type Named = (String, Vec<u8>);

pub(crate) const SIZES: [(u32, u32); 7] =
    [(1, 1), (8, 8), (7, 5), (17, 9), (16, 33), (100, 75), (129, 64)];

/// Small images: all samplings, sizes with partial blocks, tables and restarts.
pub(crate) fn small() -> Vec<Named> {
    let mut made: Vec<Named> = [("420", JPEG_420), ("444", JPEG_444), ("gray", JPEG_GRAY)]
        .into_iter()
        .map(|(name, bytes)| (format!("fixture {name}"), bytes.to_vec()))
        .collect();
    let mut encoder = Encoder::new();
    for (seed, (width, height)) in (0..).zip(SIZES) {
        for channels in [1, 3] {
            let image = pixels(width, height, channels, seed);
            for subsampling in [Subsampling::S420, Subsampling::S422, Subsampling::S444] {
                for (quality, optimize_huffman, restart_rows) in
                    [(50, false, 0), (90, false, 1), (90, true, 0), (100, true, 2)]
                {
                    let options =
                        JpegOptions { quality, subsampling, optimize_huffman, restart_rows };
                    // Without libjpeg-turbo there are no optimised tables.
                    let Ok(encoded) = encoder.encode("", &image, Codec::Jpeg, &options, None)
                    else {
                        assert!(optimize_huffman, "{options:?}");
                        continue;
                    };
                    let name = format!("{width}x{height}x{channels} {options:?}");
                    made.push((name, encoded.bytes.to_vec()));
                }
            }
        }
        for (sampling, name) in [(SamplingFactor::F_1_2, "440"), (SamplingFactor::F_2_2, "420")] {
            for restart_interval in [0, 1, 3] {
                let image = pixels(width, height, 3, seed);
                let name = format!("{width}x{height} {name}, restart every {restart_interval}");
                made.push((name, other_encoder(&image, sampling, restart_interval)));
            }
        }
    }
    made
}

/// Encodes with a Rust encoder, which supports 4:4:0 and restarts after any number of MCUs.
pub(crate) fn other_encoder(
    image: &Pixels,
    sampling: SamplingFactor,
    restart_interval: u16,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, 85);
    encoder.set_sampling_factor(sampling);
    encoder.set_restart_interval(restart_interval);
    let (width, height) = (image.width as u16, image.height as u16);
    encoder.encode(&image.data, width, height, ColorType::Rgb).unwrap();
    bytes
}

/// The photographs of the repository, encoded in several ways.
pub(crate) fn photographs() -> Vec<Named> {
    let mut files = files_below(&kodak()).unwrap();
    files.truncate(2);
    let mut made = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).unwrap().into();
        let png = Encoded::new(Codec::Png, 768, 512, bytes);
        let image = Decoder::new().decode("", &png, &Limits::DEFAULT).unwrap().pixels;
        for (quality, subsampling, optimize_huffman, restart_rows) in [
            (50, Subsampling::S420, false, 0),
            (90, Subsampling::S444, false, 3),
            (90, Subsampling::S420, true, 0),
            (95, Subsampling::S422, false, 0),
        ] {
            let options = JpegOptions { quality, subsampling, optimize_huffman, restart_rows };
            let Ok(jpeg) = Encoder::new().encode("", &image, Codec::Jpeg, &options, None) else {
                assert!(optimize_huffman, "only libjpeg-turbo makes tables for an image");
                continue;
            };
            made.push((format!("{} {options:?}", file.display()), jpeg.bytes.to_vec()));
        }
        made.push((
            format!("{} 440", file.display()),
            other_encoder(&image, SamplingFactor::F_1_2, 5),
        ));
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
