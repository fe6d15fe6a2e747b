//! What the samples of a dataset are, in numbers: classes, codecs and sizes.
use crate::{Context, Stage};
use fdconvert_core::{Error, Reader, Result, Value};
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Samples that are looked at unasked: it takes a second or so.
pub(super) const UNASKED: u64 = 20_000;

/// Samples between two looks at the cancel switch.
const CHUNK: u64 = 4096;

/// What was counted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Samples of each class, by name; of numbers without a name, by number.
    pub classes: BTreeMap<String, u64>,
    /// Images of each codec, by its extension.
    pub codecs: BTreeMap<&'static str, u64>,
    /// Bytes of the images, sorted.
    pub bytes: Vec<u64>,
    /// Widths of the images, sorted.
    pub widths: Vec<u64>,
    /// Heights of the images, sorted.
    pub heights: Vec<u64>,
    /// Samples that cannot be read.
    pub n_unreadable: u64,
}

/// What one sample is.
struct Looked {
    label: Option<i64>,
    /// Codec, bytes, width and height of its first image.
    image: Option<(&'static str, [u64; 3])>,
}

/// Looks at every sample.
pub(super) fn count(reader: &dyn Reader, context: Context<'_>) -> Result<Stats> {
    let steps = context.progress.stage(Stage::Counting);
    steps.total(reader.len());
    let schema = reader.schema();
    let (label, image) = (schema.label(), schema.first_image());
    let mut stats = Stats::default();
    let mut labels: BTreeMap<i64, u64> = BTreeMap::new();
    for start in (0..reader.len()).step_by(CHUNK as usize) {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let end = reader.len().min(start + CHUNK);
        let look = |index: u64| -> Option<Looked> {
            let sample = reader.get(index).ok()?;
            let label = label.and_then(|field| sample.values.get(field));
            let image = image.and_then(|field| sample.values.get(field));
            Some(Looked {
                label: if let Some(Value::Int(label)) = label { Some(*label) } else { None },
                image: image.and_then(|value| {
                    let Value::Image(image) = value else { return None };
                    let bytes = image.bytes.len() as u64;
                    let sizes = [bytes, image.width.into(), image.height.into()];
                    Some((image.codec.extension(), sizes))
                }),
            })
        };
        let looked: Vec<Option<Looked>> = (start..end).into_par_iter().map(look).collect();
        steps.done(end);
        for looked in looked {
            let Some(looked) = looked else {
                stats.n_unreadable += 1;
                continue;
            };
            if let Some(label) = looked.label {
                *labels.entry(label).or_default() += 1;
            }
            if let Some((codec, [bytes, width, height])) = looked.image {
                *stats.codecs.entry(codec).or_default() += 1;
                stats.bytes.push(bytes);
                stats.widths.push(width);
                stats.heights.push(height);
            }
        }
    }
    for sizes in [&mut stats.bytes, &mut stats.widths, &mut stats.heights] {
        sizes.sort_unstable();
    }
    let names = label.and_then(|field| schema.fields.get(field)?.class_names.clone());
    let name = |label: i64| {
        let name = usize::try_from(label).ok().and_then(|label| names.as_ref()?.get(label));
        name.map_or_else(|| label.to_string(), Clone::clone)
    };
    // Classes without a sample are worth knowing, too.
    stats.classes =
        names.iter().flat_map(|names| names.iter()).map(|name| (name.clone(), 0)).collect();
    for (label, n) in labels {
        *stats.classes.entry(name(label)).or_default() += n;
    }
    Ok(stats)
}

impl Stats {
    /// The numbers as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let spread = |sizes: &[u64]| {
            spread(sizes)
                .map(|[min, median, max]| json!({"min": min, "median": median, "max": max}))
        };
        let mut bytes = spread(&self.bytes).unwrap_or_else(|| json!({}));
        if let Json::Object(bytes) = &mut bytes {
            bytes.insert("total".into(), json!(self.bytes.iter().sum::<u64>()));
        }
        let mut fields = Map::new();
        fields.insert("classes".into(), json!(self.classes));
        fields.insert("codecs".into(), json!(self.codecs));
        fields.insert("bytes".into(), bytes);
        fields.insert("width".into(), json!(spread(&self.widths)));
        fields.insert("height".into(), json!(spread(&self.heights)));
        fields.insert("unreadable".into(), json!(self.n_unreadable));
        Json::Object(fields)
    }
}

/// The least, the upper of the middle two, and the most of sorted sizes.
#[must_use]
pub fn spread(sorted: &[u64]) -> Option<[u64; 3]> {
    Some([*sorted.first()?, *sorted.get(sorted.len() / 2)?, *sorted.last()?])
}
