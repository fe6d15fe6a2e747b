//! Flags of commands that read whole datasets.
use clap::Args;
use fdconvert::ByteCount;
use fdconvert_core::{Error, Limits, Result, SplitChoice};

/// How whole datasets are read, to check or to compare them.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Refuse images of more pixels than this when decoding
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub(crate) max_pixels: u64,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Only these splits [default: all]
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
}

impl ReadingArgs {
    /// Refuses a limit of decoding in a run that decodes only with the flag `with`.
    pub(crate) fn check(&self, decodes: bool, with: &str) -> Result<()> {
        if decodes || self.max_pixels == Limits::DEFAULT.max_pixels {
            return Ok(());
        }
        let what = format!("it goes with {with}: nothing is decoded without");
        Err(Error::usage("--max-pixels", what))
    }
}

/// Returns the splits for a command on whole datasets.
pub(crate) fn splits(named: &[String]) -> SplitChoice {
    if named.is_empty() { SplitChoice::All } else { SplitChoice::named(named) }
}
