//! A note for a dataset without images, which is rarely intended, with the fields that look like
//! images.
use fdconvert_core::{
    ArraySpec, Codec, DType, FieldSpec, Image, Kind, Remark, Source, Value, option, probe::sniff,
};
use fdconvert_pipeline::Plan;
use serde_json::Value as Json;
use std::path::Path;

/// Number of samples to check: a first one may be damaged, or its list empty.
const LOOKED_AT: u64 = 8;
/// Beginnings of base64 for JPEG, PNG, GIF, WebP and TIFF.
const BASE64: [&str; 6] = ["/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR", "SUkq", "TU0AKg"];
/// Length of the shortest text that may be an image.
const MIN_BASE64: usize = 64;

/// Returns a note if no field of a source is an image, with the fields that look like images. For a
/// source with samples from outside, only its fields are read.
pub(crate) fn note(source: &dyn Source, plan: &Plan, is_stored: bool) -> Option<Remark> {
    let schema = source.schema();
    if schema.shown_images().is_some() {
        return None;
    }
    let samples = (0..plan.len().min(LOOKED_AT)).filter(|_| is_stored);
    let samples: Vec<_> =
        samples.filter_map(|at| source.read(plan.source_index(at)).ok()).collect();
    let found = schema.fields.iter().enumerate().find_map(|(at, field)| {
        let values = samples.iter().filter_map(|sample| sample.values.get(at));
        of_kind(field).or_else(|| values.into_iter().find_map(|value| of_value(field, value)))
    });
    let fields: Vec<_> =
        schema.fields.iter().map(|it| format!("`{}` {}", it.name, it.kind.name())).collect();
    Some(match found {
        Some(what) => what.reworded(|what| format!("no field is an image: {what}")),
        None => format!("no field is an image, only {}", fields.join(", ")).into(),
    })
}

fn of_kind(field: &FieldSpec) -> Option<Remark> {
    let Kind::Array(ArraySpec { dtype: DType::U8, shape, .. }) = &field.kind else { return None };
    let is_image = matches!(shape[..], [_, _, 1 | 3 | 4] | [1 | 3 | 4, _, _]);
    is_image.then(|| {
        format!(
            "`{}` holds pixels as an array of {shape:?}, which stays one; write image files, or name \
             it an image in a schema",
            field.name
        )
        .into()
    })
}

fn of_value(field: &FieldSpec, value: &Value<Image>) -> Option<Remark> {
    let name = &field.name;
    let table = || {
        let what = format!(
            "`{name}` holds names of image files, which are not read; write the images into the \
             column, or give their folder as the source"
        );
        Remark::from(what).cure("to give the table as a .csv or .jsonl file", option::LABELS)
    };
    let what = match value {
        Value::Text(text) if is_image_name(text) => return Some(table()),
        Value::Text(text) if is_base64(text) => format!(
            "`{name}` holds images as base64, which stays a text; write their bytes as they are"
        ),
        Value::Bytes(bytes) if sniff(bytes).is_some() => format!(
            "`{name}` holds images in some samples, and other bytes in the first; write images in all"
        ),
        Value::Json(json) => {
            let document: Json = serde_json::from_slice(json).ok()?;
            let found = find(&document)?;
            let lists = if document.is_array() { "lists of images" } else { "images" };
            match found {
                Found::Base64 => format!(
                    "`{name}` holds {lists}, stored as base64 in JSON, which no loader shows; \
                     store them in a column of `Image()` or `List(Image())`"
                ),
                Found::Name => return Some(table()),
            }
        }
        _ => return None,
    };
    Some(what.into())
}

enum Found {
    Base64,
    Name,
}

/// Returns the first text in a document that is an image, or the name of one.
fn find(document: &Json) -> Option<Found> {
    match document {
        Json::String(text) if is_base64(text) => Some(Found::Base64),
        Json::String(text) if is_image_name(text) => Some(Found::Name),
        Json::Array(list) => list.iter().find_map(find),
        Json::Object(members) => members.values().find_map(find),
        _ => None,
    }
}

fn is_base64(text: &str) -> bool {
    let text =
        text.strip_prefix("data:image/").and_then(|it| it.split_once(',')).map_or(text, |it| it.1);
    text.len() >= MIN_BASE64 && BASE64.iter().any(|start| text.starts_with(start))
}

fn is_image_name(text: &str) -> bool {
    let is_line = text.len() <= 1024 && !text.contains(char::is_control);
    // The query of a URL follows the name.
    let text = text.split_once("://").map_or(text, |(_, url)| url.split('?').next().unwrap_or(url));
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    is_line && extension.and_then(Codec::from_extension).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: Kind, value: &Value<Image>) -> String {
        let field = FieldSpec::new("x", kind);
        of_kind(&field).or_else(|| of_value(&field, value)).map_or("-".into(), |it| it.to_string())
    }

    #[test]
    fn what_looks_like_images_is_named() {
        let base64 = format!("iVBORw0KGgo{}", "A".repeat(80));
        let text = |text: &str| said(Kind::Text, &Value::Text(text.to_owned()));
        let json = |json: String| said(Kind::Json, &Value::Json(json.into()));
        assert!(text("a/0.JPG").contains("`x` holds names of image files"));
        assert!(text("https://x.org/a.jpg?w=3").contains("`x` holds names of image files"));
        assert!(text(&base64).contains("`x` holds images as base64"));
        assert!(text(&format!("data:image/png;base64,{base64}")).contains("as base64"));
        let list = json(format!("[{{\"bytes\":\"{base64}\",\"path\":null}}]"));
        assert!(list.contains("`x` holds lists of images, stored as base64 in JSON"), "{list}");
        let one = json(format!("{{\"a\":\"{base64}\"}}"));
        assert!(one.contains("`x` holds images, stored as base64 in JSON"), "{one}");
        assert!(json("[\"a.png\"]".into()).contains("names of image files"));
        for nothing in ["a photo of a cat.", "img", "", "iVBORw0KGgo"] {
            assert_eq!(text(nothing), "-");
        }
        assert_eq!(json("[1,{\"a\":[]}]".into()), "-");
        let array = |shape: &[u64]| {
            let spec = ArraySpec { dtype: DType::U8, shape: shape.to_vec(), torch: false };
            said(Kind::Array(spec), &Value::Int(0))
        };
        assert!(array(&[48, 64, 3]).contains("`x` holds pixels as an array of [48, 64, 3]"));
        assert_eq!(array(&[3, 5]), "-");
    }
}
