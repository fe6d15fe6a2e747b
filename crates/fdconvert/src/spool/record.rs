//! A sample as bytes, for the time of a run: nothing that lasts has this form.
//!
//! They lie in [pieces](Pieces), of which the first has the head and the key. In a file the pieces
//! of a sample follow one another and are one.
use super::pieces::{Pieces, Reading};
use bytes::Bytes;
use fdconvert_core::{
    Bilevel, Codec, Encoded, Image, Pixels, Sample, Schema, Value,
    bytes::{array_at, u32_at, u64_at},
};
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes in front of a key.
const HEAD_BYTES: usize = 32;

/// Stands for no codec.
const NO_CODEC: u8 = 0xff;

const HAS_LABEL: u8 = 1;
const UNREADABLE: u8 = 2;
/// All images are encoded, so that their bytes are known.
const ENCODED: u8 = 4;

/// Properties of a sample that plans ask for, in front of it.
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

/// Puts a sample.
///
/// # Errors
/// `Unsupported`, with a part of it put already.
pub(super) fn put(to: &mut Pieces, head: &Head, sample: Sample<Image>) -> io::Result<()> {
    to.keep_together(HEAD_BYTES.saturating_add(sample.key.len()));
    to.put(&head.to_bytes());
    to.put(sample.key.as_bytes());
    for value in sample.values {
        match value {
            Value::Int(int) => {
                to.put(&[tag::INT]);
                to.put(&int.to_le_bytes());
            }
            Value::Float(float) => {
                to.put(&[tag::FLOAT]);
                to.put(&float.to_bits().to_le_bytes());
            }
            Value::Bytes(bytes) => put_tagged(to, tag::BYTES, bytes),
            Value::Json(json) => put_tagged(to, tag::JSON, json),
            Value::Array(array) => put_tagged(to, tag::ARRAY, array),
            Value::Text(text) => {
                to.put(&[tag::TEXT]);
                put_vec(to, text.into_bytes());
            }
            Value::Image(image) => put_image(to, image),
            other => {
                let what = format!("a kind of value that no spool holds: {other:?}");
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            }
        }
    }
    Ok(())
}

fn put_tagged(to: &mut Pieces, tag: u8, bytes: Bytes) {
    to.put(&[tag]);
    put_len(to, bytes.len());
    to.take_over(bytes, None);
}

fn put_vec(to: &mut Pieces, bytes: Vec<u8>) {
    put_len(to, bytes.len());
    to.take_over_vec(bytes);
}

fn put_len(to: &mut Pieces, len: usize) {
    to.put(&(len as u64).to_le_bytes());
}

fn put_sides(to: &mut Pieces, width: u32, height: u32) {
    to.put(&width.to_le_bytes());
    to.put(&height.to_le_bytes());
}

fn put_image(to: &mut Pieces, image: Image) {
    match image {
        Image::Encoded(image) => {
            to.put(&[tag::ENCODED]);
            to.put(&[number(image.codec).unwrap_or(NO_CODEC)]);
            put_sides(to, image.width, image.height);
            // While they lie in a cache: who stores them need not do it.
            let xxh3 = image.xxh3.unwrap_or_else(|| xxh3_64(&image.bytes));
            to.put(&xxh3.to_le_bytes());
            put_len(to, image.bytes.len());
            to.take_over(image.bytes, Some(xxh3));
        }
        Image::Pixels(pixels) => {
            to.put(&[tag::PIXELS]);
            to.put(&[pixels.channels]);
            put_sides(to, pixels.width, pixels.height);
            put_vec(to, pixels.data);
        }
        Image::Bilevel(image) => {
            to.put(&[tag::BILEVEL]);
            to.put(&image.levels);
            put_sides(to, image.width, image.height);
            put_vec(to, image.bits);
        }
    }
}

/// Puts the key of a sample that cannot be read, and why.
pub(super) fn put_unreadable(to: &mut Pieces, key: &str, reason: &str) {
    let head = Head {
        key_bytes: u32::try_from(key.len()).unwrap_or(u32::MAX),
        codec: None,
        label: None,
        image_bytes: None,
        is_readable: false,
    };
    to.keep_together(HEAD_BYTES.saturating_add(key.len()).saturating_add(reason.len()));
    to.put(&head.to_bytes());
    to.put(key.as_bytes());
    to.put(reason.as_bytes());
}

/// Parsed record: what is in front of the values of a sample, and the values.
pub(super) struct Parsed<'a> {
    pub(super) head: Head,
    pub(super) key: String,
    pub(super) rest: Reading<'a>,
}

impl<'a> Parsed<'a> {
    /// `None` where the bytes end too early.
    pub(super) fn new(pieces: &'a [Bytes]) -> Option<Self> {
        let mut rest = Reading::new(pieces);
        let head = Head::parse(&rest.array::<HEAD_BYTES>()?)?;
        let key = rest.slice(usize::try_from(head.key_bytes).ok()?)?;
        Some(Self { head, key: String::from_utf8_lossy(&key).into_owned(), rest })
    }
}

/// The values behind a key; `None` where the bytes end too early.
pub(super) fn values(mut reading: Reading<'_>) -> Option<Vec<Value<Image>>> {
    let mut values = Vec::new();
    while !reading.is_at_end() {
        values.push(value(&mut reading)?);
    }
    Some(values)
}

fn value(reading: &mut Reading<'_>) -> Option<Value<Image>> {
    let [tag] = reading.array()?;
    Some(match tag {
        tag::INT => Value::Int(i64::from_le_bytes(reading.array()?)),
        tag::FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(reading.array()?))),
        tag::BYTES => Value::Bytes(long(reading)?),
        tag::TEXT => Value::Text(String::from_utf8(long(reading)?.to_vec()).ok()?),
        tag::JSON => Value::Json(long(reading)?),
        tag::ARRAY => Value::Array(long(reading)?),
        tag::ENCODED => {
            let [codec] = reading.array()?;
            let (width, height) = sides(reading)?;
            let xxh3 = u64::from_le_bytes(reading.array()?);
            let image = Encoded::new(codec_of(codec)?, width, height, long(reading)?);
            Value::Image(Image::Encoded(Encoded { xxh3: Some(xxh3), ..image }))
        }
        tag::PIXELS => {
            let [channels] = reading.array()?;
            let (width, height) = sides(reading)?;
            let data = long(reading)?.to_vec();
            Value::Image(Image::Pixels(Pixels { width, height, channels, data }))
        }
        tag::BILEVEL => {
            let levels = reading.array()?;
            let (width, height) = sides(reading)?;
            let bits = long(reading)?.to_vec();
            Value::Image(Image::Bilevel(Bilevel { width, height, levels, bits }))
        }
        _ => return None,
    })
}

fn sides(reading: &mut Reading<'_>) -> Option<(u32, u32)> {
    let [width, height] = [reading.array()?, reading.array()?].map(u32::from_le_bytes);
    Some((width, height))
}

fn long(reading: &mut Reading<'_>) -> Option<Bytes> {
    let len = usize::try_from(u64::from_le_bytes(reading.array()?)).ok()?;
    reading.slice(len)
}
