//! Two datasets compared, sample by sample.
use crate::{
    ByteCount, Context, Stage,
    document::document,
    options::{from_object, setters},
    sources::opening,
    verify::MAX_PROBLEMS,
};
use fdconvert_core::{Error, Limits, Reader, Result, SplitChoice, option};
use fdconvert_pipeline::{Changed, Comparison, threads};
use fdconvert_storage::sigbus;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{path::Path, time::Instant};

/// Options for comparing two datasets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Whether to compare images by their pixels: those with different bytes are decoded.
    pub pixels: bool,
    /// Limit on the pixels of a decoded image; larger images are refused.
    pub max_pixels: u64,
    /// Number of worker threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl Default for DiffOptions {
    fn default() -> Self {
        let max_pixels = Limits::DEFAULT.max_pixels;
        Self {
            pixels: false,
            max_pixels,
            threads: None,
            max_decompressed: None,
            split: SplitChoice::All,
        }
    }
}

impl DiffOptions {
    setters! {
        threads: Option<usize>,
        max_decompressed: Option<ByteCount>,
        ;
        pixels: bool,
        max_pixels: u64,
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

/// Result of comparing two datasets: common and different samples.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Differences {
    /// Number of samples in each.
    pub samples: [u64; 2],
    /// Number of common samples with equal contents.
    pub same: u64,
    /// Pairs of fields that are compared despite different names.
    pub renamed: Vec<[String; 2]>,
    /// Fields of one dataset alone, which are not compared.
    pub fields_of_one: [Vec<String>; 2],
    /// Common samples that differ, in the order of the first dataset: the first 100,000.
    pub changed: Vec<Changed>,
    /// Number of further ones.
    pub changed_left_out: u64,
    /// Number and key of the samples in one dataset alone.
    pub only: [Vec<(u64, String)>; 2],
    /// Number of common samples at different positions.
    pub moved: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Compares two datasets. Differences are a result, not an error.
///
/// # Errors
/// The errors of opening; `Usage` if no field can be compared; `Cancelled`.
pub fn diff(
    datasets: [&Path; 2],
    options: &DiffOptions,
    context: Context<'_>,
) -> Result<Differences> {
    let began = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(option::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let [a, b] = datasets.map(|path| fdconvert_reader::open_with(path, &how));
    let (a, b) = (a?, b?);
    let mut comparison = Comparison::new(&*a, &*b);
    if options.pixels {
        comparison =
            comparison.pixels(Limits { max_pixels: options.max_pixels, ..Limits::DEFAULT });
    }
    if comparison.has_no_fields() {
        let what = "the two datasets have no field of the same kind that could be compared";
        return Err(Error::usage("dataset", what));
    }
    let matched = pool.install(|| comparison.matched(context.cancel))?;
    let both = matched.both.len() as u64;
    let steps = context.progress.stage(Stage::Comparing);
    steps.total(both);
    let (mut changed, mut changed_left_out) = (Vec::new(), 0);
    let compare = |pair: [u64; 2], decoder: &mut _| {
        let compared = sigbus::caught(|| comparison.compare(pair, decoder));
        steps.step();
        compared
    };
    let found = |_, found: Option<Changed>| match found {
        Some(_) if changed.len() == MAX_PROBLEMS => changed_left_out += 1,
        found => changed.extend(found),
    };
    pool.install(|| comparison.each(&matched.both, context.cancel, compare, found))?;
    let keys_of = |reader: &dyn Reader, only: Vec<u64>| -> Vec<(u64, String)> {
        only.into_iter().map(|index| (index, reader.key(index))).collect()
    };
    Ok(Differences {
        samples: [a.len(), b.len()],
        same: both - changed.len() as u64 - changed_left_out,
        renamed: comparison.renamed(),
        fields_of_one: comparison.fields_of_one().clone(),
        changed,
        changed_left_out,
        moved: matched.both.iter().filter(|[one, other]| one != other).count() as u64,
        only: [keys_of(&*a, matched.only_a), keys_of(&*b, matched.only_b)],
        seconds: began.elapsed().as_secs_f64(),
    })
}

impl Differences {
    /// Returns true if both datasets have the same keys and equal values in every common field. The
    /// order of samples and fields that only one dataset has are ignored.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changed.is_empty() && self.only.iter().all(Vec::is_empty)
    }

    /// Returns the result as the JSON document of `--json`.
    #[must_use]
    pub fn document(&self, datasets: [&Path; 2]) -> Json {
        let only = |side: usize| -> Json {
            let samples = self.only.get(side).into_iter().flatten();
            samples.map(|(index, key)| json!({"index": index, "key": key})).collect()
        };
        let changed = self.changed.iter().map(|sample| {
            let fields = sample.fields.iter().map(|(field, how)| {
                let mut object = how.to_json();
                object.insert("field".into(), json!(field));
                Json::Object(object)
            });
            json!({
                "key": sample.key,
                "indices": sample.indices,
                "fields": fields.collect::<Vec<_>>(),
                "unreadable": sample.unreadable,
            })
        });
        let mut object = Map::new();
        let datasets = datasets.map(|path| path.display().to_string());
        object.insert("datasets".into(), json!(datasets));
        object.insert("samples".into(), json!(self.samples));
        object.insert("same".into(), json!(self.same));
        object.insert("moved".into(), json!(self.moved));
        object.insert("changed".into(), changed.collect());
        object.insert("changed_left_out".into(), json!(self.changed_left_out));
        object.insert("only_in_first".into(), only(0));
        object.insert("only_in_second".into(), only(1));
        object.insert("renamed_fields".into(), json!(self.renamed));
        object.insert("fields_of_one".into(), json!(self.fields_of_one));
        object.insert("seconds".into(), json!(self.seconds));
        document("diff", object)
    }
}
