//! Writes `metadata.jsonl`, as the imagefolder of Hugging Face `datasets` reads it: beside the
//! images of each split, with a line for each.
use crate::folder::{
    annotations::writing::{Labelled, Layout, Loss, Losses, of_mask},
    output::{LongFile, Output},
};
use fdconvert_core::{
    Error, FieldSpec, Kind, Result, Schema, StoredRunLengths, Value,
    objects::{FIELD, number, numbers},
};
use serde_json::{Value as Json, value::RawValue};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// The tables by split.
#[derive(Default)]
pub(in crate::folder) struct JsonlWriter(BTreeMap<Option<String>, LongFile>);

/// The value of a field as JSON; `None` for bytes and arrays, which have no place in a line.
fn json<I>(field: &FieldSpec, value: &Value<I>) -> Option<String> {
    let text = |text: &str| serde_json::to_string(text).ok();
    match value {
        Value::Int(int) => {
            let at = usize::try_from(*int).ok();
            let name = at.and_then(|at| field.class_names.as_ref()?.get(at));
            name.map_or_else(|| Some(int.to_string()), |name| text(name))
        }
        Value::Float(float) if float.is_finite() => Some(Json::from(*float).to_string()),
        Value::Float(_) => Some("null".to_owned()),
        Value::Text(string) => text(string),
        // On one line, whatever its spaces.
        Value::Json(json) => Some(serde_json::from_slice::<Json>(json).ok()?.to_string()),
        _ => None,
    }
}

/// The objects of a sample as lists. Run lengths become polygons, because a column has one type.
fn objects(sample: &Labelled<'_>, losses: &mut Losses) -> Result<String, String> {
    let mut text = String::from("{");
    if let Some(size) = sample.size {
        // Writing to a string cannot fail.
        let _ = write!(text, "\"size\":[{},{}]", number(size[0]), number(size[1]));
    }
    for (key, entries) in sample.objects.iter().flat_map(|objects| objects.iter()) {
        let comma = if text.len() > 1 { "," } else { "" };
        let key_text = serde_json::to_string(key).unwrap_or_default();
        let _ = write!(text, "{comma}{key_text}:[");
        for (at, entry) in entries.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let entry = entry.map_or("null", RawValue::get);
            if key == "segmentation" && entry.starts_with('{') {
                let _ = write!(text, "{comma}{}", traced(entry, losses)?);
            } else {
                let _ = write!(text, "{comma}{entry}");
            }
        }
        text.push(']');
    }
    text.push('}');
    // Documents of other programs may have line breaks between their entries.
    if text.contains(['\n', '\r']) {
        let parsed: Json = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        return Ok(parsed.to_string());
    }
    Ok(text)
}

/// Polygons around the pixels of run lengths.
fn traced(entry: &str, losses: &mut Losses) -> Result<String, String> {
    let stored: StoredRunLengths = serde_json::from_str(entry).map_err(|it| it.to_string())?;
    let Some((polygons, n_holes)) = of_mask(&stored.decode()?) else {
        losses.add(Loss::Masks);
        return Ok("[]".to_owned());
    };
    losses.add(Loss::TracedMasks);
    losses.add_n(Loss::Holes, n_holes);
    let polygons = polygons.iter().map(|polygon| numbers(polygon.as_flattened()));
    Ok(format!("[{}]", polygons.collect::<Vec<_>>().join(",")))
}

impl Layout for JsonlWriter {
    fn image_folder(&self, split: Option<&str>) -> String {
        split.map_or_else(String::new, |split| format!("{split}/"))
    }

    fn holds(&self, schema: &Schema, field: usize) -> bool {
        let kind = schema.fields.get(field).map(|field| &field.kind);
        matches!(kind, Some(Kind::Int | Kind::Float | Kind::Text | Kind::Json))
    }

    fn write(
        &mut self,
        sample: &Labelled<'_>,
        losses: &mut Losses,
        output: &mut Output,
        check: &mut dyn FnMut(&Losses) -> Result<()>,
    ) -> Result<()> {
        let of_sample = |what: String| Error::sample(sample.key(), what);
        let mut members = BTreeSet::new();
        let mut line = String::from("{\"file_name\":");
        line.push_str(&serde_json::to_string(sample.name).unwrap_or_default());
        for (field, value) in sample.schema.fields.iter().zip(&sample.sample.values) {
            let value = match value {
                Value::Json(_) if field.name == FIELD && sample.objects.is_some() => {
                    Some(objects(sample, losses).map_err(of_sample)?)
                }
                value => json(field, value),
            };
            if let Some(value) = value.filter(|_| members.insert(&field.name)) {
                let name = serde_json::to_string(&field.name).unwrap_or_default();
                let _ = write!(line, ",{name}:{value}");
            }
        }
        // A column of this name is one more image for `datasets`.
        for (field, path) in sample.others {
            let Some(field) = sample.schema.fields.get(*field) else { continue };
            let name = serde_json::to_string(&format!("{}_file_name", field.name));
            let up = if sample.split.is_some() { "../" } else { "" };
            let path = serde_json::to_string(&format!("{up}{path}"));
            let _ = write!(line, ",{}:{}", name.unwrap_or_default(), path.unwrap_or_default());
        }
        line.push_str("}\n");
        check(losses)?;
        let split = sample.split.map(str::to_owned);
        let table = match self.0.get_mut(&split) {
            Some(table) => table,
            None => {
                let path = self.image_folder(sample.split) + "metadata.jsonl";
                let table = output.long_file(&path)?;
                self.0.entry(split).or_insert(table)
            }
        };
        table.push(line.as_bytes())
    }

    fn finish(&mut self, output: &mut Output) -> Result<()> {
        std::mem::take(&mut self.0).into_values().try_for_each(|it| output.complete(it))
    }
}
