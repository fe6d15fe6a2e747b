//! TIFFs of many kinds, written here sample by sample.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::{JPEG_OR_RAW, encoded};
use fdconvert_codec::{Check, Decoder, Notes, Policy, Region, Worker, orientation};
use fdconvert_core::{Bands, DType, Encoded, Image, Limits};
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

/// A little-endian TIFF of 8 bits in strips of two rows or tiles of 16 by 16.
#[derive(Clone, Copy)]
struct Spec {
    width: usize,
    height: usize,
    samples: usize,
    photometric: u16,
    extra: Option<u16>,
    is_planar: bool,
    is_tiled: bool,
    /// Deflated, as differences.
    is_predicted: bool,
    orientation: u16,
    n_pages: usize,
}

const RGB: Spec = Spec {
    width: 37,
    height: 21,
    samples: 3,
    photometric: 2,
    extra: None,
    is_planar: false,
    is_tiled: false,
    is_predicted: false,
    orientation: 1,
    n_pages: 1,
};

fn sample(x: usize, y: usize, channel: usize) -> u8 {
    (x * 5 * (channel + 1) + y * 3 + channel * 40) as u8
}

impl Spec {
    /// Returns the strips or tiles, one after the other.
    fn chunks(&self) -> Vec<Vec<u8>> {
        let (width, height) = if self.is_tiled { (16, 16) } else { (self.width, 2) };
        let planes: Vec<Vec<usize>> = match self.is_planar {
            true => (0..self.samples).map(|channel| vec![channel]).collect(),
            false => vec![(0..self.samples).collect()],
        };
        let mut chunks = Vec::new();
        for channels in planes {
            for top in (0..self.height).step_by(height) {
                for left in (0..self.width).step_by(width) {
                    let bottom = if self.is_tiled { top + height } else { self.height };
                    let mut bytes = Vec::new();
                    for y in top..bottom.min(top + height) {
                        let mut row: Vec<u8> = (left..left + width)
                            .flat_map(|x| {
                                channels.iter().map(move |channel| sample(x, y, *channel))
                            })
                            .collect();
                        if self.is_predicted {
                            for at in (channels.len()..row.len()).rev() {
                                row[at] = row[at].wrapping_sub(row[at - channels.len()]);
                            }
                        }
                        bytes.extend(row);
                    }
                    if self.is_predicted {
                        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
                        deflated.write_all(&bytes).unwrap();
                        bytes = deflated.finish().unwrap();
                    }
                    chunks.push(bytes);
                }
            }
        }
        chunks
    }

    fn file(&self) -> Vec<u8> {
        let mut out = b"II*\0\0\0\0\0".to_vec();
        let mut places = Vec::new();
        let chunks = self.chunks();
        for chunk in &chunks {
            places.push(out.len() as u32);
            out.extend(chunk);
        }
        out.resize(out.len().next_multiple_of(2), 0);
        let mut pointer = 4;
        for _ in 0..self.n_pages {
            let start = (out.len() as u32).to_le_bytes();
            out[pointer..pointer + 4].copy_from_slice(&start);
            pointer = self.directory(&places, &chunks, &mut out);
        }
        out
    }

    /// Returns the place of the next directory's offset.
    fn directory(&self, places: &[u32], chunks: &[Vec<u8>], out: &mut Vec<u8>) -> usize {
        let short = |value: u16| (3_u16, vec![u32::from(value)]);
        let lens = chunks.iter().map(|chunk| chunk.len() as u32).collect();
        let mut entries = vec![
            (256, (4, vec![self.width as u32])),
            (257, (4, vec![self.height as u32])),
            (258, short(8)),
            (259, short(if self.is_predicted { 8 } else { 1 })),
            (262, short(self.photometric)),
            (274, short(self.orientation)),
            (277, short(self.samples as u16)),
            (284, short(if self.is_planar { 2 } else { 1 })),
            (317, short(if self.is_predicted { 2 } else { 1 })),
        ];
        entries.extend(self.extra.map(|extra| (338, short(extra))));
        let (at, len) = if self.is_tiled { (324, 325) } else { (273, 279) };
        entries.extend([(at, (4, places.to_vec())), (len, (4, lens))]);
        match self.is_tiled {
            true => entries.extend([(322, short(16)), (323, short(16))]),
            false => entries.push((278, short(2))),
        }
        entries.sort();
        out.extend((entries.len() as u16).to_le_bytes());
        let mut outside = out.len() + entries.len() * 12 + 4;
        let mut values_outside = Vec::new();
        for (tag, (kind, values)) in entries {
            out.extend([tag, kind].map(u16::to_le_bytes).as_flattened());
            out.extend((values.len() as u32).to_le_bytes());
            match values[..] {
                // A value of two bytes is stored first, the same as four bytes in little endian.
                [value] => out.extend(value.to_le_bytes()),
                _ => {
                    out.extend((outside as u32).to_le_bytes());
                    outside += values.len() * 4;
                    values_outside.extend(values.into_iter().flat_map(u32::to_le_bytes));
                }
            }
        }
        let pointer = out.len();
        out.extend([0; 4]);
        out.extend(values_outside);
        pointer
    }

    /// Returns the first `channels` of its pixels.
    fn pixels(&self, channels: usize) -> Vec<u8> {
        let places = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        places.flat_map(|(x, y)| (0..channels).map(move |channel| sample(x, y, channel))).collect()
    }
}

fn decoded(spec: &Spec) -> (u8, Vec<u8>, Notes) {
    let image = encoded(spec.file());
    let found = Decoder::new().decode("k", &image, &Limits::DEFAULT).unwrap();
    (found.pixels.channels, found.pixels.data, found.notes)
}

/// An earlier library dropped the sample before it undid the differences.
#[test]
fn tiffs_with_an_extra_sample_and_a_predictor_have_their_pixels() {
    for samples in [4, 5, 6] {
        for (is_planar, is_tiled) in [(false, false), (false, true), (true, false), (true, true)] {
            for is_predicted in [false, true] {
                let spec = Spec { samples, extra: Some(0), is_planar, is_tiled, ..RGB };
                let spec = Spec { is_predicted, ..spec };
                let (channels, data, notes) = decoded(&spec);
                assert_eq!((channels, notes), (3, Notes::CHANNELS_LEFT_OUT));
                assert!(data == spec.pixels(3), "{samples} {is_planar} {is_tiled} {is_predicted}");
            }
        }
    }
}

#[test]
fn tiled_planar_tiffs_with_cut_tiles_are_decoded() {
    for samples in [3, 4] {
        let spec = Spec { is_planar: true, is_tiled: true, samples, extra: Some(2), ..RGB };
        let (channels, data, _) = decoded(&spec);
        assert_eq!(usize::from(channels), samples);
        assert!(data == spec.pixels(samples));
    }
}

#[test]
fn gray_tiffs_with_alpha_and_white_as_zero() {
    let spec = Spec { samples: 2, photometric: 1, extra: Some(2), ..RGB };
    let (channels, data, _) = decoded(&spec);
    assert_eq!(channels, 4);
    let rgba = |pair: &[u8; 2]| [pair[0], pair[0], pair[0], pair[1]];
    let expected: Vec<u8> = spec.pixels(2).as_chunks().0.iter().flat_map(rgba).collect();
    assert!(data == expected);
    let spec = Spec { samples: 1, photometric: 0, is_predicted: true, ..RGB };
    let (channels, data, _) = decoded(&spec);
    assert_eq!(channels, 1);
    assert!(data.iter().zip(spec.pixels(1)).all(|(found, stored)| *found == 255 - stored));
}

#[test]
fn channels_that_are_no_colours_are_refused_in_words() {
    let image = encoded(Spec { samples: 13, photometric: 1, ..RGB }.file());
    let error = Decoder::new().decode("k", &image, &Limits::DEFAULT).unwrap_err().to_string();
    let expected = "TIFF with 13 channels of 8 bits is not an 8-bit picture: keep the file (any format \
                    except mixed), and read it with the loader's Bands(13, \"u8\")";
    assert!(error.contains(expected), "{error}");
}

fn bands(bytes: Vec<u8>, region: Region) -> (Bands, Vec<u8>) {
    let mut values = Vec::new();
    let image = encoded(bytes);
    let bands = Decoder::new().decode_bands("k", &image, &Limits::DEFAULT, region, &mut values);
    (bands.unwrap(), values)
}

#[test]
fn bands_are_those_of_the_file_for_any_region() {
    for (is_planar, is_tiled, is_predicted) in
        [(false, false, false), (true, false, true), (false, true, true), (true, true, false)]
    {
        let spec = Spec { samples: 5, photometric: 1, is_planar, is_tiled, is_predicted, ..RGB };
        let file = spec.file();
        for (x, y, width, height) in
            [(0, 0, 37, 21), (15, 1, 3, 19), (36, 20, 1, 1), (2, 16, 30, 2)]
        {
            let (found, values) = bands(file.clone(), Region { x, y, width, height });
            assert_eq!(found, Bands { n: 5, dtype: DType::U8 });
            let rows = (y..y + height).flat_map(|y| (x..x + width).map(move |x| (x, y)));
            let expected =
                rows.flat_map(|(x, y)| (0..5).map(move |it| sample(x as usize, y as usize, it)));
            assert!(values == expected.collect::<Vec<_>>(), "{is_planar} {is_tiled} {x} {y}");
        }
    }
    let whole = Region { x: 0, y: 0, width: 37, height: 21 };
    // Pictures of 8 bits have the channels that they are decoded to.
    assert_eq!(bands(RGB.file(), whole).0, Bands { n: 3, dtype: DType::U8 });
}

#[test]
fn bands_take_no_more_memory_than_the_limit_on_pixels_allows() {
    let image = encoded(Spec { samples: 13, photometric: 1, ..RGB }.file());
    let whole = Region { x: 0, y: 0, width: 37, height: 21 };
    let limits = Limits { max_pixels: 37 * 21 * 13 / 4, ..Limits::DEFAULT };
    let error = Decoder::new().decode_bands("k", &image, &limits, whole, &mut Vec::new());
    assert!(error.unwrap_err().to_string().contains("13 bands of uint8"));
}

#[test]
fn the_orientation_of_a_tiff_is_that_of_its_tag() {
    assert_eq!(orientation(&encoded(Spec { orientation: 6, ..RGB }.file())), 6);
}

fn apply(policy: &Policy, image: Encoded) -> Result<Notes, String> {
    let mut worker = Worker::new();
    let outcome = policy.apply("k", Image::Encoded(image), &JPEG_OR_RAW, &mut worker);
    outcome.map(|outcome| outcome.notes).map_err(|error| error.to_string())
}

#[test]
fn pages_and_channels_that_are_left_out_are_counted_and_refused_by_strict() {
    let strict = Policy { strict: true, ..Policy::default() };
    for (spec, note, word) in [
        (Spec { n_pages: 3, ..RGB }, Notes::FIRST_PAGE, "several pages"),
        (
            Spec { samples: 4, extra: Some(0), ..RGB },
            Notes::CHANNELS_LEFT_OUT,
            "besides its colours",
        ),
    ] {
        let image = encoded(spec.file());
        assert!(apply(&Policy::default(), image.clone()).unwrap().contains(note));
        assert!(apply(&strict, image).unwrap_err().contains(word));
    }
    assert!(!apply(&strict, encoded(RGB.file())).unwrap().contains(Notes::FIRST_PAGE));
}

const ANY: fdconvert_testkit::fake::Fake =
    fdconvert_testkit::fake::Fake::new(|_| true, fdconvert_core::Codec::Png);

fn keep(policy: &Policy, bytes: Vec<u8>) -> Result<Notes, String> {
    let mut worker = Worker::new();
    let outcome = policy.apply("k", Image::Encoded(encoded(bytes)), &ANY, &mut worker);
    outcome.map(|outcome| outcome.notes).map_err(|error| error.to_string())
}

#[test]
fn kept_bytes_of_a_kind_that_is_not_decoded_are_counted_and_broken_ones_refused() {
    let unsupported = Spec { samples: 33, photometric: 1, ..RGB }.file();
    let notes = keep(&Policy::default(), unsupported.clone()).unwrap();
    assert_eq!(notes, Notes::KEPT | Notes::NOT_DECODED);
    let strict = Policy { strict: true, ..Policy::default() };
    let error = keep(&strict, unsupported.clone()).unwrap_err();
    assert!(error.contains("cannot be decoded") && error.contains("`strict`"), "{error}");
    let kind = "TIFF with 33 bands, which are more than 32, is not supported";
    assert!(error.contains(kind), "{error}");
    let pixels = Policy { check: Check::Pixels, ..Policy::default() };
    assert!(keep(&pixels, unsupported).unwrap_err().contains("33 bands"));
    let bands = Spec { samples: 13, photometric: 1, ..RGB }.file();
    for policy in [Policy::default(), strict, pixels] {
        assert_eq!(keep(&policy, bands.clone()).unwrap(), Notes::KEPT | Notes::BANDS_KEPT);
    }
    // The byte count of its strip (tag 279) exceeds the file.
    let mut cut = Spec { height: 2, is_predicted: true, ..RGB }.file();
    let pointer = u32::from_le_bytes(*cut[4..].first_chunk().unwrap()) as usize;
    let n_entries = usize::from(cut[pointer]);
    let strip = (0..n_entries).map(|entry| pointer + 2 + 12 * entry).find(|at| cut[*at] == 0x17);
    cut[strip.unwrap() + 9] = 0xff;
    assert!(keep(&Policy::default(), cut).unwrap_err().contains("cut off"));
}

/// The structure is sound, the data is not.
#[test]
fn only_a_check_of_the_pixels_finds_what_is_inside_the_data() {
    let spec = Spec { is_predicted: true, ..RGB };
    let mut bytes = spec.file();
    // After the two bytes that begin deflated data.
    bytes[12] ^= 0xff;
    assert_eq!(keep(&Policy::default(), bytes.clone()), Ok(Notes::KEPT));
    let pixels = Policy { check: Check::Pixels, ..Policy::default() };
    assert!(keep(&pixels, bytes).unwrap_err().contains("strip 0 cannot be unpacked"));
    assert_eq!(keep(&pixels, spec.file()), Ok(Notes::KEPT));
}

/// Returns files of several kinds, with their names.
pub(crate) fn samples() -> Vec<(String, Encoded)> {
    let specs = [
        ("strips", RGB),
        ("deflated", Spec { is_predicted: true, ..RGB }),
        ("tiles", Spec { is_tiled: true, is_planar: true, ..RGB }),
        ("channels", Spec { samples: 4, extra: Some(0), ..RGB }),
    ];
    specs.map(|(name, spec)| (name.to_owned(), encoded(spec.file()))).into()
}

/// Files of libtiff and tifffile with the pixels of [`sample`].
#[test]
fn compressions_and_layouts_of_other_writers_have_their_pixels() {
    let decoded = |file: &'static [u8]| {
        let found = Decoder::new().decode("k", &encoded(file.to_vec()), &Limits::DEFAULT).unwrap();
        (found.pixels.channels, found.pixels.data)
    };
    let rgb = RGB.pixels(3);
    assert_eq!(decoded(include_bytes!("../fixtures/zstd.tif")), (3, rgb.clone()), "Zstandard");
    assert_eq!(decoded(include_bytes!("../fixtures/big.tif")), (3, rgb.clone()), "BigTIFF");
    // An extra sample, as differences.
    assert_eq!(decoded(include_bytes!("../fixtures/lzw.tif")), (3, rgb.clone()), "LZW");
    assert_eq!(decoded(include_bytes!("../fixtures/lzw16.tif")), (3, rgb), "LZW of 16 bits");
    let gray = Spec { samples: 1, ..RGB }.pixels(1);
    assert_eq!(decoded(include_bytes!("../fixtures/packbits.tif")), (1, gray.clone()), "PackBits");
    let color = |index: &u8| [0, 1, 2].map(|channel| (index & 15) * 16 + channel * 3);
    let colors: Vec<u8> = gray.iter().flat_map(color).collect();
    assert_eq!(decoded(include_bytes!("../fixtures/palette.tif")), (3, colors), "palette");
    let black_and_white: Vec<u8> =
        gray.iter().map(|value| if *value < 128 { 0 } else { 255 }).collect();
    for (file, name) in [
        (&include_bytes!("../fixtures/group4.tif")[..], "fax, group 4"),
        (include_bytes!("../fixtures/group3.tif"), "fax, group 3"),
    ] {
        assert_eq!(decoded(file), (1, black_and_white.clone()), "{name}");
    }
}
