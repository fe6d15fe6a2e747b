//! Flags of `fdconvert profile`.
use crate::common::Common;
use clap::{Args, ValueEnum};
use fdconvert::{ByteCount, ByteRate, Verify as Tries};
use fdconvert_core::Codec;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Folder of images, packed dataset or recipe: what will be trained on
    pub(crate) source: PathBuf,
    /// Folder on the disk that training will read from [default: next to SOURCE]
    ///
    /// A few hundred MiB are written there for the measurement, and removed.
    #[arg(long, value_name = "DIR")]
    pub(crate) target: Option<PathBuf>,
    /// Decoding threads of the loader [default: one per core]
    #[arg(long, value_name = "C", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Reading threads of the loader: requests in flight
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) fetch_threads: usize,
    /// Cache of the loader: memory that keeps a part of the dataset from epoch to epoch
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) cache: ByteCount,
    /// Forms to choose from, of png, jpeg, webp (without loss), bmp [default: bmp with png, or with
    /// jpeg where most of SOURCE is JPEG]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = codec)]
    pub(crate) formats: Vec<Codec>,
    /// Simulate a slower disk: limit in bytes per second, e.g. 200MiB/s
    #[arg(long, value_name = "RATE")]
    pub(crate) throttle_read: Option<ByteRate>,
    /// Rate of the training in images/s, e.g. 2500; faster loading gains nothing
    #[arg(long, value_name = "IMAGES/S", value_parser = images_per_s)]
    pub(crate) consumer_rate: Option<f64>,
    /// Number of images to measure
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: u64,
    /// Choice of the images that are measured
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Ratios to try with the loader
    #[arg(long, value_enum, value_name = "WHICH", default_value = "around")]
    pub(crate) verify: Verify,
    /// Runs of the loader per ratio (median)
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Seconds per run
    #[arg(long, value_name = "SECONDS", default_value_t = 1.5, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Also search as the paper does: bisection over eleven ratios
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) search: Option<Search>,
    /// Write the profile for `fdconvert pack --ratio FILE`
    #[arg(long, short, value_name = "FILE.json")]
    pub(crate) output: Option<PathBuf>,
    /// Write an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    /// The predicted ratio, its neighbours 0.05 away, and everything encoded
    Around,
    /// Those and all tenths
    Sweep,
    /// None: trust the model
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Search {
    /// Liquid (APSys 2023)
    Paper,
}

impl From<Verify> for Tries {
    fn from(arg: Verify) -> Self {
        match arg {
            Verify::Around => Self::Around,
            Verify::Sweep => Self::Sweep,
            Verify::Off => Self::Off,
        }
    }
}

fn codec(text: &str) -> Result<Codec, String> {
    match text.trim() {
        "png" => Ok(Codec::Png),
        "jpeg" | "jpg" => Ok(Codec::Jpeg),
        "bmp" => Ok(Codec::Bmp),
        "webp" => Ok(Codec::Webp),
        other => Err(format!("unknown `{other}`; expected one of png, jpeg, webp, bmp")),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` is not a number of seconds from 0.01 to 3600"))
}

pub(crate) fn images_per_s(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("`{text}` is not a number of images a second above 0"))
}
