//! The fields in batches besides images and labels: their selection, and a sample's values on the
//! way from the reader to the row.

mod asked;

use crate::{classes, follow::Role};
pub(crate) use asked::Asked;
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, Codec, Encoded, Error, FieldSpec, Image, Kind, Reader, Result, Value,
    objects::ClassNumbers, other_inner_class,
};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Value of a field. It owns its bytes, so that it outlives maps and blocks.
pub(crate) type FieldValue = Value<Encoded>;

pub(crate) trait MaybeStored {
    /// Returns the stored image, if there is one.
    fn stored(&self) -> Option<&Encoded>;

    /// Returns the image of a sample without any.
    fn nothing() -> Self;
}

impl MaybeStored for Encoded {
    fn stored(&self) -> Option<&Encoded> {
        Some(self)
    }

    fn nothing() -> Self {
        Self::new(Codec::Raw, 0, 0, Bytes::new())
    }
}

impl MaybeStored for Image {
    fn stored(&self) -> Option<&Encoded> {
        match self {
            Self::Encoded(image) => Some(image),
            _ => None,
        }
    }

    fn nothing() -> Self {
        Self::Encoded(Encoded::nothing())
    }
}

/// Values of a sample in its row besides the image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RowValues {
    /// 0 without labels, and for labels that are not integers, which are in `fields`.
    pub(crate) label: i64,
    /// In the requested order; `None` without fields, so that a row then allocates nothing for
    /// them.
    pub(crate) fields: Option<Arc<[FieldValue]>>,
}

/// The requested fields, as all datasets of a loader have them, and a label that is not an integer,
/// because it is a column like them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    specs: Vec<FieldSpec>,
    /// The same fields in the form that batches show.
    shown: Vec<FieldSpec>,
    roles: Vec<Role>,
    /// Number of leading fields that were requested as fields.
    n_asked: usize,
    label: Option<usize>,
    classes: Option<Arc<ClassNumbers>>,
}

impl Fields {
    /// Collects the requested fields, and the label of that name, which may be one of them.
    ///
    /// # Errors
    /// `Usage`, with the names of dataset and field, for a duplicate name, and if a dataset does
    /// not have the field, has its first images in it, or has it in another kind than the first
    /// dataset.
    pub(crate) fn new<'a>(
        asked: &Asked<'_>,
        label: Option<&String>,
        readers: impl Iterator<Item = &'a Arc<dyn Reader>> + Clone,
    ) -> Result<Self> {
        let names = asked.names();
        let specs = Self::specs_of(&names, label, readers.clone())?;
        let role = |spec: &FieldSpec| Role::of(spec, asked, readers.clone());
        let roles: Vec<Role> = specs.iter().map(role).collect::<Result<_>>()?;
        let shown = specs
            .iter()
            .zip(&roles)
            .map(|(spec, role)| FieldSpec::new(&spec.name, role.shown(&spec.kind, asked.size)));
        let shown = shown.collect();
        let label = label.and_then(|label| specs.iter().position(|field| field.name == *label));
        if let Some((label, role)) = label.and_then(|label| Some((label, roles.get(label)?)))
            && *role != Role::Value
        {
            let what = format!(
                "`{}` describes objects, which are a field and not a label: name another field, or \
                 none",
                specs.get(label).map_or("", |field| &field.name)
            );
            return Err(Error::usage("label", what));
        }
        let list = asked.classes.filter(|_| asked.objects.is_some()).cloned();
        let classes = list.map(ClassNumbers::new).transpose().map_err(classes::twice)?;
        let classes = classes.map(Arc::new);
        let fields = Self { specs, shown, roles, n_asked: names.len(), label, classes };
        fields.check_inner_classes(readers)?;
        Ok(fields)
    }

    /// Refuses fields in which a class number means different classes in different datasets.
    fn check_inner_classes<'a>(
        &self,
        readers: impl Iterator<Item = &'a Arc<dyn Reader>> + Clone,
    ) -> Result<()> {
        let values = self.specs.iter().zip(&self.roles).filter(|(_, role)| **role == Role::Value);
        for (FieldSpec { name, .. }, _) in values {
            let of = |reader: &'a Arc<dyn Reader>| {
                let field = reader.schema().position(name);
                let inner = field.map(|field| reader.facts().field(field).inner.clone());
                (reader, inner.unwrap_or_default())
            };
            let Some(((mine, is), (theirs, other))) = other_inner_class(readers.clone().map(of))
            else {
                continue;
            };
            let what = format!(
                "`{name}` of {} has {is}, and that of {} {other}: numbers within lists and documents \
                 stay what they are, so leave the field out, or load the datasets one by one",
                mine.name(),
                theirs.name()
            );
            return Err(Error::usage("fields", what));
        }
        Ok(())
    }

    fn specs_of<'a>(
        names: &[String],
        label: Option<&String>,
        readers: impl Iterator<Item = &'a Arc<dyn Reader>>,
    ) -> Result<Vec<FieldSpec>> {
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
        Ok(fields)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// Returns names and kinds in the requested order; the label may follow them.
    pub(crate) fn specs(&self) -> &[FieldSpec] {
        &self.specs
    }

    /// Returns the fields with the kinds that batches show.
    pub(crate) fn shown(&self) -> &[FieldSpec] {
        &self.shown
    }

    /// Returns the role of each field in batches.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Returns true if any field follows the image.
    pub(crate) fn follow(&self) -> bool {
        self.roles.iter().any(|role| role.follows())
    }

    /// Returns true if any field is a list of images, which are decoded.
    pub(crate) fn have_lists(&self) -> bool {
        self.roles.contains(&Role::List)
    }

    /// Returns true if there are masks or further images, which have the size of the row.
    pub(crate) fn have_images(&self) -> bool {
        self.roles.iter().any(|role| role.follows() && *role != Role::Objects)
    }

    /// Returns the fields that follow the image, in the form of a view of that size.
    pub(crate) fn following(&self, size: (u32, u32)) -> Self {
        let pairs = self.specs.iter().zip(&self.roles).filter(|(_, role)| role.follows());
        let (specs, roles): (Vec<_>, Vec<_>) =
            pairs.map(|(spec, role)| (spec.clone(), *role)).unzip();
        let shown = specs.iter().zip(&roles);
        let shown =
            shown.map(|(spec, role)| FieldSpec::new(&spec.name, role.shown(&spec.kind, size)));
        let (shown, n_asked) = (shown.collect(), specs.len());
        Self { specs, shown, roles, n_asked, label: None, classes: None }
    }

    /// Returns all fields, those that follow the image in the form of a view of that size.
    pub(crate) fn of_size(&self, size: (u32, u32)) -> Self {
        let shown = self.specs.iter().zip(&self.roles).zip(&self.shown);
        let shown = shown.map(|((spec, role), shown)| match role {
            Role::Value => shown.clone(),
            role => FieldSpec::new(&spec.name, role.shown(&spec.kind, size)),
        });
        Self { shown: shown.collect(), ..self.clone() }
    }

    /// Returns the document with the objects of a row, if there is one.
    pub(crate) fn objects<'a>(&self, values: &'a RowValues) -> Option<&'a Bytes> {
        let number = self.roles.iter().position(|role| *role == Role::Objects)?;
        match values.fields.as_deref()?.get(number)? {
            Value::Json(document) => Some(document),
            _ => None,
        }
    }

    /// Returns the class list of the objects, if there is one.
    pub(crate) fn classes(&self) -> Option<&ClassNumbers> {
        self.classes.as_deref()
    }

    /// Yields the names of the requested fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().take(self.n_asked).map(|field| &*field.name)
    }

    /// Returns the position and the spec of a label that is not an integer.
    pub(crate) fn label(&self) -> Option<(usize, &FieldSpec)> {
        self.label.and_then(|number| Some((number, self.specs.get(number)?)))
    }

    /// Returns true if values are stored outside the tables of a dataset, next to the images:
    /// tables have separate checksums.
    pub(crate) fn lie_beside_images(&self) -> bool {
        self.specs.iter().any(|field| !matches!(field.kind, Kind::Int | Kind::Float))
    }

    /// Returns a value that differs between choices of fields, for kept samples; 0 for no fields.
    pub(crate) fn fingerprint(&self) -> u64 {
        if self.n_asked == 0 {
            return 0;
        }
        let mut text = b"fields".to_vec();
        for name in self.names() {
            text.extend((name.len() as u64).to_le_bytes());
            text.extend(name.as_bytes());
        }
        xxh3_64(&text)
    }
}

/// Takes a value of the given kind out of a sample and copies its bytes. `None` for another kind,
/// or an array of another size.
pub(crate) fn take_value<I: MaybeStored>(value: &mut Value<I>, kind: &Kind) -> Option<FieldValue> {
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
        (Value::Image(image), Kind::Image) => {
            let Encoded { codec, width, height, bytes, .. } = image.stored()?;
            Value::Image(Encoded::new(*codec, *width, *height, owned(bytes)))
        }
        (Value::Images(images), Kind::Images) => {
            let owned = |image: &I| {
                let Encoded { codec, width, height, bytes, .. } = image.stored()?;
                Some(Encoded::new(*codec, *width, *height, owned(bytes)))
            };
            Value::Images(images.iter().map(owned).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Encodes values: for each a byte for its kind, eight for its length in little endian, and its
/// bytes; images begin with their codec, width and height.
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
            Value::Image(image) => add(IMAGE, &image_to_bytes(image)),
            Value::Images(images) => {
                let images: Vec<_> = images.iter().cloned().map(Value::Image).collect();
                add(IMAGES, &to_bytes(&images));
            }
            // A kind that is not parsed below, so that the copy counts as missing.
            _ => add(u8::MAX, &[]),
        }
    }
    bytes
}

/// Parses the values of [`to_bytes`]; `None` for anything else.
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
            IMAGE => Value::Image(image_from_bytes(value)?),
            IMAGES => {
                let image = |value: &FieldValue| match value {
                    Value::Image(image) => Some(image.clone()),
                    _ => None,
                };
                Value::Images(from_bytes(value)?.iter().map(image).collect::<Option<_>>()?)
            }
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
const IMAGE: u8 = 6;
/// Images in the same form, one after another.
const IMAGES: u8 = 7;

fn image_to_bytes(image: &Encoded) -> Vec<u8> {
    let codec = Codec::ALL.iter().position(|codec| *codec == image.codec);
    // A codec that is not parsed below.
    let codec = codec.and_then(|codec| u8::try_from(codec).ok()).unwrap_or(u8::MAX);
    let mut bytes = vec![codec];
    bytes.extend(image.width.to_le_bytes());
    bytes.extend(image.height.to_le_bytes());
    bytes.extend(&image.bytes);
    bytes
}

fn image_from_bytes(value: &[u8]) -> Option<Encoded> {
    let (codec, rest) = value.split_first()?;
    let (width, rest) = rest.split_first_chunk()?;
    let (height, bytes) = rest.split_first_chunk()?;
    let codec = *Codec::ALL.get(usize::from(*codec))?;
    let (width, height) = (u32::from_le_bytes(*width), u32::from_le_bytes(*height));
    Some(Encoded::new(codec, width, height, Bytes::copy_from_slice(bytes)))
}

/// Returns the kind of a field that batches can show besides their images.
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
    if position == schema.first_image() {
        let what = format!("`{name}` of {} is the image, which batches show anyway", reader.name());
        return refuse(what);
    }
    Ok(&field.kind)
}

/// Lists the fields of a dataset with their kinds, for messages.
pub(crate) fn listed(reader: &dyn Reader) -> String {
    let fields = reader.schema().fields.iter();
    let listed = fields.map(|field| format!("`{}` ({})", field.name, field.kind.name()));
    listed.collect::<Vec<_>>().join(", ")
}

/// Returns true if values of two kinds fit into one column: the meaning that readers give to an
/// array does not matter.
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
