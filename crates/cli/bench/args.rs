//! Flags of `fdconvert bench`.
use crate::{
    common::Common,
    profile::args::{images_per_s, seconds},
};
use clap::{Args, ValueEnum};
use fdconvert::{ByteCount, ByteRate, plumbing::TimeSpan};
use fdconvert_loader::{DType, Layout};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Dataset to read as training does, or a recipe for fractals, whose images are drawn
    pub(crate) dataset: PathBuf,
    /// Other datasets to compare, read in turn
    #[arg(long, value_name = "DATASET", num_args = 1..)]
    pub(crate) compare: Vec<PathBuf>,
    /// Splits to read, or `all`; needed where there are several
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Decoding threads [default: one per core]
    #[arg(long, value_name = "C", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Reading threads: requests in flight; 0 lets the decoding threads read. Several numbers, with
    /// commas, are compared
    #[arg(long, value_name = "N", default_value = "4", value_delimiter = ',')]
    pub(crate) fetch_threads: Vec<usize>,
    /// How to read images: past the page cache, as datasets larger than memory are read, or
    /// through it [default: direct where all datasets know the places of their images, else mapped]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) access: Option<AccessArg>,
    /// Cache: memory that keeps a part of the dataset from epoch to epoch
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) cache: ByteCount,
    /// Cache policy: the part that is kept
    #[arg(long, value_enum, value_name = "POLICY", default_value = "resident")]
    pub(crate) cache_policy: CacheArg,
    /// Simulate a slower disk: limit in bytes per second, e.g. 200MiB/s
    #[arg(long, value_name = "RATE")]
    pub(crate) throttle_read: Option<ByteRate>,
    /// Simulate slow storage: delay before every read, e.g. 65ms as of S3
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    pub(crate) latency: TimeSpan,
    /// Simulate training at this rate in images/s, e.g. 2500, and report how busy it,
    /// the processors and the disk are
    #[arg(long, value_name = "IMAGES/S", value_parser = images_per_s)]
    pub(crate) consumer_rate: Option<f64>,
    /// Batch size
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_size: u32,
    /// What is done to the images: a file with a JSON list of transforms, by their names in
    /// torchvision.transforms.v2, or rrc:SIDE or center:SIDE
    #[arg(long, value_name = "FILE", default_value = "center:224")]
    pub(crate) transform: String,
    /// Element type of a batch, where the list has no ToDtype [default: f32 if it normalises, else u8]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) dtype: Option<DTypeArg>,
    /// Layout of the images of a batch, where the list has no ToLayout [default: nhwc]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) layout: Option<LayoutArg>,
    /// Read N whole epochs of every dataset, in turn, instead of rounds of some seconds, and print the
    /// time of each: without a warm-up, from the start of the threads to the last batch
    #[arg(long, value_name = "N", conflicts_with_all = ["rounds", "seconds"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) epochs: Option<u32>,
    /// Rounds, each of which reads every dataset (median)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Seconds per round and dataset
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seed of the order of the samples
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write an SVG chart of the rates: medians with their ranges, in images/s
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
pub(crate) enum DTypeArg {
    /// Bytes, as decoded
    U8,
    /// Half precision, 0 to 1
    F16,
    /// Single precision, 0 to 1
    F32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// Channels last
    Nhwc,
    /// Channels first
    Nchw,
}

impl From<DTypeArg> for DType {
    fn from(arg: DTypeArg) -> Self {
        match arg {
            DTypeArg::U8 => Self::U8,
            DTypeArg::F16 => Self::F16,
            DTypeArg::F32 => Self::F32,
        }
    }
}

impl From<LayoutArg> for Layout {
    fn from(arg: LayoutArg) -> Self {
        match arg {
            LayoutArg::Nhwc => Self::Nhwc,
            LayoutArg::Nchw => Self::Nchw,
        }
    }
}
