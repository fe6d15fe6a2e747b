//! A sample as bytes, for temporary datasets and fingerprints. Nothing permanent has this form.
use bytes::{Buf as _, Bytes};
use fdconvert_core::{
    Bilevel, Codec, Encoded, Error, Image, Pixels, Result, Sample, Schema, Value,
    bytes::{array_at, u32_at, u64_at},
};
use xxhash_rust::xxh3::xxh3_64;

const HEAD_BYTES: usize = 32;

const NO_CODEC: u8 = 0xff;

const HAS_LABEL: u8 = 1;
const UNREADABLE: u8 = 2;
/// Flag: all images are encoded, so that their bytes are known.
const ENCODED: u8 = 4;

/// Properties of a sample that plans read, stored before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    key_bytes: u32,
    /// Codec of the first image, if it is encoded.
    pub(super) codec: Option<Codec>,
    pub(super) label: Option<i64>,
    /// Bytes of all images, if they are encoded.
    pub(super) image_bytes: Option<u64>,
    pub(super) is_readable: bool,
}

impl Head {
    fn of(sample: &Sample<Image>, schema: &Schema) -> Self {
        let images = || {
            sample.values.iter().flat_map(Value::images).map(|image| match image {
                Image::Encoded(image) => Some(image),
                Image::Pixels(_) | Image::Bilevel(_) => None,
            })
        };
        let label = schema.label().and_then(|field| match sample.values.get(field) {
            Some(Value::Int(label)) => Some(*label),
            _ => None,
        });
        Self {
            key_bytes: len_of(&sample.key),
            codec: images().next().flatten().map(|image| image.codec),
            label,
            image_bytes: images().map(|image| image.map(|image| image.bytes.len() as u64)).sum(),
            is_readable: true,
        }
    }

    fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let flag = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
        let flags = flag(HAS_LABEL, self.label.is_some())
            | flag(UNREADABLE, !self.is_readable)
            | flag(ENCODED, self.image_bytes.is_some());
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&self.key_bytes.to_le_bytes());
        bytes[4] = self.codec.map_or(NO_CODEC, number);
        bytes[5] = flags;
        bytes[16..24].copy_from_slice(&self.label.unwrap_or(0).to_le_bytes());
        bytes[24..].copy_from_slice(&self.image_bytes.unwrap_or(0).to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let flags = *bytes.get(5)?;
        let label = i64::from_le_bytes(array_at(bytes, 16)?);
        let image_bytes = u64_at(bytes, 24)?;
        Some(Self {
            key_bytes: u32_at(bytes, 0)?,
            codec: codec_of(*bytes.get(4)?),
            label: (flags & HAS_LABEL != 0).then_some(label),
            image_bytes: (flags & ENCODED != 0).then_some(image_bytes),
            is_readable: flags & UNREADABLE == 0,
        })
    }
}

fn len_of(key: &str) -> u32 {
    u32::try_from(key.len()).unwrap_or(u32::MAX)
}

fn number(codec: Codec) -> u8 {
    let at = Codec::ALL.iter().position(|known| *known == codec);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(NO_CODEC)
}

fn codec_of(number: u8) -> Option<Codec> {
    Codec::ALL.get(usize::from(number)).copied()
}

/// Tags before every value: its kind, and the form of images.
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
    /// Before the number of images of a list, and those.
    pub(super) const LIST: u8 = 9;
}

/// Emits the bytes of a sample part by part; a value of any length is one part.
///
/// # Errors
/// `Sample` for an unknown kind of value.
pub(super) fn put(
    sample: &Sample<Image>,
    schema: &Schema,
    mut put: impl FnMut(&[u8]),
) -> Result<()> {
    put(&Head::of(sample, schema).to_bytes());
    put(sample.key.as_bytes());
    for value in &sample.values {
        let (start, long): (Vec<u8>, Option<&[u8]>) = match value {
            Value::Int(int) => ([&[tag::INT][..], &int.to_le_bytes()].concat(), None),
            Value::Float(float) => ([&[tag::FLOAT][..], &float.to_le_bytes()].concat(), None),
            Value::Bytes(bytes) => (vec![tag::BYTES], Some(bytes)),
            Value::Text(text) => (vec![tag::TEXT], Some(text.as_bytes())),
            Value::Json(json) => (vec![tag::JSON], Some(json)),
            Value::Array(array) => (vec![tag::ARRAY], Some(array)),
            Value::Image(image) => {
                put_image(image, &mut put);
                continue;
            }
            Value::Images(images) => {
                put(&[&[tag::LIST][..], &(images.len() as u64).to_le_bytes()].concat());
                images.iter().for_each(|image| put_image(image, &mut put));
                continue;
            }
            other => {
                let what = format!("a kind of value that cannot wait in a file: {other:?}");
                return Err(Error::sample(&sample.key, what));
            }
        };
        put(&start);
        if let Some(bytes) = long {
            put_long(bytes, &mut put);
        }
    }
    Ok(())
}

fn put_image(image: &Image, put: &mut impl FnMut(&[u8])) {
    let (start, long): (Vec<u8>, &[u8]) = match image {
        Image::Encoded(image) => {
            let xxh3 = image.xxh3.unwrap_or_else(|| xxh3_64(&image.bytes)).to_le_bytes();
            let start = [tag::ENCODED, number(image.codec)];
            let sides = sides(image.width, image.height);
            ([&start[..], &sides, &xxh3].concat(), &image.bytes)
        }
        Image::Pixels(pixels) => {
            let start = [tag::PIXELS, pixels.channels];
            let sides = sides(pixels.width, pixels.height);
            ([&start[..], &sides].concat(), &pixels.data)
        }
        Image::Bilevel(image) => {
            let start = [tag::BILEVEL, image.levels[0], image.levels[1]];
            ([&start[..], &sides(image.width, image.height)].concat(), &image.bits)
        }
    };
    put(&start);
    put_long(long, put);
}

fn put_long(bytes: &[u8], put: &mut impl FnMut(&[u8])) {
    put(&(bytes.len() as u64).to_le_bytes());
    put(bytes);
}

fn sides(width: u32, height: u32) -> [u8; 8] {
    (u64::from(width) | u64::from(height) << 32).to_le_bytes()
}

/// Emits the key of an unreadable sample, and the reason.
pub(super) fn put_unreadable(key: &str, reason: &str, mut put: impl FnMut(&[u8])) {
    let (key_bytes, is_readable) = (len_of(key), false);
    let head = Head { key_bytes, codec: None, label: None, image_bytes: None, is_readable };
    put(&head.to_bytes());
    put(key.as_bytes());
    put(reason.as_bytes());
}

/// A record with values that are not parsed yet.
pub(super) struct Parsed {
    pub(super) head: Head,
    pub(super) key: String,
    /// The values, or the reason for their absence.
    pub(super) rest: Bytes,
}

impl Parsed {
    /// `None` if the bytes end too early.
    pub(super) fn new(mut record: Bytes) -> Option<Self> {
        let head = Head::parse(&array::<HEAD_BYTES>(&mut record)?)?;
        let key = slice(&mut record, u64::from(head.key_bytes))?;
        Some(Self { head, key: String::from_utf8_lossy(&key).into_owned(), rest: record })
    }

    /// `None` if the bytes end too early.
    pub(super) fn values(&self) -> Option<Vec<Value<Image>>> {
        let (mut rest, mut values) = (self.rest.clone(), Vec::new());
        while !rest.is_empty() {
            values.push(value(&mut rest)?);
        }
        Some(values)
    }
}

fn value(rest: &mut Bytes) -> Option<Value<Image>> {
    let [tag] = array(rest)?;
    Some(match tag {
        tag::INT => Value::Int(i64::from_le_bytes(array(rest)?)),
        tag::FLOAT => Value::Float(f64::from_le_bytes(array(rest)?)),
        tag::BYTES => Value::Bytes(long(rest)?),
        tag::TEXT => Value::Text(String::from_utf8(long(rest)?.to_vec()).ok()?),
        tag::JSON => Value::Json(long(rest)?),
        tag::ARRAY => Value::Array(long(rest)?),
        tag::ENCODED => {
            let [codec] = array(rest)?;
            let [width, height] = parsed_sides(rest)?;
            let xxh3 = u64::from_le_bytes(array(rest)?);
            let image = Encoded::new(codec_of(codec)?, width, height, long(rest)?);
            Value::Image(Image::Encoded(Encoded { xxh3: Some(xxh3), ..image }))
        }
        tag::PIXELS => {
            let [channels] = array(rest)?;
            let [width, height] = parsed_sides(rest)?;
            let data = long(rest)?.to_vec();
            Value::Image(Image::Pixels(Pixels { width, height, channels, data }))
        }
        tag::BILEVEL => {
            let levels = array(rest)?;
            let [width, height] = parsed_sides(rest)?;
            let bits = long(rest)?.to_vec();
            Value::Image(Image::Bilevel(Bilevel { width, height, levels, bits }))
        }
        tag::LIST => {
            let n_images = u64::from_le_bytes(array(rest)?);
            let image = |_| match value(rest)? {
                Value::Image(image) => Some(image),
                _ => None,
            };
            Value::Images((0..n_images).map(image).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn parsed_sides(rest: &mut Bytes) -> Option<[u32; 2]> {
    Some([u32::from_le_bytes(array(rest)?), u32::from_le_bytes(array(rest)?)])
}

fn array<const N: usize>(rest: &mut Bytes) -> Option<[u8; N]> {
    let array = *rest.first_chunk()?;
    rest.advance(N);
    Some(array)
}

fn slice(rest: &mut Bytes, len: u64) -> Option<Bytes> {
    let len = usize::try_from(len).ok().filter(|len| *len <= rest.len())?;
    Some(rest.split_to(len))
}

fn long(rest: &mut Bytes) -> Option<Bytes> {
    let len = u64::from_le_bytes(array(rest)?);
    slice(rest, len)
}
