//! Flags of `fdconvert reproduce`.
use crate::common::Common;
use clap::Args;
use fdconvert_reproduce::Paper;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Paper: 000 loaders, 001 fractals drawn while loading, 002 slow storage,
    /// 003 mixed formats, 004 locality
    #[arg(value_name = "PAPER")]
    pub(crate) paper: Paper,
    /// Less data and fewer rounds: at most ten minutes on two cores
    #[arg(long)]
    pub(crate) quick: bool,
    /// Page to write; its numbers are written next to it as .json [default: paper-PAPER.html]
    #[arg(long, short, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite page and numbers if they exist
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Folder in which data is made, and removed at the end [default: that of the page]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Python with other loaders installed; may be given several times, for loaders that
    /// cannot be installed together [default: python3]
    #[arg(long, value_name = "PYTHON")]
    pub(crate) python: Vec<PathBuf>,
    /// Threads, or worker processes, of every loader [default: one per core]
    #[arg(long, value_name = "N", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Rounds in which the loaders take turns (median) [default: 5, and 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: Option<u32>,
    /// Images to make, instead of as many as the experiment needs
    #[arg(long, value_name = "N")]
    pub(crate) images: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}
