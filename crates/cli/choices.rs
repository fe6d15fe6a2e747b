//! Options with a fixed choice of values.
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SubsamplingArg {
    /// Half the columns and rows of colour
    #[value(name = "420")]
    S420,
    /// Half the columns
    #[value(name = "422")]
    S422,
    /// All of it
    #[value(name = "444")]
    S444,
    /// The source's, 4:2:0 where it has none
    Keep,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ByArg {
    /// Drawn by --seed and name
    Random,
    /// Those that save the most decoding time for every byte more
    Benefit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FilterArg {
    /// Mean over the covered area
    Area,
    /// Sharpest
    Lanczos3,
    /// Fast, with antialiasing
    Bilinear,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CheckArg {
    /// Headers, tables and places of the pixels: at no cost
    Header,
    /// All pixels are decoded: an image that cannot be is broken
    Pixels,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OnErrorArg {
    /// Stop and leave nothing behind
    Fail,
    /// Skip the sample, list it, exit with status 1
    Skip,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EngineArg {
    /// Parts as tasks of a Ray cluster, by the Python package
    Ray,
}
