//! The values of one field for all rows of a batch.

use crate::{
    fields::{FieldValue, Fields},
    follow::{Objects, Role},
};
use bytes::Bytes;
use fdconvert_core::{ArraySpec, Encoded, Error, FieldSpec, Kind, Result, Value};
use std::sync::Arc;

/// Field of a batch: one value per row, in row order, including padding.
///
/// A row that shows a substitute for a failed sample has the substitute's values. A row without a
/// sample, which is not [`valid`](crate::Batch::valid), has 0, zeros or an empty value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// Integers.
    Int(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
    /// Arrays of one shape and type, one after the other.
    Array {
        /// Type and shape of the whole column: the rows first, then the shape of the field.
        spec: ArraySpec,
        /// Row-major little-endian elements.
        bytes: Vec<u8>,
    },
    /// Text values.
    Text(Vec<String>),
    /// JSON documents as stored UTF-8 text.
    Json(Vec<Bytes>),
    /// Opaque byte strings.
    Bytes(Vec<Bytes>),
    /// Lists of images: RGB pixels of 8 bits, [`Codec::Raw`](fdconvert_core::Codec::Raw), each of
    /// its own size.
    Images(Vec<Vec<Encoded>>),
    /// Objects of [`Options::objects`](crate::Options::objects).
    Objects(Box<Objects>),
}

#[derive(Debug)]
pub(crate) struct Columns {
    fields: Arc<Fields>,
    columns: Vec<Column>,
}

impl Column {
    /// Creates a column for rows without samples.
    ///
    /// # Errors
    /// `Usage` for arrays that exceed the memory together.
    fn empty(name: &str, kind: &Kind, n_rows: usize) -> Result<Self> {
        Ok(match kind {
            Kind::Int => Self::Int(vec![0; n_rows]),
            Kind::Float => Self::Float(vec![0.0; n_rows]),
            Kind::Text => Self::Text(vec![String::new(); n_rows]),
            Kind::Json => Self::Json(vec![Bytes::new(); n_rows]),
            Kind::Bytes => Self::Bytes(vec![Bytes::new(); n_rows]),
            Kind::Images => Self::Images(vec![Vec::new(); n_rows]),
            Kind::Array(one) => {
                let shape = std::iter::once(n_rows as u64).chain(one.shape.iter().copied());
                let spec = ArraySpec { dtype: one.dtype, shape: shape.collect(), torch: one.torch };
                let n_bytes = check_size(name, &spec)?;
                Self::Array { spec, bytes: vec![0; n_bytes] }
            }
            other => {
                let what = format!("`{name}` is of kind {}, which no batch shows", other.name());
                return Err(Error::usage("fields", what));
            }
        })
    }

    /// Returns the number of rows, including padding.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Int(ints) => ints.len(),
            Self::Float(floats) => floats.len(),
            Self::Text(texts) => texts.len(),
            Self::Json(documents) => documents.len(),
            Self::Bytes(values) => values.len(),
            Self::Images(lists) => lists.len(),
            Self::Objects(objects) => objects.n_rows(),
            Self::Array { spec, .. } => {
                let n_rows = spec.shape.first().copied().unwrap_or_default();
                usize::try_from(n_rows).unwrap_or_default()
            }
        }
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn set(&mut self, row: usize, value: &FieldValue) {
        match (self, value) {
            (Self::Int(ints), Value::Int(int)) => put(ints, row, *int),
            (Self::Float(floats), Value::Float(float)) => put(floats, row, *float),
            (Self::Text(texts), Value::Text(text)) => put(texts, row, text.clone()),
            (Self::Json(documents), Value::Json(json)) => put(documents, row, json.clone()),
            (Self::Bytes(values), Value::Bytes(bytes)) => put(values, row, bytes.clone()),
            (Self::Images(lists), Value::Images(images)) => put(lists, row, images.clone()),
            (Self::Array { bytes, .. }, Value::Array(array)) => {
                let begin = row.saturating_mul(array.len());
                let place = bytes.get_mut(begin..begin.saturating_add(array.len()));
                if let Some(place) = place {
                    place.copy_from_slice(array);
                }
            }
            // The kind of a value was checked when it was read.
            _ => {}
        }
    }
}

impl Columns {
    /// Creates the columns and objects of a batch.
    ///
    /// # Errors
    /// As [`check`](Self::check), and for objects that take too much memory.
    pub(crate) fn new<'a>(
        fields: &Arc<Fields>,
        rows: impl ExactSizeIterator<Item = Option<&'a [FieldValue]>>,
        objects: impl Iterator<Item = Option<&'a Objects>> + Clone,
    ) -> Result<Self> {
        let mut all = Self { fields: fields.clone(), columns: Vec::new() };
        if fields.is_empty() {
            return Ok(all);
        }
        let n_rows = rows.len();
        let empty = |(field, role): (&FieldSpec, &Role)| match role {
            Role::Objects => Ok(Column::Objects(Box::new(Objects::of_rows(objects.clone())?))),
            _ => Column::empty(&field.name, &field.kind, n_rows),
        };
        all.columns =
            fields.shown().iter().zip(fields.roles()).map(empty).collect::<Result<_>>()?;
        for (row, values) in rows.enumerate() {
            for (column, value) in all.columns.iter_mut().zip(values.unwrap_or_default()) {
                column.set(row, value);
            }
        }
        Ok(all)
    }

    /// Refuses fields with columns too large for batches of `n_rows`.
    ///
    /// # Errors
    /// `Usage`, with the name of the field.
    pub(crate) fn check(fields: &Fields, n_rows: u32) -> Result<()> {
        for field in fields.shown() {
            if let Kind::Array(one) = &field.kind {
                let shape = std::iter::once(n_rows.into()).chain(one.shape.iter().copied());
                let spec = ArraySpec { shape: shape.collect(), ..one.clone() };
                check_size(&field.name, &spec)?;
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Column> {
        self.iter().find_map(|(known, column)| (known == name).then_some(column))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.fields.names().zip(&self.columns)
    }

    /// Returns the column of a label that is not an integer.
    pub(crate) fn label(&self) -> Option<&Column> {
        self.columns.get(self.fields.label()?.0)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn set_row(&mut self, row: usize, values: Option<&[FieldValue]>) {
        for (number, (column, field)) in
            self.columns.iter_mut().zip(self.fields.shown()).enumerate()
        {
            match values.and_then(|values| values.get(number)) {
                Some(value) => column.set(row, value),
                None => column.clear(row, &field.kind),
            }
        }
    }
}

#[cfg(feature = "gpu")]
impl Column {
    /// Marks a row as one without a sample.
    fn clear(&mut self, row: usize, kind: &Kind) {
        let nothing = match kind {
            Kind::Int => Value::Int(0),
            Kind::Float => Value::Float(0.0),
            Kind::Text => Value::Text(String::new()),
            Kind::Json => Value::Json(Bytes::new()),
            Kind::Bytes => Value::Bytes(Bytes::new()),
            Kind::Images => Value::Images(Vec::new()),
            Kind::Array(spec) => {
                // The size of a row of the column, which is in memory.
                let n_bytes = spec.byte_len().and_then(|len| usize::try_from(len).ok());
                Value::Array(vec![0; n_bytes.unwrap_or_default()].into())
            }
            _ => return,
        };
        self.set(row, &nothing);
    }
}

/// Returns the size of a column of arrays in bytes.
///
/// # Errors
/// `Usage` for too large a column.
fn check_size(name: &str, spec: &ArraySpec) -> Result<usize> {
    let n_bytes = spec.byte_len().filter(|bytes| *bytes <= 1 << 40);
    n_bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| {
        let what = format!("the arrays `{name}` of a batch are too large: {:?}", spec.shape);
        Error::usage("fields", what)
    })
}

fn put<T>(values: &mut [T], at: usize, new: T) {
    if let Some(value) = values.get_mut(at) {
        *value = new;
    }
}
