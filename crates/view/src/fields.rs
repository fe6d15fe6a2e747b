//! Columns of the catalog after label, codec and sizes: one for each further number or text.
use fdconvert_core::{Kind, Schema};
use fdconvert_pipeline::field_of_objects;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    Int,
    Float,
    Text,
    /// The categories of the objects.
    Categories,
    /// The number of objects.
    NObjects,
}

/// A field with its own column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Position in the schema.
    pub(crate) position: usize,
    pub(crate) name: String,
    pub(crate) kind: Further,
}

/// Returns the fields with their own columns, in schema order.
pub(crate) fn of(schema: &Schema) -> Vec<Field> {
    let (label, objects) = (schema.label(), field_of_objects(schema));
    let fields = schema.fields.iter().enumerate();
    let fields = fields.filter(|(position, _)| Some(*position) != label);
    let columns = |(position, field): (usize, &fdconvert_core::FieldSpec)| {
        let kinds: &[Further] = match field.kind {
            Kind::Int => &[Further::Int],
            Kind::Float => &[Further::Float],
            Kind::Text => &[Further::Text],
            Kind::Json if objects == Some(position) => &[Further::Categories, Further::NObjects],
            _ => &[],
        };
        let column = |&kind: &Further| Field { position, name: field.name.clone(), kind };
        kinds.iter().map(column).collect::<Vec<_>>()
    };
    fields.flat_map(columns).collect()
}
