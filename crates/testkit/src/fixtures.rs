//! Images and samples made without a codec, and the image sets in the repository or next to it.
use bytes::Bytes;
use fdconvert_core::{
    Codec, Color, Encoded, FieldSpec, GOLDEN, ImageHeader, Kind, Pixels, Sample, Schema, Value, mix,
};
use std::path::{Path, PathBuf};

pub use crate::shared::shared;

/// A generator of pseudo-random numbers, the same on every machine (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Returns a number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// Returns `n_bytes` bytes.
    pub fn bytes(&mut self, n_bytes: usize) -> Vec<u8> {
        (0..n_bytes).map(|_| self.next_u64() as u8).collect()
    }
}

/// Returns pixels with some structure and some noise.
#[must_use]
pub fn pixels(width: u32, height: u32, channels: u8, seed: u64) -> Pixels {
    let mut random = Random::new(seed);
    let mut data = Vec::new();
    for y in 0..height {
        for x in 0..width {
            for channel in 0..u32::from(channels) {
                let slope = x * (channel + 2) + y * 5 + seed as u32 * 31;
                data.push((slope as u8).wrapping_add(random.below(8) as u8));
            }
        }
    }
    Pixels { width, height, channels, data }
}

/// Returns raw RGB pixels in their stored form.
#[must_use]
pub fn raw(width: u32, height: u32, seed: u64) -> Encoded {
    let bytes = pixels(width, height, 3, seed).data.into();
    Encoded::new(Codec::Raw, width, height, bytes)
}

/// Returns a bottom-up BMP of 24 bits per pixel, with rows padded to four bytes.
#[must_use]
pub fn bmp(width: u32, height: u32, seed: u64) -> Encoded {
    let pixels = pixels(width, height, 3, seed);
    let row_bytes = width as usize * 3;
    let padded = row_bytes.next_multiple_of(4);
    let data_bytes = (padded * height as usize) as u32;
    let mut bytes = b"BM".to_vec();
    for word in [54 + data_bytes, 0, 54, 40, width, height, 24 << 16 | 1, 0, data_bytes] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 16]);
    for row in pixels.data.chunks(row_bytes.max(1)).rev() {
        for pixel in row.chunks(3) {
            bytes.extend(pixel.iter().rev());
        }
        bytes.resize(bytes.len() + padded - row_bytes, 0);
    }
    Encoded::new(Codec::Bmp, width, height, bytes.into())
}

/// Returns an RGB PNG of stored (uncompressed) blocks.
#[must_use]
pub fn png(width: u32, height: u32, seed: u64) -> Encoded {
    let pixels = pixels(width, height, 3, seed);
    let mut rows = Vec::new();
    for row in pixels.data.chunks((width as usize * 3).max(1)) {
        rows.push(0);
        rows.extend_from_slice(row);
    }
    let mut stream = vec![0x78, 0x01];
    let n_blocks = rows.len().div_ceil(0xffff);
    for (i, block) in rows.chunks(0xffff).enumerate() {
        let len = block.len() as u16;
        stream.push(u8::from(i + 1 == n_blocks));
        stream.extend_from_slice(&len.to_le_bytes());
        stream.extend_from_slice(&(!len).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(&rows).to_be_bytes());
    let mut header = Vec::new();
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in [(b"IHDR", header), (b"IDAT", stream), (b"IEND", Vec::new())] {
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
        let chunk = [&name[..], &data].concat();
        bytes.extend_from_slice(&chunk);
        bytes.extend_from_slice(&crc32(&chunk).to_be_bytes());
    }
    Encoded::new(Codec::Png, width, height, bytes.into())
}

/// Returns a sound TIFF of 2x1 pixels with 13 channels of 32-bit integers, which nothing here reads.
#[must_use]
pub fn channels_tiff() -> Vec<u8> {
    let entries: [(u16, u16, u32, u32); 9] = [
        (256, 3, 1, 2),
        (257, 3, 1, 1),
        (258, 3, 1, 32),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 1, 122),
        (277, 3, 1, 13),
        (278, 3, 1, 1),
        (279, 4, 1, 104),
    ];
    let mut bytes = tiff_directory(&entries);
    assert_eq!(bytes.len(), 122);
    bytes.extend([7; 104]);
    bytes
}

/// Returns the start of a little-endian TIFF with one directory: tag, kind, count and value of each
/// entry.
#[must_use]
pub fn tiff_directory(entries: &[(u16, u16, u32, u32)]) -> Vec<u8> {
    let mut bytes = b"II\x2a\0\x08\0\0\0".to_vec();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

/// Baseline JPEG, 32x24, 4:2:0.
pub const JPEG_420: &[u8] = include_bytes!("../fixtures/rgb-420.jpg");
/// Baseline JPEG, 32x24, 4:4:4.
pub const JPEG_444: &[u8] = include_bytes!("../fixtures/rgb-444.jpg");
/// Baseline JPEG, 32x24, gray.
pub const JPEG_GRAY: &[u8] = include_bytes!("../fixtures/gray.jpg");
/// RGB PNG, 20x15, compressed.
pub const PNG_RGB: &[u8] = include_bytes!("../fixtures/rgb.png");
/// Gray PNG, 20x15, compressed.
pub const PNG_GRAY: &[u8] = include_bytes!("../fixtures/gray.png");

/// Returns one image of every kind in this module, with its header.
#[must_use]
pub fn images() -> Vec<(ImageHeader, Encoded)> {
    let constant = |codec, color, width, height, bytes| {
        let header = ImageHeader { codec, color, ..ImageHeader::raw(width, height, 3) };
        (header, Encoded::new(codec, width, height, Bytes::from_static(bytes)))
    };
    let made = |image: Encoded| {
        let header =
            ImageHeader { codec: image.codec, ..ImageHeader::raw(image.width, image.height, 3) };
        (header, image)
    };
    vec![
        constant(Codec::Jpeg, Color::Rgb, 32, 24, JPEG_420),
        constant(Codec::Jpeg, Color::Rgb, 32, 24, JPEG_444),
        constant(Codec::Jpeg, Color::Gray, 32, 24, JPEG_GRAY),
        constant(Codec::Png, Color::Rgb, 20, 15, PNG_RGB),
        constant(Codec::Png, Color::Gray, 20, 15, PNG_GRAY),
        made(bmp(7, 5, 1)),
        made(raw(6, 9, 2)),
    ]
}

/// Returns `n` samples of these fields. Images are taken in turn from `images`, labels are below
/// the number of class names (else below 10), keys are like paths: `class/00012.jpg`.
///
/// # Panics
/// When `images` is empty and a field is an image.
#[must_use]
pub fn samples(schema: &Schema, images: &[Encoded], n: usize, seed: u64) -> Vec<Sample<Encoded>> {
    let mut random = Random::new(seed);
    let mut make = |i: usize| {
        let values: Vec<_> =
            schema.fields.iter().map(|field| value(field, images, i, &mut random)).collect();
        let class = match schema.label().map(|at| (&values[at], &schema.fields[at].class_names)) {
            Some((Value::Int(label), Some(names))) => names[*label as usize].clone(),
            Some((Value::Int(label), None)) => format!("{label:05}"),
            _ => format!("part{}", i % 3),
        };
        let extension = values.iter().find_map(|value| match value {
            Value::Image(image) => Some(image.codec.extension()),
            _ => None,
        });
        let key = format!("{class}/{i:05}.{}", extension.unwrap_or("bin"));
        Sample { key, values }
    };
    (0..n).map(&mut make).collect()
}

fn value(field: &FieldSpec, images: &[Encoded], i: usize, random: &mut Random) -> Value<Encoded> {
    match &field.kind {
        Kind::Image => Value::Image(images[i % images.len()].clone()),
        Kind::Images => Value::Images(image_list([0, 1, 2, 12][i % 4], i as u64)),
        Kind::Int => {
            let n_classes = field.class_names.as_ref().map_or(10, |names| names.len() as u64);
            Value::Int(random.below(n_classes) as i64)
        }
        Kind::Float => Value::Float(random.next_u64() as f64 / 3.0e15 - 1.0e3),
        Kind::Bytes => {
            let n_bytes = random.below(200) as usize;
            Value::Bytes(random.bytes(n_bytes).into())
        }
        Kind::Text => Value::Text(format!("caption {} äöü \u{1f600} \"\\", random.below(1000))),
        Kind::Json => {
            let text = format!(r#"{{"id":{i},"box":[{},0.25],"tag":"é"}}"#, random.below(100));
            Value::Json(text.into())
        }
        Kind::Array(spec) => {
            let n_bytes = spec.byte_len().unwrap() as usize;
            let mut bytes = random.bytes(n_bytes);
            // Booleans other than 0 and 1 would not be well formed.
            if spec.dtype == fdconvert_core::DType::Bool {
                bytes.iter_mut().for_each(|byte| *byte &= 1);
            }
            Value::Array(bytes.into())
        }
        other => panic!("no samples of kind {other:?}"),
    }
}

/// Returns images of several codecs and sizes for a list: whole files, whatever the format holds
/// elsewhere.
#[must_use]
pub fn image_list(n_images: usize, seed: u64) -> Vec<Encoded> {
    let image = |number: u64| {
        let (width, height) = (2 + (number % 5) as u32, 3 + (seed % 3) as u32);
        let make = if number.is_multiple_of(2) { png } else { bmp };
        make(width, height, seed + number)
    };
    (0..n_images as u64).map(image).collect()
}

/// Returns a file or folder of `tests/fixtures`, which has a README.
#[must_use]
pub fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(name)
}

/// Returns the photographs in the repository: PNGs of 768x512 pixels.
#[must_use]
pub fn kodak() -> PathBuf {
    fixture("kodak")
}

/// Returns JPEGs in class folders, of all samplings, tables, sizes and orientations.
#[must_use]
pub fn photos() -> PathBuf {
    fixture("photos")
}

/// Returns the rows of a table in `tests/fixtures`, without its heading.
///
/// # Panics
/// When it does not exist.
#[must_use]
pub fn table(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    let row = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(row).collect()
}

pub(crate) fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1, 0);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    b << 16 | a
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_known_ones() {
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn the_same_seed_gives_the_same_samples() {
        let schema = Schema::new(vec![
            FieldSpec::new("image", Kind::Image),
            FieldSpec::label("label", ["a".to_owned(), "b".to_owned()].into()),
            FieldSpec::new("text", Kind::Text),
        ])
        .unwrap();
        let images: Vec<_> = images().into_iter().map(|(_, image)| image).collect();
        let once = samples(&schema, &images, 9, 4);
        assert_eq!(once, samples(&schema, &images, 9, 4));
        assert_ne!(once, samples(&schema, &images, 9, 5));
        once.iter().for_each(|sample| schema.check(sample).unwrap());
    }
}
