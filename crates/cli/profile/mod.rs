//! `fdconvert profile`: which share of the images to store as BMP on this machine.
pub(crate) mod args;
mod blend;
mod machine;
mod measure;
mod text;
mod trial;

use crate::{
    Outcome, Session,
    args::RecipeArgs,
    request,
    sources::{self, Opening},
};
use args::{ProfileArgs, Search, Verify};
use fdconvert_codec::JpegOptions;
use fdconvert_core::{Codec, Error, Limits, Result, Shown, Source};
use fdconvert_profile::{Report, to_html};
use fdconvert_storage::replace;
use measure::{Setup, profile};
use serde_json::Value;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// `fdconvert profile`
pub(crate) fn run(args: &ProfileArgs, session: &Session) -> Result<Outcome> {
    for (option, path) in [("--output", &args.output), ("--report", &args.report)] {
        if let Some(path) = path.as_ref().filter(|path| !args.overwrite && path.exists()) {
            let what = format!("{} exists; replace it with --overwrite", path.display());
            return Err(Error::usage(option, what));
        }
    }
    let quiet = args.common.quiet || args.common.json;
    let recipe =
        RecipeArgs::defaults().map_err(|cause| Error::usage("profile", cause.to_string()))?;
    let how = Opening { args: &recipe, quiet, session, cache: None };
    let source = sources::open(std::slice::from_ref(&args.source), how)?;
    let target = match &args.target {
        Some(target) => existing(target)?,
        None => beside(&args.source),
    };
    let setup = Setup {
        target,
        formats: args.formats.clone(),
        threads: request::threads(args.threads)?,
        queue_depth: args.queue_depth.clamp(1, 1024),
        cache: args.cache,
        throttle: args.throttle_read,
        samples: args.samples,
        seed: args.seed,
        verify: args.verify,
        runs: args.runs,
        time: Duration::from_secs_f64(args.seconds),
        paper_search: args.search == Some(Search::Paper),
        jpeg: JpegOptions::default(),
        limits: Limits::DEFAULT,
    };
    let report = profile(&*source, &setup, quiet, session)?;
    if let Some(path) = &args.output {
        replace(path, &json(&report)?)?;
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
        session.print(&text::report(&report, &setup))?;
    }
    Ok(Outcome::Complete)
}

/// A profile for `pack --ratio auto`: measured on the disk that will hold the dataset, predicted
/// and not tried, so that packing begins after seconds.
pub(crate) fn quick(
    source: &dyn Source,
    args: &RecipeArgs,
    out: Option<&Path>,
    quiet: bool,
    session: &Session,
) -> Result<Report> {
    let encoded = match args.encode.as_deref() {
        Some("png") => Some(Codec::Png),
        Some("jpeg" | "jpg") => Some(Codec::Jpeg),
        _ => None,
    };
    let target = out.map_or_else(current, beside);
    let setup = Setup {
        target,
        formats: encoded.map(|codec| vec![codec, Codec::Bmp]).unwrap_or_default(),
        threads: request::threads(None)?,
        queue_depth: 4,
        cache: 0,
        throttle: None,
        samples: 64,
        seed: args.seed,
        verify: Verify::Off,
        runs: 1,
        time: Duration::from_secs_f64(0.5),
        paper_search: false,
        jpeg: JpegOptions { quality: args.jpeg_quality.unwrap_or(90), ..JpegOptions::default() },
        limits: Limits { max_pixels: args.max_pixels, max_file_bytes: args.max_file_bytes },
    };
    profile(source, &setup, quiet, session)
}

/// A report as `--ratio` reads it.
pub(crate) fn json(report: &Report) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(report)
        .map_err(|cause| Error::io("write", "the profile")(io::Error::other(cause)))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn value(report: &Report) -> Result<Value> {
    serde_json::to_value(report)
        .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))
}

fn existing(target: &Path) -> Result<PathBuf> {
    let found = fs::metadata(target).map_err(Error::io("open", target))?;
    if !found.is_dir() {
        return Err(Error::usage("--target", format!("{} is not a folder", target.display())));
    }
    Ok(target.to_path_buf())
}

/// The nearest folder above a path that there is.
fn beside(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|above| above.is_dir());
    above.map_or_else(current, Path::to_path_buf)
}

fn current() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}
