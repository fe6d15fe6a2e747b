//! Everything known about one sample.
use crate::{
    answer::{Answer, Content, Failure},
    dataset::Dataset,
    exif, objects,
    request::Asked,
};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, DType, Encoded, FieldSpec, Kind, Sample, Shown, Value, bytes as at, image_list,
    probe, split_names,
};
use fdconvert_storage::sigbus;
use serde_json::{Map, Value as Json, json};

/// Largest number of shown bytes of texts and documents.
const TEXT_BYTES: usize = 64 << 10;
/// Number of bytes shown in hexadecimal.
const HEX_BYTES: usize = 256;
/// Number of array elements shown as numbers.
const NUMBERS: usize = 4096;

/// `api/sample/I`.
pub(crate) fn answer(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let index = dataset.sample(asked)?;
    let query = if asked.is_second()? { "&set=b" } else { "" };
    let (sample, damage) = match dataset.checked_sample(index) {
        Ok(sample) => (sample, None),
        // A damaged sample is shown as far as it can be read, and marked.
        Err(error) => match dataset.stored_sample(index) {
            Ok(sample) => (sample, Some(error.chain())),
            Err(_) => return Err(Failure::unreadable(error.chain())),
        },
    };
    let reader = dataset.reader();
    let fields = dataset.schema().fields.iter().zip(&sample.values).enumerate();
    let values: Vec<Json> = fields
        .map(|(position, (field, value))| {
            let is_mask = is_mask(dataset, position, field, value);
            Json::Object(value_document(dataset, field, value, is_mask))
        })
        .collect();
    let mut document = json!({
        "sample": index,
        "key": sample.key,
        "split": split_of(dataset, index),
        "values": values,
        "place": place(dataset, index),
        "exif": exif_of(dataset, &sample),
        "python": python(dataset, index, &sample.key),
    });
    let verified = match &damage {
        Some(_) => Some(false),
        None => reader.has_checksums().then_some(true),
    };
    let mut add = |name: &str, value: Json| {
        if let Some(document) = document.as_object_mut() {
            document.insert(name.into(), value);
        }
    };
    add("verified", json!(verified));
    if let Some(cause) = damage {
        add("cause", json!(cause));
    }
    let found = objects::of_sample(dataset, index, &sample, query).transpose();
    add("objects", found.as_ref().ok().cloned().flatten().unwrap_or(Json::Null));
    if let Err(why) = found {
        add("objects_error", json!(why));
    }
    Ok(Answer::json(&document))
}

/// `field/I/FIELD`.
pub(crate) fn field(dataset: &Dataset, asked: &Asked) -> Result<Answer, Failure> {
    let (index, (position, _)) = (dataset.sample(asked)?, dataset.field(asked)?);
    let sample =
        dataset.checked_sample(index).map_err(|error| Failure::unreadable(error.chain()))?;
    let value = sample.values.into_iter().nth(position);
    let bytes = match value.ok_or_else(|| Failure::missing("there is no such field"))? {
        Value::Image(image) => image.bytes,
        Value::Images(images) => image_list::to_bytes(&images).into(),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes,
        Value::Text(text) => text.into(),
        Value::Int(int) => int.to_string().into(),
        Value::Float(float) => float.to_string().into(),
        _ => return Err(Failure::missing("this field is of a kind that is not known here")),
    };
    Ok(Answer::new(Content::Opaque, bytes).saved_as("field.bin"))
}

fn split_of(dataset: &Dataset, index: u64) -> Option<&str> {
    let split = dataset.splits().iter().find(|(_, range)| range.contains(&index));
    split.map(|(name, _)| name.as_str())
}

fn place(dataset: &Dataset, index: u64) -> Json {
    let extent = sigbus::caught(|| dataset.reader().image_extent(index));
    let Ok(Some(extent)) = extent else { return Json::Null };
    json!({
        "path": extent.path.display().to_string(),
        "offset": extent.offset,
        "bytes": extent.len,
        "xxh3": extent.xxh3.map(|hash| format!("{hash:016x}")),
    })
}

fn exif_of(dataset: &Dataset, sample: &Sample<Encoded>) -> Vec<Json> {
    let image = dataset.schema().first_image().and_then(|at| sample.values.get(at));
    match image {
        Some(Value::Image(image)) => exif::entries(&image.bytes, image.codec),
        _ => Vec::new(),
    }
}

/// Returns Python lines that load the sample. JSON strings are also Python's.
fn python(dataset: &Dataset, index: u64, key: &str) -> String {
    let path = json!(dataset.path());
    // The shown splits: without them, several are refused.
    let split = match &split_names(dataset.splits())[..] {
        [] => String::new(),
        [only] => format!(", split={}", json!(only)),
        names => format!(", split={}", json!(names)),
    };
    format!(
        "import fdconvert\n\ndataset = fdconvert.Dataset({path}{split})\nsample = dataset[{index}]  # {}\n",
        Shown(key)
    )
}

/// Returns true if an image holds labels: a further image of one channel, or one known to hold no
/// colours.
pub(crate) fn is_mask(
    dataset: &Dataset,
    position: usize,
    field: &FieldSpec,
    value: &Value<Encoded>,
) -> bool {
    let Value::Image(image) = value else { return false };
    if dataset.reader().facts().field(position).keeps_pixels {
        return true;
    }
    let is_further = dataset.schema().first_image() != Some(position);
    let is_named = ["mask", "label", "seg"].iter().any(|word| field.name.contains(word));
    let header = probe::probe(&image.bytes).ok();
    let has_levels = header.is_some_and(|it| it.color == fdconvert_core::Color::Gray);
    is_further && (is_named || has_levels)
}

fn value_document(
    dataset: &Dataset,
    field: &FieldSpec,
    value: &Value<Encoded>,
    is_mask: bool,
) -> Map<String, Json> {
    let mut out = Map::new();
    let mut add = |name: &str, value: Json| {
        out.insert(name.into(), value);
    };
    add("name", json!(field.name));
    add("kind", json!(field.kind.name()));
    match value {
        Value::Images(images) => {
            let image = |image: &Encoded| {
                let codec = image.codec.extension();
                let (width, height, bytes) = (image.width, image.height, image.bytes.len());
                json!({ "codec": codec, "width": width, "height": height, "bytes": bytes })
            };
            add("images", images.iter().map(image).collect());
        }
        Value::Image(image) => {
            add("codec", json!(image.codec.extension()));
            add("width", json!(image.width));
            add("height", json!(image.height));
            add("bytes", json!(image.bytes.len()));
            add("mask", json!(is_mask));
        }
        Value::Int(int) => {
            add("value", json!(int));
            if let Some(names) = &field.class_names {
                let name = usize::try_from(*int).ok().and_then(|at| names.get(at));
                add("class", json!(name));
            } else if dataset.schema().label().and_then(|at| dataset.schema().fields.get(at))
                == Some(field)
            {
                add("class", Json::Null);
            }
        }
        // JSON has no NaN or infinity: they become text.
        Value::Float(float) if float.is_finite() => add("value", json!(float)),
        Value::Float(float) => add("value", json!(float.to_string())),
        Value::Text(text) => {
            let shown = beginning(text);
            add("value", json!(shown));
            if shown.len() < text.len() {
                add("cut", json!(true));
            }
        }
        Value::Json(json) => {
            let text = String::from_utf8_lossy(json);
            let shown = beginning(&text);
            match serde_json::from_slice::<Json>(json) {
                Ok(document) if shown.len() == text.len() => add("value", document),
                _ => add("value", json!(shown)),
            }
            if shown.len() < text.len() {
                add("cut", json!(true));
            }
        }
        Value::Bytes(bytes) => out.extend(opaque(bytes)),
        Value::Array(bytes) => {
            out.extend(opaque(bytes));
            if let Kind::Array(spec) = &field.kind {
                out.insert("dtype".into(), json!(spec.dtype.name()));
                out.insert("shape".into(), json!(spec.shape));
                if let Some(numbers) = numbers(spec, bytes) {
                    out.insert("numbers".into(), json!(numbers));
                }
            }
        }
        _ => {}
    }
    out
}

/// Returns the beginning of a text, cut between two characters.
fn beginning(text: &str) -> &str {
    let end = (0..=TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

fn opaque(bytes: &Bytes) -> Map<String, Json> {
    let first = bytes.get(..HEX_BYTES).unwrap_or(bytes);
    let hex: String = first.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut out = Map::new();
    out.insert("bytes".into(), json!(bytes.len()));
    out.insert("hex".into(), json!(hex));
    out
}

/// Returns the elements of a small array, of types that JSON has; NaN becomes null.
fn numbers(spec: &ArraySpec, bytes: &[u8]) -> Option<Vec<Json>> {
    let size = usize::try_from(spec.dtype.size()).ok()?;
    if bytes.len() / size > NUMBERS {
        return None;
    }
    let number = |bytes: &[u8]| -> Option<Json> {
        let byte = *bytes.first()?;
        Some(match spec.dtype {
            DType::Bool => json!(byte != 0),
            DType::I8 => json!(byte.cast_signed()),
            DType::U8 => json!(byte),
            DType::I16 => json!(at::u16_at(bytes, 0)?.cast_signed()),
            DType::U16 => json!(at::u16_at(bytes, 0)?),
            DType::I32 => json!(at::i32_at(bytes, 0)?),
            DType::U32 => json!(at::u32_at(bytes, 0)?),
            DType::I64 => json!(at::u64_at(bytes, 0)?.cast_signed()),
            DType::U64 => json!(at::u64_at(bytes, 0)?),
            DType::F16 => json!(half(at::u16_at(bytes, 0)?)),
            DType::F32 => json!(f32::from_bits(at::u32_at(bytes, 0)?)),
            DType::F64 => json!(f64::from_bits(at::u64_at(bytes, 0)?)),
            DType::C64 | DType::C128 => return None,
        })
    };
    bytes.chunks_exact(size).map(number).collect()
}

/// Converts half precision.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2_f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_arrays_are_read() {
        let spec = |dtype| ArraySpec { dtype, shape: vec![2], torch: false };
        let of = |dtype, bytes: &[u8]| numbers(&spec(dtype), bytes);
        assert_eq!(of(DType::I16, &[255, 255, 2, 0]), Some(vec![json!(-1), json!(2)]));
        let halves = of(DType::F16, &[0x00, 0x3c, 0x00, 0xc1]).unwrap();
        assert_eq!(halves, [json!(1.0_f32), json!(-2.5_f32)]);
        let doubles = [1.5_f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat();
        assert_eq!(of(DType::F64, &doubles), Some(vec![json!(1.5), Json::Null]));
        assert_eq!(of(DType::C64, &[0; 16]), None);
        assert_eq!(of(DType::U8, &vec![0; NUMBERS + 1]), None);
    }

    #[test]
    fn texts_are_cut_between_letters() {
        let text = "ä".repeat(TEXT_BYTES);
        let odd = format!("x{text}");
        assert_eq!(beginning(&text).len(), TEXT_BYTES);
        assert_eq!(beginning(&odd).len(), TEXT_BYTES - 1);
        assert_eq!(beginning("short"), "short");
    }
}
