use crate::{ArraySpec, Encoded, Error, Result, image::Abbreviated, objects::Category};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// The ordered fields of every sample in a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// Fields, in storage order; names are unique and not empty.
    pub fields: Vec<FieldSpec>,
}

/// One named field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSpec {
    /// Unique within the schema.
    pub name: String,
    /// Value type.
    pub kind: Kind,
    /// Names of classes 0, 1, 2, ... for a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_names: Option<Arc<[String]>>,
    /// All categories of the objects in documents, by number; `None` if the list is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Arc<[Category]>>,
}

/// Value types.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// An image.
    Image,
    /// Any number of images, none included.
    Images,
    /// A 64-bit integer, e.g. a class label.
    Int,
    /// A 64-bit float.
    Float,
    /// Opaque bytes.
    Bytes,
    /// Text in UTF-8.
    Text,
    /// A JSON document.
    Json,
    /// An array with a shape and element type fixed by the field.
    Array(ArraySpec),
}

/// One field's value. `I` is the image type at this stage: `Image` before the policy, `Encoded`
/// after it. `{:?}` abbreviates long bytes.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Value<I> {
    /// Image.
    Image(I),
    /// Images, in order; each is a whole file, never raw pixels, once it is stored.
    Images(Vec<I>),
    /// Integer.
    Int(i64),
    /// Float.
    Float(f64),
    /// Bytes.
    Bytes(Bytes),
    /// Text.
    Text(String),
    /// A JSON document as UTF-8 text.
    Json(Bytes),
    /// Row-major little-endian elements; the length is the field's `ArraySpec::byte_len`.
    Array(Bytes),
}

impl<I> Value<I> {
    /// Returns true if it is a number, a text or a document: what
    /// [`Source::value`](crate::Source::value) returns.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_) | Self::Text(_) | Self::Json(_))
    }

    /// Returns its images: one, those of a list, or none.
    #[must_use]
    pub fn images(&self) -> &[I] {
        match self {
            Self::Image(image) => std::slice::from_ref(image),
            Self::Images(images) => images,
            _ => &[],
        }
    }

    /// Converts each image of the value, and keeps any other value.
    ///
    /// # Errors
    /// The first error of `f`.
    pub fn try_map_image<J, E>(self, mut f: impl FnMut(I) -> Result<J, E>) -> Result<Value<J>, E> {
        Ok(match self {
            Self::Image(image) => Value::Image(f(image)?),
            Self::Images(images) => {
                Value::Images(images.into_iter().map(f).collect::<Result<_, E>>()?)
            }
            Self::Int(int) => Value::Int(int),
            Self::Float(float) => Value::Float(float),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Text(text) => Value::Text(text),
            Self::Json(json) => Value::Json(json),
            Self::Array(array) => Value::Array(array),
        })
    }
}

impl<I: fmt::Debug> fmt::Debug for Value<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple =
            |name: &str, value: &dyn fmt::Debug| f.debug_tuple(name).field(value).finish();
        match self {
            Self::Image(image) => tuple("Image", image),
            Self::Images(images) => tuple("Images", images),
            Self::Int(int) => tuple("Int", int),
            Self::Float(float) => tuple("Float", float),
            Self::Bytes(bytes) => tuple("Bytes", &Abbreviated(bytes)),
            Self::Text(text) => tuple("Text", text),
            Self::Json(json) => tuple("Json", &Abbreviated(json)),
            Self::Array(array) => tuple("Array", &Abbreviated(array)),
        }
    }
}

/// One training example; `values` correspond to [`Schema::fields`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<I> {
    /// Stable name. For samples from files: the path below the source's root, with `/` as separator
    /// and with the extension, so that unpacking can restore it.
    pub key: String,
    /// Values in schema order.
    pub values: Vec<Value<I>>,
}

impl FieldSpec {
    /// Creates a field without class names.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, class_names: None, categories: None }
    }

    /// Creates a label: an integer field with positions in `class_names` as values.
    pub fn label(name: impl Into<String>, class_names: Arc<[String]>) -> Self {
        Self { class_names: Some(class_names), ..Self::new(name, Kind::Int) }
    }

    /// Creates a field of documents of objects, with all their categories.
    pub fn objects(name: impl Into<String>, categories: Vec<Category>) -> Self {
        Self { categories: Some(categories.into()), ..Self::new(name, Kind::Json) }
    }
}

impl Kind {
    /// Returns the name of the kind, for messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Images => "images",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bytes => "bytes",
            Self::Text => "text",
            Self::Json => "json",
            Self::Array(_) => "array",
        }
    }
}

impl Schema {
    /// Creates a schema.
    ///
    /// # Errors
    /// `Usage` when there is no field, or a name is empty or duplicate.
    pub fn new(fields: Vec<FieldSpec>) -> Result<Self> {
        if fields.is_empty() {
            return Err(Error::usage("schema", "a dataset needs at least one field"));
        }
        for (i, field) in fields.iter().enumerate() {
            if field.name.is_empty() {
                return Err(Error::usage("schema", format!("field {i} has no name")));
            }
            if fields[..i].iter().any(|earlier| earlier.name == field.name) {
                let what = format!("two fields are called `{}`", field.name);
                return Err(Error::usage("schema", what));
            }
        }
        Ok(Self { fields })
    }

    /// Returns the position of the field of that name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the first image field.
    #[must_use]
    pub fn first_image(&self) -> Option<usize> {
        self.fields.iter().position(|field| field.kind == Kind::Image)
    }

    /// Returns the field of the images to show: the first image field, else the first list of images.
    #[must_use]
    pub fn shown_images(&self) -> Option<usize> {
        let list = || self.fields.iter().position(|field| field.kind == Kind::Images);
        self.first_image().or_else(list)
    }

    /// Returns the position of `field` among the image fields; `None` if it is not one.
    #[must_use]
    pub fn image_position(&self, field: usize) -> Option<u32> {
        let before = self.fields.get(..=field)?;
        let (last, before) = before.split_last()?;
        let n_before = before.iter().filter(|earlier| earlier.kind == Kind::Image).count();
        if last.kind == Kind::Image { u32::try_from(n_before).ok() } else { None }
    }

    /// Returns the first integer field with class names, otherwise the one called `label`.
    #[must_use]
    pub fn label(&self) -> Option<usize> {
        let named = self.fields.iter().position(|field| field.class_names.is_some());
        named.or_else(|| self.position("label").filter(|&i| self.fields[i].kind == Kind::Int))
    }

    /// Checks that the values of a sample match this schema's kinds and sizes.
    ///
    /// # Errors
    /// `Sample`, with the field.
    pub fn check<I>(&self, sample: &Sample<I>) -> Result<()> {
        if sample.values.len() != self.fields.len() {
            let what =
                format!("has {} values for {} fields", sample.values.len(), self.fields.len());
            return Err(Error::sample(&sample.key, what));
        }
        for (field, value) in self.fields.iter().zip(&sample.values) {
            let fits = match (&field.kind, value) {
                (Kind::Image, Value::Image(_))
                | (Kind::Images, Value::Images(_))
                | (Kind::Int, Value::Int(_))
                | (Kind::Float, Value::Float(_))
                | (Kind::Bytes, Value::Bytes(_))
                | (Kind::Text, Value::Text(_))
                | (Kind::Json, Value::Json(_)) => true,
                (Kind::Array(spec), Value::Array(bytes)) => {
                    spec.byte_len() == Some(bytes.len() as u64)
                }
                _ => false,
            };
            if !fits {
                let article = if field.kind == Kind::Images { "" } else { "a " };
                let kind = field.kind.name();
                let what = format!("field `{}` does not hold {article}{kind}", field.name);
                return Err(Error::sample(&sample.key, what));
            }
        }
        Ok(())
    }
}

impl Sample<Encoded> {
    /// Returns the [entry points](Encoded::entry_points) of its images, in schema order; `None` for
    /// images without any.
    pub fn entry_points(&self) -> impl Iterator<Item = Option<&Bytes>> {
        self.values.iter().filter_map(|value| match value {
            Value::Image(image) => Some(image.entry_points.as_ref()),
            _ => None,
        })
    }
}

impl<I> Sample<I> {
    /// Converts every image, and keeps the rest.
    ///
    /// # Errors
    /// The first error of `f`.
    pub fn try_map_image<J, E>(self, mut f: impl FnMut(I) -> Result<J, E>) -> Result<Sample<J>, E> {
        let values = self.values.into_iter().map(|value| value.try_map_image(&mut f));
        let values = values.collect::<Result<_, E>>()?;
        Ok(Sample { key: self.key, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, Encoded};

    #[test]
    fn schema_refuses_what_it_cannot_address() {
        assert!(Schema::new(vec![]).is_err());
        assert!(Schema::new(vec![FieldSpec::new("", Kind::Int)]).is_err());
        let twice = vec![FieldSpec::new("a", Kind::Int), FieldSpec::new("a", Kind::Float)];
        assert!(Schema::new(twice).is_err());
    }

    #[test]
    fn a_printed_sample_does_not_hold_a_whole_image() {
        let bytes = Bytes::from(vec![0xff; 55_079]);
        let image = Encoded::new(Codec::Jpeg, 5, 4, bytes.clone());
        let values = vec![Value::Image(image), Value::Bytes(bytes), Value::Int(3)];
        let printed = format!("{:?}", Sample { key: "a.jpg".into(), values });
        assert!(printed.len() < 400 && printed.contains("(55079 bytes)"), "{printed}");
        assert!(printed.contains("Jpeg") && printed.contains("Int(3)"), "{printed}");
    }

    #[test]
    fn check_names_the_field_that_does_not_fit() {
        let schema = Schema::new(vec![FieldSpec::new("score", Kind::Float)]).unwrap();
        let wrong = Sample::<()> { key: "k".into(), values: vec![Value::Int(1)] };
        let message = schema.check(&wrong).unwrap_err().to_string();
        assert!(message.contains("score") && message.contains('k'), "{message}");
        let right = Sample::<()> { key: "k".into(), values: vec![Value::Float(1.0)] };
        schema.check(&right).unwrap();
    }
}
