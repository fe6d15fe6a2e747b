//! `fdconvert unpack`: packing into a folder.
use crate::{
    Outcome, Session,
    choices::OnErrorArg,
    common::Common,
    listen::Listener,
    reading,
    summary::{self, Summary},
};
use clap::Args;
use fdconvert::{ByteCount, Pack, PackOptions, Prepared};
use fdconvert_core::{Error, OptionValues, Result};
use std::path::PathBuf;

/// Bytes are copied: the data that waits for the writer are views of the source's map.
const BUDGET_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct UnpackArgs {
    /// Dataset to unpack
    pub(crate) dataset: PathBuf,
    /// Folder to write; must not exist or be empty
    pub(crate) out: PathBuf,
    /// Only these splits [default: all]
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) split: Vec<String>,
    /// Handling of samples that cannot be read
    #[arg(long, value_enum, default_value = "fail", value_name = "DO")]
    pub(crate) on_error: OnErrorArg,
    /// With --annotations: refuse samples of which something would be lost
    #[arg(long)]
    pub(crate) strict: bool,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", aliases = ["jobs", "num-workers"], short_alias = 'j')]
    pub(crate) threads: Option<usize>,
    /// Limit on the decompressed size of compressed shards [default: 4GiB, and 100 times their size]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) max_decompressed: Option<ByteCount>,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &UnpackArgs, values: &OptionValues, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let listener = Listener { packing: "unpacking", ..Listener::new(session, quiet) };
    let mut options =
        PackOptions::default().max_decompressed(args.max_decompressed).strict(args.strict);
    options.format_options = values.0.clone();
    let pack = Pack::new([&args.dataset], &args.out)
        .options(options)
        .unpacking(reading::splits(&args.split))
        .threads(args.threads)
        .buffer(BUDGET_BYTES)
        .on_error(args.on_error.into());
    let Prepared::Samples(samples) = pack.prepare(listener.context())? else {
        return Err(Error::usage("DATASET", "it is a recipe, and has no samples to unpack"));
    };
    let report = samples.run(listener.context())?;
    let summary = Summary { verb: "unpacked", samples: &samples, report: &report };
    summary::print(&summary, args.common, session)
}
