//! A sample as bytes, for the time of a run: nothing that lasts has this form.
use bytes::Bytes;
use fdconvert_core::{
    Bilevel, Codec, Encoded, Image, Pixels, Sample, Schema, Value,
    bytes::{array_at, u32_at, u64_at},
};
use std::io::{self, Write};
use xxhash_rust::xxh3::Xxh3;

/// Bytes in front of a key.
pub(super) const HEAD_BYTES: usize = 32;

/// Stands for no codec.
const NO_CODEC: u8 = 0xff;

const HAS_LABEL: u8 = 1;
const UNREADABLE: u8 = 2;
/// All images are encoded, so that their bytes are known.
const ENCODED: u8 = 4;

/// What plans ask of a sample, in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) key_bytes: u32,
    /// Of the first image, if it is encoded.
    pub(super) codec: Option<Codec>,
    pub(super) label: Option<i64>,
    /// Of all images, if they are encoded.
    pub(super) image_bytes: Option<u64>,
    pub(super) is_readable: bool,
}

impl Head {
    pub(super) fn of(sample: &Sample<Image>, schema: &Schema) -> Self {
        let images = || {
            sample.values.iter().filter_map(|value| match value {
                Value::Image(image) => Some(image),
                _ => None,
            })
        };
        let encoded = |image: &Image| match image {
            Image::Encoded(encoded) => Some(encoded.bytes.len() as u64),
            _ => None,
        };
        let label = schema.label().and_then(|field| match sample.values.get(field) {
            Some(Value::Int(label)) => Some(*label),
            _ => None,
        });
        Self {
            key_bytes: u32::try_from(sample.key.len()).unwrap_or(u32::MAX),
            codec: match images().next() {
                Some(Image::Encoded(encoded)) => Some(encoded.codec),
                _ => None,
            },
            label,
            image_bytes: images().map(encoded).sum(),
            is_readable: true,
        }
    }

    /// Bytes in front of the values: its own and those of the key.
    pub(super) fn len(&self) -> usize {
        HEAD_BYTES.saturating_add(usize::try_from(self.key_bytes).unwrap_or(usize::MAX))
    }

    fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let codec = self.codec.and_then(number).unwrap_or(NO_CODEC);
        let flag = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
        let flags = flag(HAS_LABEL, self.label.is_some())
            | flag(UNREADABLE, !self.is_readable)
            | flag(ENCODED, self.image_bytes.is_some());
        let mut bytes = [0; HEAD_BYTES];
        let (key, rest) = bytes.split_at_mut(4);
        key.copy_from_slice(&self.key_bytes.to_le_bytes());
        let (marks, rest) = rest.split_at_mut(12);
        marks[0] = codec;
        marks[1] = flags;
        let (label, image) = rest.split_at_mut(8);
        label.copy_from_slice(&self.label.unwrap_or(0).to_le_bytes());
        image.copy_from_slice(&self.image_bytes.unwrap_or(0).to_le_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (key_bytes, flags) = (u32_at(bytes, 0)?, *bytes.get(5)?);
        let label = i64::from_le_bytes(array_at(bytes, 16)?);
        let image_bytes = u64_at(bytes, 24)?;
        Some(Self {
            key_bytes,
            codec: codec_of(*bytes.get(4)?),
            label: (flags & HAS_LABEL != 0).then_some(label),
            image_bytes: (flags & ENCODED != 0).then_some(image_bytes),
            is_readable: flags & UNREADABLE == 0,
        })
    }
}

fn number(codec: Codec) -> Option<u8> {
    let at = Codec::ALL.iter().position(|known| *known == codec)?;
    u8::try_from(at).ok()
}

fn codec_of(number: u8) -> Option<Codec> {
    Codec::ALL.get(usize::from(number)).copied()
}

/// A file that is written and hashed at the same time.
pub(super) struct Writing<'a> {
    pub(super) file: &'a mut dyn Write,
    pub(super) hash: &'a mut Xxh3,
    pub(super) written: u64,
}

impl Writing<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn put_long(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)
    }

    fn put_sides(&mut self, width: u32, height: u32) -> io::Result<()> {
        self.put(&width.to_le_bytes())?;
        self.put(&height.to_le_bytes())
    }
}

/// A tag in front of every value: which it is, for images in which form.
mod tag {
    pub(super) const INT: u8 = 0;
    pub(super) const FLOAT: u8 = 1;
    pub(super) const BYTES: u8 = 2;
    pub(super) const TEXT: u8 = 3;
    pub(super) const JSON: u8 = 4;
    pub(super) const ARRAY: u8 = 5;
    pub(super) const ENCODED: u8 = 6;
    pub(super) const PIXELS: u8 = 7;
    pub(super) const BILEVEL: u8 = 8;
}

pub(super) fn write(to: &mut Writing<'_>, head: &Head, sample: &Sample<Image>) -> io::Result<()> {
    to.put(&head.to_bytes())?;
    to.put(sample.key.as_bytes())?;
    for value in &sample.values {
        match value {
            Value::Int(int) => {
                to.put(&[tag::INT])?;
                to.put(&int.to_le_bytes())?;
            }
            Value::Float(float) => {
                to.put(&[tag::FLOAT])?;
                to.put(&float.to_bits().to_le_bytes())?;
            }
            Value::Bytes(bytes) => put_tagged(to, tag::BYTES, bytes)?,
            Value::Text(text) => put_tagged(to, tag::TEXT, text.as_bytes())?,
            Value::Json(json) => put_tagged(to, tag::JSON, json)?,
            Value::Array(array) => put_tagged(to, tag::ARRAY, array)?,
            Value::Image(image) => put_image(to, image)?,
            other => {
                let what = format!("a kind of value that no spool holds: {other:?}");
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            }
        }
    }
    Ok(())
}

fn put_tagged(to: &mut Writing<'_>, tag: u8, bytes: &[u8]) -> io::Result<()> {
    to.put(&[tag])?;
    to.put_long(bytes)
}

fn put_image(to: &mut Writing<'_>, image: &Image) -> io::Result<()> {
    match image {
        Image::Encoded(image) => {
            to.put(&[tag::ENCODED, number(image.codec).unwrap_or(NO_CODEC)])?;
            to.put_sides(image.width, image.height)?;
            to.put_long(&image.bytes)
        }
        Image::Pixels(pixels) => {
            to.put(&[tag::PIXELS, pixels.channels])?;
            to.put_sides(pixels.width, pixels.height)?;
            to.put_long(&pixels.data)
        }
        Image::Bilevel(image) => {
            to.put(&[tag::BILEVEL])?;
            to.put(&image.levels)?;
            to.put_sides(image.width, image.height)?;
            to.put_long(&image.bits)
        }
    }
}

/// Writes the key of a sample that cannot be read, and why.
pub(super) fn write_unreadable(to: &mut Writing<'_>, key: &str, reason: &str) -> io::Result<()> {
    let head = Head {
        key_bytes: u32::try_from(key.len()).unwrap_or(u32::MAX),
        codec: None,
        label: None,
        image_bytes: None,
        is_readable: false,
    };
    to.put(&head.to_bytes())?;
    to.put(key.as_bytes())?;
    to.put(reason.as_bytes())
}

/// The values behind a key; `None` where they end too early.
pub(super) fn values(bytes: &Bytes) -> Option<Vec<Value<Image>>> {
    let mut reading = Reading { bytes, at: 0 };
    let mut values = Vec::new();
    while reading.at < bytes.len() {
        let [tag] = reading.array()?;
        values.push(match tag {
            tag::INT => Value::Int(i64::from_le_bytes(reading.array()?)),
            tag::FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(reading.array()?))),
            tag::BYTES => Value::Bytes(reading.long()?),
            tag::TEXT => Value::Text(String::from_utf8(reading.long()?.to_vec()).ok()?),
            tag::JSON => Value::Json(reading.long()?),
            tag::ARRAY => Value::Array(reading.long()?),
            tag::ENCODED => {
                let [codec] = reading.array()?;
                let (width, height) = reading.sides()?;
                let image = Encoded::new(codec_of(codec)?, width, height, reading.long()?);
                Value::Image(Image::Encoded(image))
            }
            tag::PIXELS => {
                let [channels] = reading.array()?;
                let (width, height) = reading.sides()?;
                let data = reading.long()?.to_vec();
                Value::Image(Image::Pixels(Pixels { width, height, channels, data }))
            }
            tag::BILEVEL => {
                let levels = reading.array()?;
                let (width, height) = reading.sides()?;
                let bits = reading.long()?.to_vec();
                Value::Image(Image::Bilevel(Bilevel { width, height, levels, bits }))
            }
            _ => return None,
        });
    }
    Some(values)
}

/// Bytes that are taken one value after another.
struct Reading<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl Reading<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = array_at(self.bytes, self.at)?;
        self.at += N;
        Some(array)
    }

    fn sides(&mut self) -> Option<(u32, u32)> {
        Some((u32::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?)))
    }

    fn long(&mut self) -> Option<Bytes> {
        let len = usize::try_from(u64::from_le_bytes(self.array()?)).ok()?;
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len())?;
        let bytes = self.bytes.slice(self.at..end);
        self.at = end;
        Some(bytes)
    }
}
