//! `fdconvert unpack`: packing into a folder.
use crate::{
    Outcome, Session,
    args::UnpackArgs,
    listen::Listener,
    summary::{self, Summary},
};
use fdconvert::{Pack, PackOptions, Prepared};
use fdconvert_core::{Error, Result};

/// Bytes are copied: what waits for the writer are views of the source's map.
const BUDGET_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &UnpackArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let listener = Listener { packing: "unpacking", ..Listener::new(session, quiet) };
    let options = PackOptions::default().max_decompressed(args.max_decompressed);
    let options = args.split.iter().fold(options, PackOptions::select_split);
    let pack = Pack::new([&args.dataset], &args.out)
        .options(options)
        .unpacking()
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
