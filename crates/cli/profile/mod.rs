//! `fdconvert profile`: the share of the images to store as BMP on this machine.
pub(crate) mod args;
mod text;

use crate::{Outcome, Session, listen::Listener};
use args::{ProfileArgs, Search};
use fdconvert::{
    ProfileOptions,
    plumbing::{profile_document, threads},
    profile,
};
use fdconvert_core::{Result, Shown};

/// `fdconvert profile`
pub(crate) fn run(args: &ProfileArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let options = ProfileOptions::default()
        .target(args.target.clone())
        .formats(args.formats.clone())
        .threads(args.threads)
        .fetch_threads(args.fetch_threads)
        .cache(args.cache)
        .throttle_read(args.throttle_read)
        .consumer_rate(args.consumer_rate)
        .samples(args.samples)
        .seed(args.seed)
        .verify(args.verify.into())
        .runs(args.runs)
        .seconds(args.seconds)
        .search(args.search.map(|Search::Paper| fdconvert::Search::Paper))
        .output(args.output.clone())
        .report(args.report.clone())
        .overwrite(args.overwrite)
        .command(session.command().to_owned());
    let listener = Listener::new(session, quiet);
    let report = profile(&args.source, &options, listener.context())?;
    if !args.common.quiet {
        let cached = report.read.as_ref().and_then(|read| read.cached_because.as_ref());
        let cached =
            cached.map(|why| format!("read speed is that of memory, not of a disk: {why}"));
        for warning in report.warnings.iter().chain(&cached) {
            session.say(&format!("warning: {}", Shown(warning)));
        }
    }
    if args.common.json {
        session.print_document(&profile_document(&report)?)?;
    } else if !args.common.quiet {
        session.print(&text::report(&report, &options, threads(args.threads)?))?;
    }
    Ok(Outcome::Complete)
}
