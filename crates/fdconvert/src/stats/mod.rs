//! Statistics of a dataset's samples: from the index, and with the option `pixels` from the pixels.
mod count;
mod objects;
mod page;
mod pixels;

pub use count::{MetadataCounts, Stats, spread};
pub(crate) use count::{UNASKED, count};
pub use objects::{CategoryCounts, ObjectCounts};
pub use pixels::PixelStats;

use crate::{
    ByteCount, Context,
    document::document,
    duplicates::count_exact,
    options::{from_object, setters},
    sources::opening,
};
use fdconvert_core::{Error, Limits, Result, SplitChoice, option, split_sizes};
use fdconvert_pipeline::threads;
use fdconvert_storage::{place, refuse_unwritable, replace, write_partial};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};

/// Options for counting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct StatsOptions {
    /// Whether to decode every image, for mean and standard deviation of its channels.
    pub pixels: bool,
    /// File for a page with histograms.
    pub html: Option<PathBuf>,
    /// Whether to replace an existing page.
    pub overwrite: bool,
    /// Limit on the pixels of a decoded image; larger images are refused.
    pub max_pixels: u64,
    /// Number of worker threads; `None` for one per core. The results do not depend on it.
    pub threads: Option<usize>,
    /// Limit on the decompressed bytes of compressed shards; `None` for 4 GiB, and 100 times their
    /// size.
    pub max_decompressed: Option<ByteCount>,
    /// Splits to read.
    pub split: SplitChoice,
}

impl Default for StatsOptions {
    fn default() -> Self {
        Self {
            pixels: false,
            html: None,
            overwrite: false,
            max_pixels: Limits::DEFAULT.max_pixels,
            threads: None,
            max_decompressed: None,
            split: SplitChoice::All,
        }
    }
}

impl StatsOptions {
    setters! {
        html: Option<PathBuf>,
        threads: Option<usize>,
        max_decompressed: Option<ByteCount>,
        ;
        pixels: bool,
        overwrite: bool,
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

/// Statistics of a dataset.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DatasetStats {
    /// Number of samples.
    pub samples: u64,
    /// Splits and their numbers of samples; empty without splits.
    pub splits: Vec<(String, u64)>,
    /// Classes, codecs and sizes.
    pub counts: Stats,
    /// Number of samples with the stored image bytes of an earlier one, by their checksums; `None`
    /// if the dataset has no checksums and images were not read.
    pub duplicates: Option<u64>,
    /// Statistics of the channels over all pixels, if requested and there are images.
    pub pixels: Option<PixelStats>,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Computes the statistics of a dataset. Unreadable samples are counted.
///
/// # Errors
/// The errors of [`open`](crate::open); `Usage` if another file exists at the path of the page;
/// `Io` if it cannot be written; `Cancelled`.
pub fn stats(dataset: &Path, options: &StatsOptions, context: Context<'_>) -> Result<DatasetStats> {
    let began = Instant::now();
    check_place("html", options.html.as_deref(), page::START, options.overwrite)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(options.threads)?).build();
    let pool = pool.map_err(|cause| Error::usage(option::THREADS, cause.to_string()))?;
    let how = opening(options.max_decompressed, &options.split);
    let reader = fdconvert_reader::open_with(dataset, &how)?;
    let reader = &*reader;
    let limits = Limits { max_pixels: options.max_pixels, ..Limits::DEFAULT };
    let (counts, duplicates, pixels) = pool.install(|| {
        let counts = count(reader, false, context)?;
        let duplicates = count_exact(reader, options.pixels, context)?;
        let pixels = options.pixels.then(|| pixels::measure(reader, &limits, context));
        Ok::<_, Error>((counts, duplicates, pixels.transpose()?.flatten()))
    })?;
    let found = DatasetStats {
        samples: reader.len(),
        splits: split_sizes(reader.splits()),
        counts,
        duplicates,
        pixels,
        seconds: began.elapsed().as_secs_f64(),
    };
    if let Some(file) = &options.html {
        write("html", file, page::page(dataset, &found).as_bytes(), options.overwrite)?;
    }
    Ok(found)
}

/// Refuses an existing file with a different start than the one to write, before any work.
pub(crate) fn check_place(
    option: &'static str,
    file: Option<&Path>,
    start: &[u8],
    overwrite: bool,
) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    refuse_unwritable(file)?;
    if file.is_dir() {
        return Err(Error::usage(option, format!("{} is a folder; name a file", file.display())));
    }
    let is_another = !overwrite && file.exists() && place::read_start(file, start.len())? != start;
    if is_another { Err(Error::exists(option, file)) } else { Ok(()) }
}

/// Writes a complete file; returns false if an equal command has written it before, byte for byte.
pub(crate) fn write(
    option: &'static str,
    file: &Path,
    bytes: &[u8],
    overwrite: bool,
) -> Result<bool> {
    if overwrite {
        return replace(file, bytes).map(|()| true);
    }
    match place::file_len(file)? {
        None => write_partial(file, bytes)?.commit(file, false).map(|()| true),
        Some(len) if len == bytes.len() as u64 && place::whole(file)? == bytes => Ok(false),
        Some(_) => Err(Error::exists(option, file)),
    }
}

impl DatasetStats {
    /// Returns the statistics as a document.
    #[must_use]
    pub fn document(&self, dataset: &Path) -> Json {
        let mut fields = Map::new();
        fields.insert("dataset".into(), json!(dataset.display().to_string()));
        fields.insert("samples".into(), json!(self.samples));
        let splits = self.splits.iter().map(|(name, n)| json!({"name": name, "samples": n}));
        fields.insert("splits".into(), splits.collect());
        if let Json::Object(mut counts) = self.counts.to_json() {
            // The same names as in the document of `inspect`.
            for name in [
                "classes",
                "codecs",
                "bytes",
                "width",
                "height",
                "objects",
                "over_8_bits",
                "unreadable",
            ] {
                if let Some(value) = counts.shift_remove(name) {
                    fields.insert(name.into(), value);
                }
            }
        }
        let ratios = |sorted: &[f64]| {
            spread(sorted)
                .map(|[min, median, max]| json!({"min": min, "median": median, "max": max}))
        };
        fields.insert("aspect".into(), json!(ratios(&self.counts.aspects)));
        fields.insert("bytes_per_pixel".into(), json!(ratios(&self.counts.densities)));
        fields.insert("duplicates".into(), json!(self.duplicates));
        fields.insert("pixels".into(), json!(self.pixels.map(PixelStats::to_json)));
        fields.insert("seconds".into(), json!(self.seconds));
        document("stats", fields)
    }
}
