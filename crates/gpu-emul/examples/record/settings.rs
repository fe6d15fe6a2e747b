use std::path::PathBuf;

/// Compares and times the decoding of JPEGs on a GPU.
#[derive(Debug, Clone, clap::Parser)]
pub(crate) struct Settings {
    /// A folder of JPEGs; without it, photographs of the repository in two sizes and qualities
    pub(crate) folder: Option<PathBuf>,
    /// Also write the record to this file
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// End after this many seconds
    #[arg(long, default_value_t = 480)]
    pub(crate) seconds: u64,
    /// The GPU, by its number from 0
    #[arg(long, default_value_t = 0)]
    pub(crate) device: u32,
    /// A library to load as the driver, instead of the one that is installed
    #[arg(long)]
    pub(crate) driver: Option<PathBuf>,
    /// A library to load as nvJPEG, instead of the one that is installed
    #[arg(long)]
    pub(crate) nvjpeg: Option<PathBuf>,
    /// Different images in every set
    #[arg(long, default_value_t = 256)]
    pub(crate) images: usize,
    /// The longer side of the images that are made
    #[arg(long, value_delimiter = ',', default_values_t = [224, 500])]
    pub(crate) sides: Vec<u32>,
    /// Images of a batch
    #[arg(long, value_delimiter = ',', default_values_t = [64, 256, 1024])]
    pub(crate) batches: Vec<usize>,
    /// Points of a fractal
    #[arg(long, default_value_t = 100_000)]
    pub(crate) points: u32,
    /// Rounds over all cases
    #[arg(long, default_value_t = 7)]
    pub(crate) rounds: usize,
    /// Batches of every case before the first round
    #[arg(long, default_value_t = 20)]
    pub(crate) warm_up: usize,
}
