//! Profiles: which share of the images to store as BMP on this machine.
mod blend;
mod machine;
mod measure;
mod trial;

use crate::{ByteCount, Context, PackOptions, sources::Opening};
use fdconvert_core::{Codec, Error, Limits, Result, Source};
use fdconvert_pipeline::Cancel;
use fdconvert_profile::Report;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    slice,
    time::Duration,
};

/// What is measured, and how long.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// Folder on the disk that training will read from; `None` for the one beside the source. Some
    /// hundred MiB are written there for the measurement, and removed.
    pub target: Option<PathBuf>,
    /// Decoding threads of the loader; `None` for one per core.
    pub threads: Option<usize>,
    /// Reading threads of the loader: requests in flight.
    pub queue_depth: usize,
    /// Memory that will keep a part of the dataset from epoch to epoch.
    pub cache: ByteCount,
    /// Forms to choose from; empty for BMP beside what most of the source is.
    pub formats: Vec<Codec>,
    /// Bytes/s that reading is slowed down to.
    pub throttle_read: Option<u64>,
    /// Images to measure.
    pub samples: u64,
    /// Which images are measured.
    pub seed: u64,
    /// Which ratios are tried with the loader.
    pub verify: Verify,
    /// Runs of the loader at every ratio; the median counts.
    pub runs: u32,
    /// How long a run is.
    pub time: Duration,
    /// The paper's search runs, too: bisection over eleven ratios.
    pub paper_search: bool,
    /// Quality of the JPEGs that are made.
    pub jpeg_quality: u8,
    /// Images of more pixels are refused.
    pub max_pixels: u64,
    /// Larger image files are refused.
    pub max_file_bytes: ByteCount,
    /// The command line, for the report.
    pub command: String,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self {
            target: None,
            threads: None,
            queue_depth: 4,
            cache: ByteCount(0),
            formats: Vec::new(),
            throttle_read: None,
            samples: 256,
            seed: 0,
            verify: Verify::Around,
            runs: 5,
            time: Duration::from_millis(1500),
            paper_search: false,
            jpeg_quality: 90,
            max_pixels: Limits::DEFAULT.max_pixels,
            max_file_bytes: ByteCount(Limits::DEFAULT.max_file_bytes),
            command: String::new(),
        }
    }
}

/// Which ratios are tried with the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// The predicted ratio, its neighbours 0.05 away, and everything encoded.
    Around,
    /// Those and all tenths.
    Sweep,
    /// None: the model is trusted.
    Off,
}

/// Finds the share of the images to store as BMP for the fastest reading on this machine.
///
/// # Errors
/// `Usage` for options that mean nothing; those of the source; `Io`.
pub fn profile(source: impl AsRef<Path>, options: &ProfileOptions) -> Result<Report> {
    let cancel = Cancel::default();
    profile_with(source.as_ref(), options, Context { cancel: &cancel, progress: &() })
}

/// As [`profile`], told how far it is.
///
/// # Errors
/// As for [`profile`]; `Cancelled`.
pub fn profile_with(
    source: &Path,
    options: &ProfileOptions,
    context: Context<'_>,
) -> Result<Report> {
    let pack = PackOptions::default();
    let opening = Opening { options: &pack, context, cache: None };
    let opened = opening.open(slice::from_ref(&source.to_owned()))?;
    measure(&*opened, options, &beside(source), context)
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
        return Err(Error::usage("--target", format!("{} is not a folder", target.display())));
    }
    measure::measure_on(source, options, target, context)
}

/// A report as the option `ratio` reads it.
///
/// # Errors
/// `Io` when it cannot be written as JSON.
pub fn to_json(report: &Report) -> Result<Vec<u8>> {
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
