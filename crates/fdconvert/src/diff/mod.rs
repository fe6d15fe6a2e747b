//! Two datasets compared, sample by sample.
//!
//! Samples are matched by their keys, wherever they stand; those with the same key are matched in
//! their order. Fields are matched by their names, and those that are left by kind and order: what
//! a beton calls `image` is `jpg` in tar shards. Values are compared as they are stored, byte for
//! byte, and labels by the names of their classes where both datasets have them.
mod fields;
mod keys;
mod values;

pub use values::{Difference, PixelDifference};

use crate::{
    ByteCount, Context, Stage,
    chunk::{AHEAD_BYTES, CHUNK},
    document,
    options::from_object,
    pack::threads,
    sources::opening,
    verify::MAX_PROBLEMS,
};
use fdconvert_codec::Decoder;
use fdconvert_core::{Ahead, Class, Error, Limits, Message, Reader, Result, SplitChoice, named};
use fdconvert_pipeline::Cancel;
use fields::FieldPair;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{path::Path, time::Instant};

/// Options for comparing two datasets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Images are the same when they show the same: those whose bytes differ are decoded.
    pub pixels: bool,
    /// Images of more pixels are refused when decoding.
    pub max_pixels: u64,
    /// Worker threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Bytes that compressed shards may take decompressed; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits that are taken.
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
    /// Options from a JSON object: names as here.
    ///
    /// # Errors
    /// `Usage` for unknown names and for values that mean nothing.
    pub fn from_json(object: Map<String, Json>) -> Result<Self> {
        from_object(object)
    }
}

/// A sample that both datasets have, and not with the same content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Changed {
    /// Key of the sample in both.
    pub key: String,
    /// Its number in the one and in the other.
    pub indices: [u64; 2],
    /// Fields that differ, by their name in the first dataset.
    pub fields: Vec<(String, Difference)>,
    /// Why it cannot be compared, where one of the two cannot be read.
    pub unreadable: Option<Message>,
}

/// Result of comparing two datasets: what they have in common, and what not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Differences {
    /// Samples of each.
    pub samples: [u64; 2],
    /// Samples of both with the same content.
    pub same: u64,
    /// Pairs of fields that have other names, and are compared all the same.
    pub renamed: Vec<[String; 2]>,
    /// Fields of one dataset alone, which are not compared.
    pub fields_of_one: [Vec<String>; 2],
    /// Samples of both that differ, in the order of the first dataset: the first 100,000.
    pub changed: Vec<Changed>,
    /// Number of further ones.
    pub changed_left_out: u64,
    /// Number and key of the samples of one dataset alone.
    pub only: [Vec<(u64, String)>; 2],
    /// Samples of both that stand elsewhere.
    pub moved: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Compares two datasets. What differs is a result here, no error.
///
/// # Errors
/// Those of opening; `Usage` where no field can be compared; `Cancelled`.
pub fn diff(
    datasets: [&Path; 2],
    options: &DiffOptions,
    context: Context<'_>,
) -> Result<Differences> {
    let began = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(named::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let [a, b] = datasets.map(|path| fdconvert_reader::open_with(path, &how));
    let (a, b) = (a?, b?);
    let (pairs, fields_of_one) = fields::matched(a.schema(), b.schema());
    if pairs.is_empty() {
        let what = "the two datasets have no field of the same kind that could be compared";
        return Err(Error::usage("dataset", what));
    }
    let matched = pool.install(|| keys::matched(&*a, &*b, context.cancel))?;
    let comparison = Comparison { a: &*a, b: &*b, pairs: &pairs, options, context };
    let (changed, changed_left_out) = pool.install(|| comparison.changed(&matched.both))?;
    let both = matched.both.len() as u64;
    let renamed = pairs.iter().filter(|pair| pair.names[0] != pair.names[1]);
    let keys_of = |reader: &dyn Reader, only: Vec<u64>| -> Vec<(u64, String)> {
        only.into_iter().map(|index| (index, reader.key(index))).collect()
    };
    Ok(Differences {
        samples: [a.len(), b.len()],
        same: both - changed.len() as u64 - changed_left_out,
        renamed: renamed.map(|pair| pair.names.clone()).collect(),
        fields_of_one,
        changed,
        changed_left_out,
        moved: matched.both.iter().filter(|[one, other]| one != other).count() as u64,
        only: [keys_of(&*a, matched.only_a), keys_of(&*b, matched.only_b)],
        seconds: began.elapsed().as_secs_f64(),
    })
}

impl Differences {
    /// Returns whether each dataset has the samples of the other, with the same content in all fields
    /// that both have. Their order, and fields of one alone, make no difference.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changed.is_empty() && self.only.iter().all(Vec::is_empty)
    }

    /// Returns what was found as a document.
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

/// Comparison that threads carry out.
struct Comparison<'a> {
    a: &'a dyn Reader,
    b: &'a dyn Reader,
    pairs: &'a [FieldPair],
    options: &'a DiffOptions,
    context: Context<'a>,
}

impl Comparison<'_> {
    /// The first samples that differ, in the order of `both`, and the number of further ones.
    fn changed(&self, both: &[[u64; 2]]) -> Result<(Vec<Changed>, u64)> {
        let steps = self.context.progress.stage(Stage::Comparing);
        steps.total(both.len() as u64);
        let (mut changed, mut left_out) = (Vec::new(), 0);
        let (mut chunk, mut rest) = self.chunk(both);
        let mut ahead = self.announce(chunk);
        while !chunk.is_empty() {
            // On its way while this one is compared.
            let (next, behind) = self.chunk(rest);
            let announced = self.announce(next);
            if self.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let compare = |decoder: &mut Decoder, &indices: &[u64; 2]| {
                let compared = self.compare(indices, decoder);
                steps.step();
                compared.transpose()
            };
            let found: Result<Vec<Changed>> =
                chunk.par_iter().map_init(Decoder::default, compare).flatten().collect();
            let mut found = found?.into_iter();
            changed.extend(found.by_ref().take(MAX_PROBLEMS - changed.len()));
            left_out += found.count() as u64;
            drop(std::mem::replace(&mut ahead, announced));
            (chunk, rest) = (next, behind);
        }
        Ok((changed, left_out))
    }

    /// The pairs that are compared next, and the others. Of datasets in stores as many as take about
    /// so many bytes as are fetched at a time.
    fn chunk<'b>(&self, both: &'b [[u64; 2]]) -> (&'b [[u64; 2]], &'b [[u64; 2]]) {
        let n_bytes = |reader: &dyn Reader, index: u64| {
            if reader.reads_ahead() { reader.ahead_bytes(index) } else { 0 }
        };
        let mut left = AHEAD_BYTES;
        let fits = |&&[a, b]: &&[u64; 2]| {
            let fits = left > 0;
            left = left.saturating_sub(n_bytes(self.a, a)).saturating_sub(n_bytes(self.b, b));
            fits
        };
        let n_pairs = both.iter().take(CHUNK as usize).take_while(fits).count();
        both.split_at(n_pairs)
    }

    fn announce(&self, chunk: &[[u64; 2]]) -> [Ahead; 2] {
        let announce = |reader: &dyn Reader, side: usize| {
            if !reader.reads_ahead() {
                return Ahead::default();
            }
            let indices: Vec<u64> =
                chunk.iter().filter_map(|indices| indices.get(side).copied()).collect();
            reader.read_ahead(&indices)
        };
        [announce(self.a, 0), announce(self.b, 1)]
    }

    /// One sample of both; nothing where it is the same.
    fn compare(&self, indices: [u64; 2], decoder: &mut Decoder) -> Result<Option<Changed>> {
        let changed = |fields, unreadable| Changed {
            key: self.a.key(indices[0]),
            indices,
            fields,
            unreadable,
        };
        let read = self.a.get(indices[0]).and_then(|a| Ok((a, self.b.get(indices[1])?)));
        let (a, b) = match read {
            Ok(both) => both,
            Err(error) if error.class() == Class::Data => {
                return Ok(Some(changed(Vec::new(), Some(error.message()))));
            }
            Err(error) => return Err(error),
        };
        let mut fields = Vec::new();
        for pair in self.pairs {
            let [Some(one), Some(other)] = [a.values.get(pair.at[0]), b.values.get(pair.at[1])]
            else {
                continue;
            };
            let limits = Limits { max_pixels: self.options.max_pixels, ..Limits::DEFAULT };
            let pixels = self.options.pixels.then_some((&mut *decoder, &limits));
            if let Some(how) = pair.difference(one, other, pixels) {
                fields.push((pair.names[0].clone(), how));
            }
        }
        Ok((!fields.is_empty()).then(|| changed(fields, None)))
    }
}
