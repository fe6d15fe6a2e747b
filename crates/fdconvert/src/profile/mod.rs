//! Profiles: which share of the images to store as BMP on this machine.
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

/// Options for a profile: what is measured, and how long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// Folder on the disk that training will read from; `None` for the one beside the source. Some
    /// hundred MiB are written there for the measurement, and removed.
    pub target: Option<PathBuf>,
    /// Decoding threads of the loader; `None` for one per core.
    pub threads: Option<usize>,
    /// Reading threads of the loader: requests in flight.
    pub fetch_threads: usize,
    /// Cache of the loader: memory that keeps a part of the dataset from epoch to epoch.
    pub cache: ByteCount,
    /// Forms to choose from; empty for BMP beside what most of the source is.
    pub formats: Vec<Codec>,
    /// Bytes/s that reading is slowed down to.
    pub throttle_read: Option<ByteRate>,
    /// Images/s that training takes at most; `None` where it takes all that come.
    pub consumer_rate: Option<f64>,
    /// Number of images to measure.
    pub samples: u64,
    /// Choice of the images that are measured.
    pub seed: u64,
    /// Which ratios are tried with the loader.
    pub verify: Verify,
    /// Runs of the loader per ratio; the median counts.
    pub runs: u32,
    /// Seconds per run, 0.01 to 3600.
    pub seconds: f64,
    /// A search that is done as well.
    pub search: Option<Search>,
    /// Quality of the JPEGs that are made.
    pub jpeg_quality: u8,
    /// Images of more pixels are refused.
    pub max_pixels: u64,
    /// Larger image files are refused.
    pub max_file_bytes: ByteCount,
    /// The command line, for the report.
    pub command: String,
    /// File to write the profile to, for the option `ratio`.
    pub output: Option<PathBuf>,
    /// File to write a page for people to.
    pub report: Option<PathBuf>,
    /// Existing files are replaced.
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

    /// Options from a JSON object: names as here.
    ///
    /// # Errors
    /// `Usage` for unknown names and for values that mean nothing.
    pub fn from_json(object: Map<String, Value>) -> Result<Self> {
        from_object(object)
    }
}

/// Which ratios are tried with the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The predicted ratio, its neighbours 0.05 away, and everything encoded.
    Around,
    /// Those and all tenths.
    Sweep,
    /// None: the model is trusted.
    Off,
}

/// Method by which others search for the ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Search {
    /// Liquid (APSys 2023): bisection over eleven ratios.
    Paper,
}

/// Finds the share of the images to store as BMP for the fastest reading on this machine.
///
/// # Errors
/// `Usage` for options that mean nothing; those of the source; `Io`; `Cancelled`.
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

/// A profile as a document.
///
/// # Errors
/// `Io` when it cannot be written as JSON.
pub fn profile_document(report: &Report) -> Result<Value> {
    match serde_json::to_value(report) {
        Ok(Value::Object(fields)) => Ok(document("profile", fields)),
        Ok(_) => Ok(document("profile", Map::new())),
        Err(cause) => Err(Error::io("write", "the profile")(io::Error::other(cause))),
    }
}

/// Measures on the disk that the options name, or on that of `target`.
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

/// A report as the option `ratio` reads it.
///
/// # Errors
/// `Io` when it cannot be written as JSON.
pub(crate) fn to_json(report: &Report) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(report)
        .map_err(|cause| Error::io("write", "the profile")(io::Error::other(cause)))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The nearest folder above a path that there is.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|above| above.is_dir());
    above.map_or_else(
        || env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        Path::to_path_buf,
    )
}
