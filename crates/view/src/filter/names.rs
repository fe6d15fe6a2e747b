//! The names of expressions, as in `pack --where`, over the columns of the catalog.
use super::Piece;
use crate::{
    catalog::{Cells, Chunk, NO_INT, NO_LABEL, Published},
    dataset::Dataset,
    fields::Field,
};
use fdconvert_core::{Codec, Schema, Value, objects::Annotations};
use fdconvert_pipeline::{Meaning, Scalar, Type};
use fdconvert_storage::sigbus;
use std::sync::Arc;

/// Words with another meaning, in an expression or in a URL of the page.
const WORDS: [&str; 8] =
    ["in", "contains", "starts_with", "ends_with", "at", "set", "from", "damaged"];

/// A property of samples for expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Key,
    Split,
    Index,
    Label,
    /// Number of the label, if its field has another name.
    Class,
    Codec,
    Width,
    Height,
    Bytes,
    /// A further field of the catalog.
    Further(usize),
    /// Number of objects, in the field at this position of the schema.
    NObjects(usize),
    /// The objects in the field at this position.
    Objects(usize),
}

/// Every name with its type, and the columns in the same order.
#[derive(Debug)]
pub(crate) struct Names {
    pub(super) typed: Vec<(String, Type)>,
    pub(super) columns: Vec<Column>,
}

impl Names {
    pub(crate) fn of(schema: &Schema, fields: &[Field]) -> Self {
        let (mut typed, mut columns) = (Vec::new(), Vec::new());
        for (name, kind, meaning) in Meaning::names(schema) {
            let column = match meaning {
                Meaning::Width => Some(Column::Width),
                Meaning::Height => Some(Column::Height),
                Meaning::Bytes => Some(Column::Bytes),
                Meaning::Codec => Some(Column::Codec),
                Meaning::Label => Some(Column::Label),
                Meaning::Key => Some(Column::Key),
                Meaning::Split => Some(Column::Split),
                Meaning::Index => Some(Column::Index),
                Meaning::NObjects(field) => Some(Column::NObjects(field)),
                Meaning::Objects(field) => Some(Column::Objects(field)),
                Meaning::Field(at) if schema.label() == Some(at) => Some(Column::Class),
                Meaning::Field(at) => {
                    let further = fields.iter().position(|field| field.position == at);
                    further.map(Column::Further)
                }
            };
            if let Some(column) = column {
                typed.push((name, kind));
                columns.push(column);
            }
        }
        Self { typed, columns }
    }

    /// Returns the name of a column in expressions; `None` if it cannot be used there.
    pub(crate) fn term(&self, column: Column) -> Option<String> {
        let at = self.columns.iter().position(|other| *other == column)?;
        let (name, _) = self.typed.get(at)?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
        match name {
            _ if name.contains('`') => None,
            _ if is_plain && !name.is_empty() && !WORDS.contains(&name.as_str()) => {
                Some(name.clone())
            }
            _ => Some(format!("`{name}`")),
        }
    }
}

/// Returns a text as an expression.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Column {
    /// Returns true if each value is read from its sample, as the catalog does not have it.
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Key | Self::NObjects(_) | Self::Objects(_))
    }

    /// Returns the value of a sample of a piece; `None` if it is missing or unknown.
    pub(super) fn value(
        self,
        piece: &Piece,
        at: usize,
        dataset: &Dataset,
        published: &Published,
    ) -> Option<Scalar> {
        let text = |text: &str| Some(Scalar::Text(text.to_owned()));
        match self {
            Self::Key => return Some(Scalar::Text(dataset.reader().key(piece.start + at as u64))),
            Self::Index => return i64::try_from(piece.start + at as u64).ok().map(Scalar::Int),
            Self::Split => {
                let (name, _) =
                    dataset.splits().get(split_of(dataset, piece.start + at as u64)?)?;
                return text(name);
            }
            Self::NObjects(field) => {
                let objects = objects(dataset, piece.start + at as u64, field)?;
                return i64::try_from(objects.boxes.len()).ok().map(Scalar::Int);
            }
            Self::Objects(field) => {
                let objects = objects(dataset, piece.start + at as u64, field)?;
                return Some(Scalar::Objects(Arc::new(objects)));
            }
            _ => {}
        }
        let (chunk, at) = (piece.columns.as_deref()?, piece.offset + at);
        // 0 means unknown.
        let size = |column: &[u32]| {
            column.get(at).filter(|size| **size > 0).map(|size| Scalar::Int(i64::from(*size)))
        };
        match self {
            Self::Key | Self::Split | Self::Index | Self::NObjects(_) | Self::Objects(_) => None,
            Self::Label if dataset.has_class_names() => {
                text(dataset.class_name(label(chunk, at)?)?)
            }
            Self::Label | Self::Class => label(chunk, at).map(Scalar::Int),
            Self::Codec => text(Codec::ALL.get(usize::from(*chunk.codecs.get(at)?))?.extension()),
            Self::Width => size(&chunk.widths),
            Self::Height => size(&chunk.heights),
            Self::Bytes => size(&chunk.bytes),
            Self::Further(field) => match chunk.further.get(field)? {
                Cells::Ints(column) => {
                    column.get(at).filter(|int| **int != NO_INT).map(|int| Scalar::Int(*int))
                }
                Cells::Floats(column) => {
                    column.get(at).filter(|it| !it.is_nan()).map(|it| Scalar::Float(*it))
                }
                Cells::Lists { .. } => None,
                Cells::Texts(column) => {
                    let number = usize::try_from(*column.get(at)?).ok()?;
                    text(published.texts(field)?.all().get(number)?)
                }
            },
        }
    }

    /// Returns a number for the value, in columns where few values repeat often.
    pub(super) fn code(self, piece: &Piece, at: usize, dataset: &Dataset) -> Option<i64> {
        if self == Self::Split {
            return split_of(dataset, piece.start + at as u64).map(|at| at as i64);
        }
        let (chunk, at) = (piece.columns.as_deref()?, piece.offset + at);
        match self {
            Self::Label | Self::Class => chunk.labels.get(at).map(|label| i64::from(*label)),
            Self::Codec => chunk.codecs.get(at).map(|codec| i64::from(*codec)),
            Self::Further(field) => match chunk.further.get(field)? {
                Cells::Texts(column) => column.get(at).map(|text| i64::from(*text)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Reads the objects of a sample; `None` if they cannot be read.
fn objects(dataset: &Dataset, index: u64, field: usize) -> Option<Annotations> {
    let value = sigbus::caught(|| dataset.reader().value(index, field)).ok()?;
    let Some(Value::Json(json)) = value else { return None };
    Annotations::parse(&json, false).ok()
}

fn label(chunk: &Chunk, at: usize) -> Option<i64> {
    chunk.labels.get(at).filter(|label| **label != NO_LABEL).map(|label| i64::from(*label))
}

pub(crate) fn split_of(dataset: &Dataset, index: u64) -> Option<usize> {
    dataset.splits().iter().position(|(_, range)| range.contains(&index))
}
