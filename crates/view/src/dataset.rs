//! A shown dataset: its reader, and what is known about it so far.
use crate::{
    answer::{Answer, Failure},
    catalog::{Catalog, Facts},
    damage::Damage,
    facets::FacetCache,
    filter::{Names, Selections},
    request::Asked,
};
use fdconvert_codec::{Encoder, JpegOptions};
use fdconvert_core::{
    Codec, Encoded, FieldSpec, Image, Kind, Reader, Result, Sample, Schema, Splits, split_names,
};
use fdconvert_pipeline::{Cancel, field_of_objects};
use fdconvert_storage::sigbus;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A dataset to show.
pub struct Opened {
    /// Reader of the dataset.
    pub reader: Arc<dyn Reader>,
    /// Path, URL or recipe it was opened by.
    pub path: String,
    /// Name of its format.
    pub format: String,
}

/// A dataset with everything known about it.
pub(crate) struct Dataset {
    reader: Arc<dyn Reader>,
    path: String,
    format: String,
    splits: Splits,
    pub(crate) names: Names,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) selections: Selections,
    pub(crate) facets: FacetCache,
    pub(crate) damage: Arc<Damage>,
}

impl Dataset {
    pub(crate) fn new(Opened { reader, path, format }: Opened) -> Self {
        let catalog = Arc::new(Catalog::new(&*reader));
        Self {
            splits: reader.splits().to_vec(),
            names: Names::of(reader.schema(), catalog.fields()),
            catalog,
            selections: Selections::default(),
            facets: FacetCache::default(),
            damage: Arc::new(Damage::new(reader.clone())),
            reader,
            path,
            format,
        }
    }

    pub(crate) fn reader(&self) -> &Arc<dyn Reader> {
        &self.reader
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.reader.schema()
    }

    pub(crate) fn len(&self) -> u64 {
        self.reader.len()
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn splits(&self) -> &Splits {
        &self.splits
    }

    /// Starts to collect the catalog.
    pub(crate) fn scan(&self, ended: &Cancel) {
        let (reader, catalog, ended) = (self.reader.clone(), self.catalog.clone(), ended.clone());
        crate::worker::start("catalog", move || catalog.scan(&*reader, &ended));
    }

    /// Returns the requested sample's number.
    pub(crate) fn sample(&self, asked: &Asked) -> Result<u64, Failure> {
        let text = asked.part(1).unwrap_or_default();
        let index = text.parse().ok();
        let index = index.ok_or_else(|| Failure::missing("samples are named by their number"))?;
        self.check(index).map(|()| index)
    }

    /// Refuses samples that do not exist.
    pub(crate) fn check(&self, index: u64) -> Result<(), Failure> {
        if index < self.len() {
            return Ok(());
        }
        Err(Failure::missing(format!("there is no sample {index}, only {}", self.len())))
    }

    /// Returns the requested field, by number or name, or by default the first image field.
    pub(crate) fn field(&self, asked: &Asked) -> Result<(usize, &FieldSpec), Failure> {
        let schema = self.schema();
        let position = match asked.part(2) {
            Some(name) => name.parse().ok().or_else(|| schema.position(name)),
            None => schema.shown_images(),
        };
        let field = position.and_then(|at| Some((at, schema.fields.get(at)?)));
        field.ok_or_else(|| Failure::missing("there is no such field"))
    }

    /// Returns the facts of a sample, from the catalog or else from the sample itself.
    pub(crate) fn facts(&self, index: u64) -> Result<Facts> {
        self.catalog.facts(index).map_or_else(|| self.catalog.look(&*self.reader, index), Ok)
    }

    /// Returns a sample after comparing its bytes with recorded checksums. Drawn images are encoded
    /// as PNG.
    pub(crate) fn checked_sample(&self, index: u64) -> Result<Sample<Encoded>> {
        let sample = sigbus::caught(|| self.reader.read(index))?;
        let key = sample.key.clone();
        let mut encoder = Encoder::new();
        let options = JpegOptions::default();
        sample.try_map_image(|image| match image {
            Image::Encoded(encoded) => Ok(encoded),
            Image::Pixels(pixels) => encoder.encode(&key, &pixels, Codec::Png, &options, None),
            Image::Bilevel(bilevel) => encoder.encode_bilevel(&key, &bilevel, Codec::Png, &options),
        })
    }

    /// Returns a sample as stored, for describing it: without comparing checksums, or drawing it
    /// again.
    pub(crate) fn stored_sample(&self, index: u64) -> Result<Sample<Encoded>> {
        if self.reader.as_generated().is_some() {
            return self.checked_sample(index);
        }
        sigbus::caught(|| self.reader.get(index))
    }

    fn class_names(&self) -> Option<&[String]> {
        let label = self.schema().fields.get(self.schema().label()?)?;
        label.class_names.as_deref()
    }

    pub(crate) fn has_class_names(&self) -> bool {
        self.class_names().is_some()
    }

    pub(crate) fn class_name(&self, class: i64) -> Option<&str> {
        self.class_names()?.get(usize::try_from(class).ok()?).map(String::as_str)
    }

    fn document(&self) -> Json {
        let reader = &*self.reader;
        let n_samples = |name: &str| -> u64 {
            let ranges = self.splits.iter().filter(|(other, _)| other == name);
            ranges.map(|(_, range)| range.end.saturating_sub(range.start)).sum()
        };
        let splits: Vec<Json> = split_names(&self.splits)
            .into_iter()
            .map(|name| json!({"name": name, "samples": n_samples(name)}))
            .collect();
        let schema: Vec<Json> = self.schema().fields.iter().map(field_document).collect();
        json!({
            "name": reader.name(),
            "path": self.path,
            "samples": self.len(),
            "format": self.format,
            "schema": schema,
            "splits": splits,
            "details": reader.details(),
            "provenance": reader.provenance(),
            "checksums": reader.has_checksums(),
            "image": self.schema().shown_images(),
            "label": self.schema().label(),
            "objects": field_of_objects(self.schema()),
        })
    }
}

fn field_document(field: &FieldSpec) -> Json {
    let mut document = json!({
        "name": field.name,
        "kind": field.kind.name(),
        "classes": field.class_names.as_deref(),
        "categories": field.categories.as_deref(),
    });
    if let (Kind::Array(spec), Some(document)) = (&field.kind, document.as_object_mut()) {
        document.insert("dtype".into(), json!(spec.dtype.name()));
        document.insert("shape".into(), json!(spec.shape));
    }
    document
}

/// `api/dataset`.
pub(crate) fn answer(dataset: &Dataset, second: Option<&Arc<Dataset>>) -> Result<Answer, Failure> {
    let mut document = dataset.document();
    let second = second.map(|second| {
        json!({"name": second.reader.name(), "path": second.path, "samples": second.len()})
    });
    if let Some(document) = document.as_object_mut() {
        document.insert("second".into(), json!(second));
        document.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    }
    Ok(Answer::json(&document))
}
