//! A contact sheet: many small images of a dataset in one picture.
use crate::{
    ByteCount, Context, Stage,
    document::document,
    options::{from_object, setters},
    sources::opening,
    stats::{check_place, write},
};
use fdconvert_codec::{ContactSheet, Encoder, JpegOptions, Thumbnailer};
use fdconvert_core::{
    Codec, Error, KeyedRandom, Limits, Pixels, Reader, Remark, Result, SplitChoice, option,
};
use fdconvert_pipeline::{Condition, OnError, threads};
use fdconvert_storage::sigbus;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{collections::BTreeSet, path::Path};

/// Stream of the random numbers.
const DRAWN: u64 = 0x5eed_5ee7;
/// Start of every PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Options for a sheet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SheetOptions {
    /// Maximum number of images.
    pub count: u64,
    /// Maximum pixels of the longer side of each image; 8 to 1024.
    pub side: u32,
    /// Number of images in a row; `None` for about as many as there are rows.
    pub columns: Option<u32>,
    /// Seed for a random choice of images; `None` for the first ones.
    pub seed: Option<u64>,
    /// Expression that selects samples, as in packing.
    pub r#where: Option<String>,
    /// Whether to replace an existing file.
    pub overwrite: bool,
    /// Limit on the pixels of a decoded image; larger images are refused.
    pub max_pixels: u64,
    /// Number of worker threads; `None` for one per core. The sheet does not depend on it.
    pub threads: Option<usize>,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl Default for SheetOptions {
    fn default() -> Self {
        Self {
            count: 100,
            side: 128,
            columns: None,
            seed: None,
            r#where: None,
            overwrite: false,
            max_pixels: Limits::DEFAULT.max_pixels,
            threads: None,
            max_decompressed: None,
            split: SplitChoice::All,
        }
    }
}

impl SheetOptions {
    setters! {
        columns: Option<u32>,
        seed: Option<u64>,
        threads: Option<usize>,
        max_decompressed: Option<ByteCount>,
        ;
        count: u64,
        side: u32,
        overwrite: bool,
        max_pixels: u64,
        split: SplitChoice,
    }

    /// Sets [`where`](field@Self::where).
    #[must_use]
    pub fn r#where(mut self, expression: impl Into<Option<String>>) -> Self {
        self.r#where = expression.into();
        self
    }

    /// Parses options from a JSON object with the names of the fields.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(object: Map<String, Json>) -> Result<Self> {
        from_object(object)
    }
}

/// Written sheet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sheet {
    /// Number of rows of images.
    pub rows: u64,
    /// Number of images in a row.
    pub columns: u64,
    /// Number and key of the samples on it, row by row.
    pub samples: Vec<(u64, String)>,
    /// Samples on it that cannot be read or decoded, and are drawn as a cross: number, key, and
    /// reason.
    pub unreadable: Vec<(u64, String, Remark)>,
    /// False if an identical file existed already.
    pub is_new: bool,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Writes a PNG with the first images of the samples of a dataset, each decoded at its displayed
/// size and upright.
///
/// # Errors
/// The errors of [`open`](crate::open); `Usage` for a dataset without images, no sample to show,
/// invalid sizes, and a different existing file; `Io` if it cannot be written; `Cancelled`.
pub fn sheet(
    dataset: &Path,
    out: &Path,
    options: &SheetOptions,
    context: Context<'_>,
) -> Result<Sheet> {
    if !(8..=1024).contains(&options.side) {
        return Err(Error::usage("side", format!("{} is not from 8 to 1024", options.side)));
    }
    check_place("output", Some(out), PNG, options.overwrite)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(option::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let reader = fdconvert_reader::open_with(dataset, &how)?;
    let reader = &*reader;
    if reader.schema().shown_images().is_none() {
        return Err(Error::usage("dataset", "its samples have no images"));
    }
    pool.install(|| {
        let chosen = choose(reader, options, context)?;
        let places = ContactSheet::new(chosen.len() as u64, options.columns, options.side);
        if chosen.is_empty() {
            return Err(Error::usage("dataset", "there is no sample to show"));
        }
        if places.is_too_large() {
            let what = format!(
                "{} images of {} pixels are more than a sheet has room for",
                chosen.len(),
                options.side
            );
            return Err(Error::usage("count", what));
        }
        draw(reader, (&chosen, &places), (out, options), context)
    })
}

/// Returns the samples to show.
fn choose(reader: &dyn Reader, options: &SheetOptions, context: Context<'_>) -> Result<Vec<u64>> {
    let mut all: Option<Vec<u64>> = None;
    if let Some(text) = &options.r#where {
        let indices: Vec<u64> = (0..reader.len()).collect();
        let steps = context.progress.stage(Stage::Choosing);
        steps.total(reader.len());
        let condition = Condition::parse(text, reader)?;
        let step = |n: u64| {
            (0..n).for_each(|_| steps.step());
            !context.cancel.is_cancelled()
        };
        all = Some(condition.filter(&indices, Some(OnError::Skip), &step)?);
    }
    let n_all = all.as_ref().map_or(reader.len(), |all| all.len() as u64);
    let n = options.count.min(n_all);
    let positions: Vec<u64> = match options.seed {
        Some(seed) => drawn(n, n_all, seed),
        None => (0..n).collect(),
    };
    let sample = |position: u64| match &all {
        Some(all) => all.get(usize::try_from(position).ok()?).copied(),
        None => Some(position),
    };
    Ok(positions.into_iter().filter_map(sample).collect())
}

/// Returns `n` different numbers below `n_all`, in order, each choice equally likely (R. W. Floyd).
fn drawn(n: u64, n_all: u64, seed: u64) -> Vec<u64> {
    let mut random = KeyedRandom::new(&[seed, DRAWN]);
    let mut chosen = BTreeSet::new();
    for last in n_all - n..n_all {
        let number = random.below(last + 1);
        if !chosen.insert(number) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

fn draw(
    reader: &dyn Reader,
    (chosen, places): (&[u64], &ContactSheet),
    (out, options): (&Path, &SheetOptions),
    context: Context<'_>,
) -> Result<Sheet> {
    let limits = Limits { max_pixels: options.max_pixels, ..Limits::DEFAULT };
    let steps = context.progress.stage(Stage::Counting);
    steps.total(chosen.len() as u64);
    let _ahead = reader.read_ahead(chosen);
    let tile = |thumbnailer: &mut Thumbnailer, index: &u64| {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let tile = tile(reader, *index, (options.side, &limits), thumbnailer);
        steps.step();
        Ok(tile)
    };
    let made: Result<Vec<Result<Pixels>>> =
        chosen.par_iter().map_init(Thumbnailer::new, tile).collect();
    let made = made?;
    let unreadable = chosen.iter().zip(&made).filter_map(|(index, tile)| {
        let why = tile.as_ref().err()?.remark();
        Some((*index, reader.key(*index), why))
    });
    let unreadable = unreadable.collect();
    let picture = places.lay_out(made.into_iter().map(Result::ok));
    let name = out.display().to_string();
    let png = Encoder::new().encode(&name, &picture, Codec::Png, &JpegOptions::default(), None)?;
    let is_new = write("output", out, &png.bytes, options.overwrite)?;
    Ok(Sheet {
        rows: places.rows(),
        columns: places.columns(),
        samples: chosen.iter().map(|index| (*index, reader.key(*index))).collect(),
        unreadable,
        is_new,
        bytes: png.bytes.len() as u64,
    })
}

impl Sheet {
    /// Returns the contents of the sheet as a document.
    #[must_use]
    pub fn document(&self, dataset: &Path, out: &Path) -> Json {
        let samples = self.samples.iter().map(|(index, key)| json!({"index": index, "key": key}));
        let unreadable = self.unreadable.iter();
        let unreadable =
            unreadable.map(|(index, key, why)| json!({"index": index, "key": key, "error": why}));
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(dataset.display().to_string()));
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("rows".into(), json!(self.rows));
        fields.insert("columns".into(), json!(self.columns));
        fields.insert("samples".into(), samples.collect());
        fields.insert("unreadable".into(), unreadable.collect());
        fields.insert("bytes".into(), json!(self.bytes));
        document("sheet", fields)
    }
}

/// Returns a PNG of the first image of a sample, upright, with a longer side of at most `side`.
///
/// # Errors
/// The errors of reading and decoding the sample.
pub fn thumbnail(reader: &dyn Reader, index: u64, side: u32, limits: &Limits) -> Result<Vec<u8>> {
    let tile = tile(reader, index, (side.max(1), limits), &mut Thumbnailer::new())?;
    let tile = ContactSheet::flattened(tile);
    let key = reader.key(index);
    let png = Encoder::new().encode(&key, &tile, Codec::Png, &JpegOptions::default(), None)?;
    Ok(png.bytes.to_vec())
}

/// Returns the first image of a sample, upright, with a longer side of at most `side`.
fn tile(
    reader: &dyn Reader,
    index: u64,
    (side, limits): (u32, &Limits),
    thumbnailer: &mut Thumbnailer,
) -> Result<Pixels> {
    sigbus::caught(|| {
        let sample = reader.get(index)?;
        let field = reader.schema().shown_images();
        match field.and_then(|field| sample.values.get(field)?.images().first()) {
            Some(image) => thumbnailer.thumbnail(&sample.key, image, limits, side),
            _ => Err(Error::sample(&sample.key, "it has no image")),
        }
    })
}
