//! `fdconvert profile`: which share of the images to store as BMP on this machine.
pub(crate) mod args;
mod text;

use crate::{Outcome, Session, listen::Listener};
use args::{ProfileArgs, Search};
use fdconvert::{ProfileOptions, profile, profile_document, threads};
use fdconvert_core::{Result, Shown};

/// `fdconvert profile`
pub(crate) fn run(args: &ProfileArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let mut options = ProfileOptions::default();
    options.target.clone_from(&args.target);
    options.formats.clone_from(&args.formats);
    options.threads = args.threads;
    options.fetch_threads = args.fetch_threads;
    options.cache = args.cache;
    options.throttle_read = args.throttle_read;
    options.consumer_rate = args.consumer_rate;
    options.samples = args.samples;
    options.seed = args.seed;
    options.verify = args.verify.into();
    options.runs = args.runs;
    options.seconds = args.seconds;
    options.search = args.search.map(|Search::Paper| fdconvert::Search::Paper);
    options.output.clone_from(&args.output);
    options.report.clone_from(&args.report);
    options.overwrite = args.overwrite;
    session.command().clone_into(&mut options.command);
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
