//! Profiles: the share of the images to store as BMP on this machine.
mod blend;
mod machine;
mod measure;
mod trial;

pub use machine::measured_on;

use crate::{
    ByteCount, ByteRate, Context, PackOptions,
    document::document,
    options::{from_object, setters},
    sources::Opening,
};
use fdconvert_core::{Codec, Error, Limits, Result, Source, option};
use fdconvert_profile::{Report, to_html};
use fdconvert_storage::replace;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    slice,
};

/// Options for a profile: what to measure, and for how long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// Folder on the disk that training will read from; `None` for the source's parent. Some
    /// hundred MiB are written there for the measurement, and removed.
    pub target: Option<PathBuf>,
    /// Number of decoding threads in the loader; `None` for one per core.
    pub threads: Option<usize>,
    /// Number of reading threads in the loader: requests in flight.
    pub fetch_threads: usize,
    /// Cache of the loader: memory that keeps a part of the dataset from epoch to epoch.
    pub cache: ByteCount,
    /// Forms to choose from; empty for BMP and the form of most of the source.
    pub formats: Vec<Codec>,
    /// Limit on the rate of reading, in bytes/s.
    pub throttle_read: Option<ByteRate>,
    /// Rate of the training in images/s; `None` for no limit.
    pub consumer_rate: Option<f64>,
    /// Number of images to measure.
    pub samples: u64,
    /// Seed of the choice of measured images.
    pub seed: u64,
    /// Ratios to try with the loader.
    pub verify: Verify,
    /// Number of runs of the loader per ratio, of which the median is taken.
    pub runs: u32,
    /// Seconds per run, 0.01 to 3600.
    pub seconds: f64,
    /// Additional search to run.
    pub search: Option<Search>,
    /// Quality of generated JPEGs.
    pub jpeg_quality: u8,
    /// Limit on the pixels of an image; larger images are refused.
    pub max_pixels: u64,
    /// Limit on the size of an image file; larger files are refused.
    pub max_file_bytes: ByteCount,
    /// Command line, for the report.
    pub command: String,
    /// File for the profile, for the option `ratio`.
    pub output: Option<PathBuf>,
    /// File for an HTML report.
    pub report: Option<PathBuf>,
    /// Whether to replace existing files.
    pub overwrite: bool,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self {
            target: None,
            threads: None,
            fetch_threads: 4,
            cache: ByteCount(0),
            formats: Vec::new(),
            throttle_read: None,
            consumer_rate: None,
            samples: 256,
            seed: 0,
            verify: Verify::Around,
            runs: 5,
            seconds: 1.5,
            search: None,
            jpeg_quality: 90,
            max_pixels: Limits::DEFAULT.max_pixels,
            max_file_bytes: ByteCount(Limits::DEFAULT.max_file_bytes),
            command: String::new(),
            output: None,
            report: None,
            overwrite: false,
        }
    }
}

impl ProfileOptions {
    setters! {
        target: Option<PathBuf>,
        threads: Option<usize>,
        throttle_read: Option<ByteRate>,
        consumer_rate: Option<f64>,
        search: Option<Search>,
        output: Option<PathBuf>,
        report: Option<PathBuf>,
        ;
        fetch_threads: usize,
        cache: ByteCount,
        formats: Vec<Codec>,
        samples: u64,
        seed: u64,
        verify: Verify,
        runs: u32,
        seconds: f64,
        jpeg_quality: u8,
        max_pixels: u64,
        max_file_bytes: ByteCount,
        command: String,
        overwrite: bool,
    }

    /// Parses options from a JSON object with the names of the fields.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(object: Map<String, Value>) -> Result<Self> {
        from_object(object)
    }
}

/// Ratios to try with the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The predicted ratio, its neighbours 0.05 away, and everything encoded.
    Around,
    /// The ratios of [`Around`](Self::Around), and all tenths.
    Sweep,
    /// None: the model is trusted.
    Off,
}

/// Published method of searching for the ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Liquid (APSys 2023): bisection over eleven ratios.
    Paper,
}

/// Finds the share of the images to store as BMP for the fastest reading on this machine.
///
/// # Errors
/// `Usage` for invalid options; the errors of the source; `Io`; `Cancelled`.
pub fn profile(source: &Path, options: &ProfileOptions, context: Context<'_>) -> Result<Report> {
    let files = [(option::OUTPUT, &options.output), (option::REPORT, &options.report)];
    for (option, path) in files {
        if let Some(path) = path.as_ref().filter(|path| !options.overwrite && path.exists()) {
            return Err(Error::exists(option, path));
        }
    }
    let pack = PackOptions::default();
    let opening = Opening { options: &pack, context };
    let opened = opening.open(slice::from_ref(&source.to_owned()))?;
    let report = measure(&*opened, options, &beside(source), context)?;
    if let Some(path) = &options.output {
        replace(path, &to_json(&report)?)?;
    }
    if let Some(path) = &options.report {
        replace(path, to_html(&report).as_bytes())?;
    }
    Ok(report)
}

/// Returns a profile as a document.
///
/// # Errors
/// `Io` if it cannot be written as JSON.
pub fn profile_document(report: &Report) -> Result<Value> {
    match serde_json::to_value(report) {
        Ok(Value::Object(fields)) => Ok(document("profile", fields)),
        Ok(_) => Ok(document("profile", Map::new())),
        Err(cause) => Err(Error::io("write", "the profile")(io::Error::other(cause))),
    }
}

/// Measures on the disk in the options, or on that of `target`.
pub(crate) fn measure(
    source: &dyn Source,
    options: &ProfileOptions,
    target: &Path,
    context: Context<'_>,
) -> Result<Report> {
    let target = options.target.as_deref().unwrap_or(target);
    if !fs::metadata(target).map_err(Error::io("open", target))?.is_dir() {
        return Err(Error::usage(option::TARGET, format!("{} is not a folder", target.display())));
    }
    measure::measure_on(source, options, target, context)
}

/// Returns a report in the form that the option `ratio` reads.
///
/// # Errors
/// `Io` if it cannot be written as JSON.
pub(crate) fn to_json(report: &Report) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(report)
        .map_err(|cause| Error::io("write", "the profile")(io::Error::other(cause)))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns the nearest existing folder above a path.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|above| above.is_dir());
    above.map_or_else(
        || env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        Path::to_path_buf,
    )
}
