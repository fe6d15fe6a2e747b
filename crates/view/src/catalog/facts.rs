//! The facts of a sample in the catalog, collected without decoding.
use crate::fields::{Field, Further};
use fdconvert_core::{
    Amount, Codec, Encoded, Generated, Reader, Result, Sample, Value,
    objects::{Annotations, ObjectClasses},
};
use fdconvert_storage::sigbus;
use std::collections::BTreeSet;

/// Facts of a sample. Unknown ones are 0 or missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) label: Option<i64>,
    pub(crate) codec: Option<Codec>,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bytes: u64,
    /// One for each further field.
    pub(super) further: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Missing,
    Int(i64),
    Float(f64),
    Text(String),
    /// Different texts.
    Texts(BTreeSet<String>),
}

/// Method of collecting facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// From the stored samples, which for most formats reads only their tables.
    Stored,
    /// From names and tables alone: for drawn images, and for large datasets in stores, which would
    /// otherwise be fetched as a whole. Sizes and further fields mostly stay unknown.
    Tables {
        /// True if reading labels needs no separate request.
        labels: bool,
    },
}

/// Total size of images in a store that are fetched to find their sizes.
const AFFORDABLE: u64 = 64 << 20;

impl How {
    pub(crate) fn of(reader: &dyn Reader) -> Self {
        if reader.as_generated().is_some() {
            return Self::Tables { labels: true };
        }
        if !reader.facts().reads_ahead || is_affordable(reader) {
            return Self::Stored;
        }
        let is_known = |field| reader.facts().field(field).is_known;
        let labels = reader.has_checksums() || reader.schema().label().is_some_and(is_known);
        Self::Tables { labels }
    }

    pub(crate) fn facts(self, reader: &dyn Reader, index: u64, fields: &[Field]) -> Result<Facts> {
        match self {
            Self::Stored => sigbus::caught(|| {
                reader.get(index).map(|sample| of_sample(reader, &sample, fields))
            }),
            Self::Tables { labels } => sigbus::caught(|| of_tables(reader, index, labels, fields)),
        }
    }
}

fn is_affordable(reader: &dyn Reader) -> bool {
    let mut bytes = Some(0_u64);
    for index in 0..reader.len() {
        let known = reader.bytes(index, Amount::Known).ok().flatten();
        bytes = bytes.zip(known).map(|(sum, bytes)| sum.saturating_add(bytes));
        if bytes.is_none_or(|sum| sum > AFFORDABLE) {
            return false;
        }
    }
    true
}

fn of_sample(reader: &dyn Reader, sample: &Sample<Encoded>, fields: &[Field]) -> Facts {
    let schema = reader.schema();
    let value = |at: usize| sample.values.get(at);
    let mut facts = Facts::default();
    if let Some(Value::Int(label)) = schema.label().and_then(value) {
        facts.label = Some(*label);
    }
    let shown = schema.shown_images().and_then(value);
    if let Some(image) = shown.and_then(|value| value.images().first()) {
        facts.codec = Some(image.codec);
        (facts.width, facts.height) = (image.width, image.height);
    }
    let images = sample.values.iter().flat_map(Value::images);
    facts.bytes = images.map(|image| image.bytes.len() as u64).sum();
    let cell = |field: &Field| match value(field.position) {
        Some(Value::Int(int)) => Cell::Int(*int),
        Some(Value::Float(float)) => Cell::Float(*float),
        Some(Value::Text(text)) => Cell::Text(text.clone()),
        // As expressions count them.
        Some(Value::Json(json)) if field.kind == Further::NObjects => {
            Annotations::parse(json, false)
                .map_or(Cell::Missing, |it| Cell::Int(it.boxes.len() as i64))
        }
        Some(Value::Json(json)) => Cell::Texts(categories(json)),
        _ => Cell::Missing,
    };
    facts.further = fields.iter().map(cell).collect();
    facts
}

fn of_tables(reader: &dyn Reader, index: u64, labels: bool, fields: &[Field]) -> Result<Facts> {
    let mut facts = Facts {
        label: if labels { reader.label(index)? } else { None },
        codec: reader.codec_hint(index)?,
        bytes: reader.bytes(index, Amount::Known)?.unwrap_or(0),
        ..Facts::default()
    };
    if let Some(drawn) = reader.as_generated().map(Generated::drawn) {
        // They are shown as PNG, though nothing is stored.
        facts.codec = Some(Codec::Png);
        (facts.width, facts.height) = (drawn.side, drawn.side);
    }
    for field in fields {
        let value = match reader.facts().field(field.position).is_known {
            true => reader.value(index, field.position)?,
            false => None,
        };
        facts.further.push(match value {
            Some(Value::Int(int)) => Cell::Int(int),
            Some(Value::Float(float)) => Cell::Float(float),
            Some(Value::Text(text)) => Cell::Text(text),
            _ => Cell::Missing,
        });
    }
    Ok(facts)
}

/// First character of the catalog's text of a category with a name.
pub(crate) const NAMED: char = '=';

/// Returns the categories of the objects in a document: their numbers, or [`NAMED`] and their names.
fn categories(json: &[u8]) -> BTreeSet<String> {
    let Some(Ok(classes)) = ObjectClasses::of(json) else { return BTreeSet::new() };
    let name = |at: usize| classes.names.as_ref()?.get(at)?.as_ref();
    let number = |at: usize| classes.numbers.as_ref()?.get(at).filter(|number| **number != -1);
    let category = |at: usize| match name(at) {
        Some(name) => Some(format!("{NAMED}{name}")),
        None => number(at).map(i64::to_string),
    };
    (0..classes.n_objects).filter_map(category).collect()
}
