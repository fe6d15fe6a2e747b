//! What the samples of a dataset are, in numbers: classes, codecs and sizes.
use crate::{Session, output, progress};
use fdconvert_core::{Error, Reader, Result, Value};
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Samples that are looked at unasked: it takes a second or so.
pub(super) const UNASKED: u64 = 20_000;

/// Samples between two looks at the cancel switch.
const CHUNK: u64 = 4096;

/// Classes that are listed one by one; JSON has all.
const CLASSES_SHOWN: usize = 20;

/// What was counted.
pub(super) struct Stats {
    /// Samples of each class, by name; of numbers without a name, by number.
    classes: BTreeMap<String, u64>,
    codecs: BTreeMap<&'static str, u64>,
    /// Sorted.
    bytes: Vec<u64>,
    widths: Vec<u64>,
    heights: Vec<u64>,
    /// Samples that cannot be read.
    n_unreadable: u64,
}

/// What one sample is.
struct Looked {
    label: Option<i64>,
    /// Codec, bytes, width and height of its first image.
    image: Option<(&'static str, [u64; 3])>,
}

/// Looks at every sample.
pub(super) fn count(reader: &dyn Reader, quiet: bool, session: &Session) -> Result<Stats> {
    let bar = progress::bar("counting", quiet, session);
    bar.set_length(reader.len());
    let schema = reader.schema();
    let (label, image) = (schema.label(), schema.first_image());
    let mut stats = Stats::new();
    let mut labels: BTreeMap<i64, u64> = BTreeMap::new();
    for start in (0..reader.len()).step_by(CHUNK as usize) {
        if session.cancel().is_cancelled() {
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
        bar.inc(end - start);
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
    fn new() -> Self {
        Self {
            classes: BTreeMap::new(),
            codecs: BTreeMap::new(),
            bytes: Vec::new(),
            widths: Vec::new(),
            heights: Vec::new(),
            n_unreadable: 0,
        }
    }

    pub(super) fn to_json(&self) -> Json {
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

    /// Lines for people: a name and what there is to say.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut line = |name: &str, what: String| lines.push((name.to_owned(), what));
        let codecs: Vec<_> =
            self.codecs.iter().map(|(name, n)| format!("{} {name}", output::count(*n))).collect();
        if !codecs.is_empty() {
            line("images", codecs.join(", "));
        }
        if let Some(sizes) = spread(&self.bytes) {
            let [min, median, max] = sizes.map(output::size);
            let total = output::size(self.bytes.iter().sum());
            line("image bytes", format!("{min} to {max}, median {median}, {total} in all"));
        }
        for (name, sizes) in [("width", &self.widths), ("height", &self.heights)] {
            if let Some([min, median, max]) = spread(sizes) {
                line(name, format!("{min} to {max}, median {median}"));
            }
        }
        for (name, n) in self.classes.iter().take(CLASSES_SHOWN) {
            line("class", format!("{name}: {}", output::counted(*n, "sample")));
        }
        if self.classes.len() > CLASSES_SHOWN {
            let more = output::counted((self.classes.len() - CLASSES_SHOWN) as u64, "more class");
            line("", format!("... and {more}; --json lists all"));
        }
        if self.n_unreadable > 0 {
            let n = output::counted(self.n_unreadable, "sample");
            line("unreadable", format!("{n}; `fdconvert verify` tells which and why"));
        }
        lines
    }
}

/// The least, the upper of the middle two, and the most.
fn spread(sorted: &[u64]) -> Option<[u64; 3]> {
    Some([*sorted.first()?, *sorted.get(sorted.len() / 2)?, *sorted.last()?])
}
