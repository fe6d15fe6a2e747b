//! `fdconvert profile`: which share of the images to store as BMP on this machine.
pub(crate) mod args;
mod text;

use crate::{Outcome, Session, listen::Listener};
use args::{ProfileArgs, Search};
use fdconvert::{ProfileOptions, profile_to_json, profile_with, threads};
use fdconvert_core::{Error, Result, Shown};
use fdconvert_profile::{Report, to_html};
use fdconvert_storage::replace;
use serde_json::Value;
use std::{io, time::Duration};

/// `fdconvert profile`
pub(crate) fn run(args: &ProfileArgs, session: &Session) -> Result<Outcome> {
    for (option, path) in [("--output", &args.output), ("--report", &args.report)] {
        if let Some(path) = path.as_ref().filter(|path| !args.overwrite && path.exists()) {
            let what = format!("{} exists; replace it with --overwrite", path.display());
            return Err(Error::usage(option, what));
        }
    }
    let quiet = args.common.quiet || args.common.json;
    let mut options = ProfileOptions::default();
    options.target.clone_from(&args.target);
    options.formats.clone_from(&args.formats);
    options.threads = args.threads;
    options.queue_depth = args.queue_depth;
    options.cache = args.cache;
    options.throttle_read = args.throttle_read;
    options.samples = args.samples;
    options.seed = args.seed;
    options.verify = args.verify.into();
    options.runs = args.runs;
    options.time = Duration::from_secs_f64(args.seconds);
    options.paper_search = args.search == Some(Search::Paper);
    session.command().clone_into(&mut options.command);
    let listener = Listener::new(session, quiet);
    let report = profile_with(&args.source, &options, listener.context())?;
    if let Some(path) = &args.output {
        replace(path, &profile_to_json(&report)?)?;
    }
    if let Some(path) = &args.report {
        replace(path, to_html(&report).as_bytes())?;
    }
    if !args.common.quiet {
        let cached = report.read.as_ref().and_then(|read| read.cached_because.as_ref());
        let cached =
            cached.map(|why| format!("read speed is that of memory, not of a disk: {why}"));
        for warning in report.warnings.iter().chain(&cached) {
            session.say(&format!("warning: {}", Shown(warning)));
        }
    }
    if args.common.json {
        if let Value::Object(fields) = value(&report)? {
            session.print_json("profile", fields)?;
        }
    } else if !args.common.quiet {
        session.print(&text::report(&report, &options, threads(args.threads)?))?;
    }
    Ok(Outcome::Complete)
}

fn value(report: &Report) -> Result<Value> {
    serde_json::to_value(report)
        .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))
}
