//! The classes of all samples, for samplings that balance them.
use super::{Datasets, Part, labels::renumbered};
use crate::{classes, order::Classes};
use fdconvert_core::{Error, FieldSpec, Kind, Reader, Result, Value};
use fdconvert_storage::sigbus;
use std::sync::Arc;

/// Samples whose classes are read at once.
const AT_ONCE: u64 = 4096;

impl Datasets {
    /// Returns the classes of all samples by a field of integers, with their numbers in batches. No
    /// image is opened, if the dataset keeps integers apart from images.
    ///
    /// # Errors
    /// `Usage`, with the names of the possible fields, for a dataset that has no such field of
    /// integers, and if the classes of several datasets cannot be numbered together. Otherwise
    /// those of the readers.
    pub(crate) fn classes_of(&self, name: &str, wanted: Option<&Arc<[String]>>) -> Result<Classes> {
        let mut fields = Vec::with_capacity(self.parts.len());
        for Part { reader, .. } in &self.parts {
            let schema = reader.schema();
            let position = schema.position(name);
            let field = position.and_then(|at| Some((at, schema.fields.get(at)?)));
            match field.filter(|(_, field)| field.kind == Kind::Int) {
                Some((position, field)) => fields.push((position, field)),
                None => return Err(no_classes(&**reader, name)),
            }
        }
        let is_label =
            self.parts.iter().zip(&fields).all(|(part, (at, _))| part.label == Some(*at));
        let readers = self.parts.iter().map(|part| &*part.reader);
        let pairs = readers.zip(fields.iter().map(|(_, field)| *field));
        let (_, numbers) = classes::join("sampling", pairs, wanted.filter(|_| is_label))?;
        let parts = self.parts.iter().zip(&fields).zip(&numbers);
        let labels = parts.flat_map(|((part, (field, _)), numbers)| {
            let chunks = (0..part.reader.len()).step_by(AT_ONCE as usize);
            chunks.flat_map(move |start| {
                let end = start.saturating_add(AT_ONCE).min(part.reader.len());
                let label = |index| {
                    let label = part.int(index, *field)?;
                    renumbered(label, numbers, || part.reader.key(index))
                };
                let labels = sigbus::caught(|| (start..end).map(label).collect::<Result<Vec<_>>>());
                match labels {
                    Ok(labels) => labels.into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                }
            })
        });
        Classes::new(labels)
    }
}

impl Part {
    fn int(&self, index: u64, field: usize) -> Result<i64> {
        match self.reader.value(index, field)? {
            Some(Value::Int(value)) => Ok(value),
            _ => Err(Error::sample(self.reader.key(index), "it has no class to balance it by")),
        }
    }
}

/// Returns the error for a field that has no classes, with those that have.
fn no_classes(reader: &dyn Reader, name: &str) -> Error {
    let is_int = |field: &&FieldSpec| field.kind == Kind::Int;
    let fields = reader.schema().fields.iter().filter(is_int);
    let names: Vec<String> = fields.map(|field| format!("`{}`", field.name)).collect();
    let cure = if names.is_empty() {
        "it has no field of integers, so it cannot be balanced".to_owned()
    } else {
        format!("balance it by {}", names.join(" or "))
    };
    let what = format!("{} has no field `{name}` of integers: {cure}", reader.name());
    Error::usage("sampling", what)
}
