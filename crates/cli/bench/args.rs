//! Flags of `fdconvert bench`.
use crate::{args::Common, profile::args::seconds};
use clap::{Args, ValueEnum};
use fdconvert::{ByteCount, ByteRate, TimeSpan};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Dataset to read as training does, or a recipe for fractals, whose images are drawn
    pub(crate) dataset: PathBuf,
    /// Others to read in turn with it, for a fair comparison
    #[arg(long, value_name = "DATASET", num_args = 1..)]
    pub(crate) compare: Vec<PathBuf>,
    /// Decoding threads [default: one per core]
    #[arg(long, value_name = "C", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Reading threads: requests in flight; 0 lets the decoding threads read. Several numbers, with
    /// commas, are compared
    #[arg(long, value_name = "N", default_value = "4", value_delimiter = ',', alias = "in-flight")]
    pub(crate) queue_depth: Vec<usize>,
    /// How images are read: past the page cache, as a dataset that does not fit into memory is, or
    /// through it [default: direct where all datasets tell where their images lie, else mapped]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) access: Option<AccessArg>,
    /// Memory that keeps a part of the dataset from epoch to epoch
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) cache: ByteCount,
    /// Which part that is
    #[arg(long, value_enum, value_name = "POLICY", default_value = "resident")]
    pub(crate) cache_policy: CacheArg,
    /// Simulate a slower disk: at most so many bytes a second, e.g. 200MiB/s
    #[arg(long, value_name = "RATE")]
    pub(crate) throttle_read: Option<ByteRate>,
    /// Simulate storage that takes its time: wait that long before every read, e.g. 65ms, as S3 does
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    pub(crate) latency: TimeSpan,
    /// Rows of a batch
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// Images become N x N pixels
    #[arg(long, value_name = "N", default_value_t = 224, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) size: u32,
    /// Which part of an image is taken
    #[arg(long, value_enum, value_name = "CROP", default_value = "center")]
    pub(crate) crop: CropArg,
    /// Rounds; every dataset is read in each, the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Seconds of a round, for each dataset
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Draws the order of the samples
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write a picture of the rates: medians with their ranges, in images/s
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessArg {
    /// Past the page cache
    Direct,
    /// Through a memory map
    Mapped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheArg {
    /// The same samples for the whole run
    Resident,
    /// Two regions that change places each epoch, as in Liquid (APSys 2023)
    Liquid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CropArg {
    /// The shorter side becomes 8/7 of the size, then the middle
    Center,
    /// A random part of 8 to 100 % of the image
    Rrc,
    /// Nothing is cut: the whole image becomes N x N pixels
    None,
}
