//! Values in separate files: members of WebDataset shards, and files next to images. Finds the kind
//! by the extension, and decodes the value.
pub(crate) mod npy;

use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Kind, Shown, Value};

/// Returns the kind for a lower-case extension, as the decoders of WebDataset choose it. The shape
/// of an array comes from `bytes`.
pub(crate) fn kind(extension: &str, bytes: &[u8]) -> Kind {
    match extension {
        "img" | "image" => Kind::Image,
        _ if Codec::from_extension(extension).is_some() => Kind::Image,
        "cls" | "cls2" | "class" | "count" | "index" | "inx" | "id" => Kind::Int,
        "json" | "jsn" => Kind::Json,
        "txt" | "text" | "transcript" => Kind::Text,
        "npy" => npy::parse(bytes).map_or(Kind::Bytes, |(spec, _)| Kind::Array(spec)),
        _ => Kind::Bytes,
    }
}

/// Longer texts are not shown.
const MAX_SHOWN: usize = 40;

/// Describes bytes that are not an integer: many datasets have class names there.
fn no_integer(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.trim() {
        "" => "is not an integer: it is empty".to_owned(),
        text if text.len() > MAX_SHOWN => "is not an integer of 64 bits".to_owned(),
        text => {
            format!("is not an integer of 64 bits: `{}`; texts belong in .txt files", Shown(text))
        }
    }
}

/// Decodes the value of a member or file of that kind.
///
/// Except for images, the error is the end of a sentence such as "the file ...".
pub(crate) fn decode(kind: &Kind, bytes: Bytes) -> Result<Value<Encoded>, String> {
    let ascii = || std::str::from_utf8(&bytes).map(str::trim).unwrap_or_default();
    Ok(match kind {
        Kind::Image => {
            let header = fdconvert_core::probe::probe(&bytes)?;
            let (codec, width, height) = (header.codec, header.width, header.height);
            Value::Image(Encoded::new(codec, width, height, bytes))
        }
        Kind::Int => Value::Int(ascii().parse().map_err(|_| no_integer(&bytes))?),
        Kind::Float => Value::Float(match ascii() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => serde_json::from_str(text).map_err(|_| "is not a number")?,
        }),
        Kind::Text => match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(_) => return Err("is not text in UTF-8".into()),
        },
        Kind::Json => Value::Json(bytes),
        Kind::Bytes => Value::Bytes(bytes),
        Kind::Array(expected) => {
            let (found, start) = npy::parse(&bytes).ok_or("is not an array this build reads")?;
            if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
                return Err(format!(
                    "is an array of {} {:?}, not of {} {:?}",
                    found.dtype.numpy(),
                    found.shape,
                    expected.dtype.numpy(),
                    expected.shape
                ));
            }
            Value::Array(bytes.slice(start..))
        }
        _ => return Err("is of a kind that no file holds".into()),
    })
}
