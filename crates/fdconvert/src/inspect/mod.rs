//! The contents of a dataset, and its provenance.
use crate::{
    ByteCount, Context, Dataset, RootHash,
    document::document,
    open_with,
    options::{from_object, setters},
    root_hash,
    sources::opening,
    stats::{Stats, UNASKED, count},
};
use fdconvert_core::{Encoded, Reader, Remark, Result, Sample, SplitChoice, Value, split_sizes};
use fdconvert_storage::place::left_out;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Options for an inspection.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct InspectOptions {
    /// Number of first samples to list.
    pub samples: u64,
    /// Whether to count classes, codecs and sizes of any number of samples, rather than up to
    /// 20,000; and images with metadata, which requires reading the bytes of all of them.
    pub stats: bool,
    /// Whether to compute the root hash, which requires reading every sample completely.
    pub hash: bool,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl InspectOptions {
    setters! {
        max_decompressed: Option<ByteCount>,
        ;
        samples: u64,
        stats: bool,
        hash: bool,
        split: SplitChoice,
    }

    /// Parses options from a JSON object with the names of the fields.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(object: Map<String, Json>) -> Result<Self> {
        from_object(object)
    }
}

/// Result of an inspection.
#[non_exhaustive]
pub struct Inspected {
    /// The dataset.
    pub dataset: Dataset,
    /// First samples.
    pub first: Vec<Sample<Encoded>>,
    /// Statistics of the samples, if they were counted.
    pub stats: Option<Stats>,
    /// Hash of all contents of the samples, if requested.
    pub root_hash: Option<RootHash>,
    /// Remarks on the interpretation of the dataset and on left-out contents, as in packing.
    pub remarks: Vec<Remark>,
}

/// Inspects a dataset.
///
/// # Errors
/// The errors of [`open`](crate::open); those of the listed or hashed samples; `Cancelled`.
pub fn inspect(path: &Path, options: &InspectOptions, context: Context<'_>) -> Result<Inspected> {
    let how = opening(options.max_decompressed, &options.split);
    let dataset = open_with(path, &how)?;
    let first = (0..options.samples.min(dataset.len())).map(|index| dataset.get(index));
    let first = first.collect::<Result<Vec<_>>>()?;
    let is_counted = options.stats || dataset.len() <= UNASKED;
    let stats = is_counted.then(|| count(&*dataset, options.stats, context)).transpose()?;
    let root_hash = options.hash.then(|| root_hash(&*dataset, context)).transpose()?;
    let mut remarks: Vec<_> = left_out(path).map(Remark::from).into_iter().collect();
    remarks.extend(dataset.remarks());
    Ok(Inspected { dataset, first, stats, root_hash, remarks })
}

impl Inspected {
    /// Returns the splits of the dataset and their numbers of samples.
    #[must_use]
    pub fn splits(&self) -> Vec<(String, u64)> {
        split_sizes(self.dataset.splits())
    }

    /// Returns the result as the JSON document of `--json`.
    #[must_use]
    pub fn document(&self) -> Json {
        let reader = &*self.dataset;
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(reader.len()));
        let splits = self.splits();
        let splits = splits.iter().map(|(name, n)| json!({"name": name, "samples": n}));
        fields.insert("splits".into(), splits.collect());
        fields.insert("schema".into(), json!(reader.schema()));
        fields.insert("sample_checksums".into(), json!(reader.has_checksums()));
        fields.insert("details".into(), Json::Object(reader.details()));
        fields.insert("provenance".into(), json!(reader.provenance()));
        fields.insert("stats".into(), json!(self.stats.as_ref().map(Stats::to_json)));
        let root_hash = self.root_hash.map(|hash| hash.to_string());
        fields.insert("root_hash".into(), json!(root_hash));
        fields.insert("remarks".into(), json!(self.remarks));
        let first: Vec<_> = self.first.iter().map(|sample| sample_json(reader, sample)).collect();
        if !first.is_empty() {
            fields.insert("first".into(), json!(first));
        }
        document("inspect", fields)
    }
}

fn image_json(image: &Encoded) -> Json {
    json!({
        "codec": image.codec,
        "width": image.width,
        "height": image.height,
        "bytes": image.bytes.len(),
    })
}

fn sample_json(reader: &dyn Reader, sample: &Sample<Encoded>) -> Json {
    let mut out = Map::new();
    out.insert("key".into(), json!(sample.key));
    for (field, value) in reader.schema().fields.iter().zip(&sample.values) {
        let shown = match value {
            Value::Image(image) => image_json(image),
            Value::Images(images) => images.iter().map(image_json).collect(),
            Value::Int(int) => json!(int),
            Value::Float(float) => json!(float),
            Value::Text(text) => json!(text),
            Value::Json(text) => serde_json::from_slice(text).unwrap_or(Json::Null),
            Value::Bytes(bytes) | Value::Array(bytes) => json!({"bytes": bytes.len()}),
            _ => Json::Null,
        };
        out.insert(field.name.clone(), shown);
    }
    Json::Object(out)
}
