//! The fields that batches show beside images and labels: which they are, and a sample's values of
//! them, from the reader up to the row.

use bytes::Bytes;
use fdconvert_core::{ArraySpec, Error, FieldSpec, Kind, Reader, Result, Value};
use std::{convert::Infallible, sync::Arc};
use xxhash_rust::xxh3::xxh3_64;

/// A value of a field other than images. It owns its bytes, so that it lives longer than maps and
/// blocks.
pub(crate) type FieldValue = Value<Infallible>;

/// What a row tells of its sample beside the image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RowValues {
    /// 0 where no labels are asked for, and where they are no integers, which `fields` holds.
    pub(crate) label: i64,
    /// In the order in which the fields were asked for; `None` where there are none, so that a
    /// row of a loader without fields allocates nothing for them.
    pub(crate) fields: Option<Arc<[FieldValue]>>,
}

/// The fields that were asked for, as all datasets of a loader have them, and a label that is no
/// integer: it is a column like them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    specs: Vec<FieldSpec>,
    /// How many of them, from the first on, were asked for as fields.
    n_shown: usize,
    /// Which one is the label.
    label: Option<usize>,
}

impl Fields {
    /// The fields of these names, and the label of that one, which may be one of them.
    ///
    /// # Errors
    /// `Usage`, naming dataset and field, for a name that comes twice, and when a dataset does not
    /// have the field, has images in it, or has it in another kind than the first dataset.
    pub(crate) fn new<'a>(
        names: &[String],
        label: Option<&String>,
        readers: impl Iterator<Item = &'a Arc<dyn Reader>>,
    ) -> Result<Self> {
        let mut fields: Vec<FieldSpec> = Vec::with_capacity(names.len() + 1);
        let mut first = None;
        let hidden = label.filter(|label| !names.contains(label));
        for reader in readers {
            for (number, name) in names.iter().chain(hidden).enumerate() {
                let option = if number < names.len() { "fields" } else { "label" };
                let kind = kind_of(&**reader, name, option)?;
                match fields.get(number) {
                    Some(known) if is_same(&known.kind, kind) => {}
                    Some(known) => {
                        let what = format!(
                            "`{name}` is {} in {} and {} in {}, and a column of a batch holds one \
                             kind",
                            described(&known.kind),
                            first.unwrap_or_default(),
                            described(kind),
                            reader.name()
                        );
                        return Err(Error::usage(option, what));
                    }
                    None if fields.iter().any(|earlier| earlier.name == *name) => {
                        return Err(Error::usage("fields", format!("`{name}` is named twice")));
                    }
                    None => fields.push(FieldSpec::new(name, kind.clone())),
                }
            }
            first.get_or_insert_with(|| reader.name());
        }
        let label = label.and_then(|label| fields.iter().position(|field| field.name == *label));
        Ok(Self { specs: fields, n_shown: names.len(), label })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// Names and kinds, in the order in which they were asked for; the label may be behind them.
    pub(crate) fn specs(&self) -> &[FieldSpec] {
        &self.specs
    }

    /// Names of those that were asked for as fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().take(self.n_shown).map(|field| &*field.name)
    }

    /// Which one is the label, where that is no integer.
    pub(crate) fn label(&self) -> Option<(usize, &FieldSpec)> {
        self.label.and_then(|number| Some((number, self.specs.get(number)?)))
    }

    /// Names of all of them, in the order in which a sample has their values.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|field| &*field.name)
    }

    /// Returns whether values lie apart from the tables of a dataset, beside the image: tables have
    /// checksums of their own.
    pub(crate) fn lie_beside_images(&self) -> bool {
        self.specs.iter().any(|field| !matches!(field.kind, Kind::Int | Kind::Float))
    }

    /// Tells one choice of fields from another, for what is kept of samples; 0 for none.
    pub(crate) fn fingerprint(names: &[String]) -> u64 {
        if names.is_empty() {
            return 0;
        }
        let mut text = b"fields".to_vec();
        for name in names {
            text.extend((name.len() as u64).to_le_bytes());
            text.extend(name.as_bytes());
        }
        xxh3_64(&text)
    }
}

/// Takes a value that is of a kind out of a sample, with bytes of its own. `None` if it is of
/// another one, or an array of another size.
pub(crate) fn take_value<I>(value: &mut Value<I>, kind: &Kind) -> Option<FieldValue> {
    let owned = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    Some(match (value, kind) {
        (Value::Int(int), Kind::Int) => Value::Int(*int),
        (Value::Float(float), Kind::Float) => Value::Float(*float),
        (Value::Text(text), Kind::Text) => Value::Text(std::mem::take(text)),
        (Value::Json(json), Kind::Json) => Value::Json(owned(json)),
        (Value::Bytes(bytes), Kind::Bytes) => Value::Bytes(owned(bytes)),
        (Value::Array(array), Kind::Array(spec)) => {
            (spec.byte_len() == Some(array.len() as u64)).then(|| Value::Array(owned(array)))?
        }
        _ => return None,
    })
}

/// Values as bytes: of each a byte for its kind, eight for its length in little endian, and itself.
pub(crate) fn to_bytes(values: &[FieldValue]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |kind: u8, value: &[u8]| {
        bytes.push(kind);
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value);
    };
    for value in values {
        match value {
            Value::Int(int) => add(INT, &int.to_le_bytes()),
            Value::Float(float) => add(FLOAT, &float.to_le_bytes()),
            Value::Text(text) => add(TEXT, text.as_bytes()),
            Value::Json(json) => add(JSON, json),
            Value::Bytes(value) => add(BYTES, value),
            Value::Array(array) => add(ARRAY, array),
            // A kind that is not read below, so that the copy counts as none.
            _ => add(u8::MAX, &[]),
        }
    }
    bytes
}

/// The values of [`to_bytes`]; `None` for anything else.
pub(crate) fn from_bytes(mut rest: &[u8]) -> Option<Arc<[FieldValue]>> {
    let mut values = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        let (len, after) = after.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let (value, after) = after.split_at_checked(len)?;
        let owned = || Bytes::copy_from_slice(value);
        values.push(match *kind {
            INT => Value::Int(i64::from_le_bytes(value.try_into().ok()?)),
            FLOAT => Value::Float(f64::from_le_bytes(value.try_into().ok()?)),
            TEXT => Value::Text(String::from_utf8(value.to_vec()).ok()?),
            JSON => Value::Json(owned()),
            BYTES => Value::Bytes(owned()),
            ARRAY => Value::Array(owned()),
            _ => return None,
        });
        rest = after;
    }
    Some(values.into())
}

const INT: u8 = 0;
const FLOAT: u8 = 1;
const TEXT: u8 = 2;
const JSON: u8 = 3;
const BYTES: u8 = 4;
const ARRAY: u8 = 5;

/// The kind of a field that batches can show.
fn kind_of<'a>(reader: &'a dyn Reader, name: &str, option: &'static str) -> Result<&'a Kind> {
    let schema = reader.schema();
    let refuse = |what| Err(Error::usage(option, what));
    let position = schema.position(name);
    let Some(field) = position.and_then(|position| schema.fields.get(position)) else {
        return refuse(format!(
            "{} has no field `{name}`; its fields are {}",
            reader.name(),
            listed(reader)
        ));
    };
    if field.kind != Kind::Image {
        return Ok(&field.kind);
    }
    if position == schema.first_image() {
        let what = format!("`{name}` of {} is the image, which batches show anyway", reader.name());
        return refuse(what);
    }
    refuse(format!(
        "`{name}` of {} is a further field of images: masks and the like, which have to be cropped \
         as the image is, cannot be asked for yet; leave it out, and read it sample by sample from \
         the dataset",
        reader.name()
    ))
}

/// The fields of a dataset with their kinds, for messages.
pub(crate) fn listed(reader: &dyn Reader) -> String {
    let fields = reader.schema().fields.iter();
    let listed = fields.map(|field| format!("`{}` ({})", field.name, field.kind.name()));
    listed.collect::<Vec<_>>().join(", ")
}

/// Returns whether values of two kinds fit into one column: what readers are to make of an array
/// does not matter.
fn is_same(one: &Kind, other: &Kind) -> bool {
    match (one, other) {
        (Kind::Array(one), Kind::Array(other)) => {
            (one.dtype, &one.shape) == (other.dtype, &other.shape)
        }
        _ => one == other,
    }
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Array(ArraySpec { dtype, shape, .. }) => {
            format!("an array of {} in the shape {shape:?}", dtype.name())
        }
        Kind::Int => "an int".into(),
        other => format!("a {}", other.name()),
    }
}
