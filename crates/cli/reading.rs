//! Flags of commands that read whole datasets.
use clap::Args;
use fdconvert::ByteCount;

/// How whole datasets are read, to check or to compare them.
#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Refuse images of more pixels than this when decoding
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub(crate) max_pixels: u64,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
}
