//! Compares two values of a field.
use fdconvert_codec::Decoder;
use fdconvert_core::{Encoded, Limits, Pixels, Value};
use serde_json::{Map, Value as Json, json};
use std::fmt;

/// Difference of two values of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// Numbers, or the names of classes, as text.
    Value([String; 2]),
    /// Bytes of an image or another value.
    Bytes {
        /// Lengths.
        len: [u64; 2],
        /// Position of the first different byte, or the end of the shorter value.
        first: u64,
        /// Difference of the pixels, if they were compared.
        pixels: Option<PixelDifference>,
    },
}

/// Difference of two images with different bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PixelDifference {
    /// Different sizes: width and height of each.
    Size([(u32, u32); 2]),
    /// Different channel values.
    Levels {
        /// Number of different channel values in all pixels.
        n_differ: u64,
        /// Largest difference, of 255.
        most: u8,
    },
    /// Unknown: one of them cannot be decoded, or has other channels.
    Unknown(String),
}

/// Compares stored values; with a decoder also the pixels of images.
pub(super) fn difference(
    one: &Value<Encoded>,
    other: &Value<Encoded>,
    pixels: Option<(&mut Decoder, &Limits)>,
) -> Option<Difference> {
    let shown = |one: String, other: String| Some(Difference::Value([one, other]));
    match (one, other) {
        (Value::Image(one), Value::Image(other)) => of_images(one, other, pixels),
        (Value::Images(one), Value::Images(other)) if one.len() != other.len() => {
            let number = |images: &[Encoded]| format!("{} images", images.len());
            shown(number(one), number(other))
        }
        // The first images that differ stand for all.
        (Value::Images(one), Value::Images(other)) => {
            let (one, other) = one.iter().zip(other).find(|(one, other)| are_other(one, other))?;
            of_images(one, other, pixels)
        }
        (Value::Int(one), Value::Int(other)) if one != other => {
            shown(one.to_string(), other.to_string())
        }
        // By bits, so that NaN equals itself.
        (Value::Float(one), Value::Float(other)) if one.to_bits() != other.to_bits() => {
            shown(one.to_string(), other.to_string())
        }
        (Value::Text(one), Value::Text(other)) => bytes(one.as_bytes(), other.as_bytes(), false),
        (Value::Bytes(one), Value::Bytes(other))
        | (Value::Json(one), Value::Json(other))
        | (Value::Array(one), Value::Array(other)) => bytes(one, other, false),
        _ => None,
    }
}

fn are_other(one: &Encoded, other: &Encoded) -> bool {
    let facts = |image: &Encoded| (image.codec, image.width, image.height);
    facts(one) != facts(other) || one.bytes != other.bytes
}

fn of_images(
    one: &Encoded,
    other: &Encoded,
    pixels: Option<(&mut Decoder, &Limits)>,
) -> Option<Difference> {
    let differ = (one.codec, one.width, one.height) != (other.codec, other.width, other.height);
    let found = bytes(&one.bytes, &other.bytes, differ)?;
    match (found, pixels) {
        (Difference::Bytes { len, first, .. }, Some((decoder, limits))) => {
            let pixels = Some(shown_by(decoder, limits, [one, other])?);
            Some(Difference::Bytes { len, first, pixels })
        }
        (found, _) => Some(found),
    }
}

/// Returns the position of the first difference; `differ` marks values that are different in any
/// case.
fn bytes(one: &[u8], other: &[u8], differ: bool) -> Option<Difference> {
    if one == other && !differ {
        return None;
    }
    let first = one.iter().zip(other).take_while(|(one, other)| one == other).count() as u64;
    Some(Difference::Bytes { len: [one.len() as u64, other.len() as u64], first, pixels: None })
}

/// Returns the difference of the pixels of two images; `None` if they are equal.
fn shown_by(
    decoder: &mut Decoder,
    limits: &Limits,
    images: [&Encoded; 2],
) -> Option<PixelDifference> {
    let mut decode =
        |image: &Encoded| decoder.decode("the image", image, limits).map(|decoded| decoded.pixels);
    let (one, other) = match (decode(images[0]), decode(images[1])) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) | (_, Err(error)) => {
            return Some(PixelDifference::Unknown(error.to_string()));
        }
    };
    let size = |pixels: &Pixels| (pixels.width, pixels.height);
    if size(&one) != size(&other) {
        return Some(PixelDifference::Size([size(&one), size(&other)]));
    }
    let [one, other] = match [one, other].map(rgb) {
        [Ok(one), Ok(other)] if one.len() == other.len() => [one, other],
        _ => return Some(PixelDifference::Unknown("one of them has an alpha channel".into())),
    };
    let (mut n_differ, mut most) = (0, 0);
    for (one, other) in one.iter().zip(&other) {
        let by = one.abs_diff(*other);
        n_differ += u64::from(by > 0);
        most = most.max(by);
    }
    (most > 0).then_some(PixelDifference::Levels { n_differ, most })
}

/// Three equal channels are gray.
fn rgb(pixels: Pixels) -> Result<Vec<u8>, Vec<u8>> {
    match pixels.channels {
        1 => Ok(pixels.data.iter().flat_map(|level| [*level; 3]).collect()),
        3 | 4 => Ok(pixels.data),
        _ => Err(pixels.data),
    }
}

impl Difference {
    /// Returns the difference as part of a document.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Json> {
        let json = match self {
            Self::Value(values) => json!({"values": values}),
            Self::Bytes { len, first, pixels } => {
                json!({"bytes": len, "first": first, "pixels": pixels.as_ref().map(to_json)})
            }
        };
        match json {
            Json::Object(object) => object,
            _ => Map::new(),
        }
    }
}

fn to_json(pixels: &PixelDifference) -> Json {
    match pixels {
        PixelDifference::Size(sizes) => json!({"sizes": sizes}),
        PixelDifference::Levels { n_differ, most } => {
            json!({"channels": n_differ, "most": most})
        }
        PixelDifference::Unknown(why) => json!({"unknown": why}),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value([one, other]) => write!(f, "{one} and {other}"),
            Self::Bytes { len: [one, other], first, pixels } => {
                if one == other {
                    write!(f, "{one} bytes that differ from byte {first} on")?;
                } else {
                    write!(f, "{one} and {other} bytes that differ from byte {first} on")?;
                }
                pixels.as_ref().map_or(Ok(()), |pixels| write!(f, ", {pixels}"))
            }
        }
    }
}

impl fmt::Display for PixelDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size([(width, height), (other_width, other_height)]) => {
                write!(f, "{width}x{height} and {other_width}x{other_height} pixels")
            }
            Self::Levels { n_differ, most } => {
                write!(f, "{n_differ} levels of pixels by at most {most}")
            }
            Self::Unknown(why) => write!(f, "pixels not compared: {why}"),
        }
    }
}
