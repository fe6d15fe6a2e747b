//! `fdconvert bench`: what the loader makes of a dataset on this machine.
pub(crate) mod args;
mod consumer;
mod lane;
mod plot;
mod text;

use crate::{Outcome, Session, progress::steps};
use args::{BenchArgs, CacheArg, DTypeArg};
use fdconvert::{ByteRate, plumbing::threads};
use fdconvert_core::{Error, Result};
use fdconvert_loader::Access;
use fdconvert_storage::replace;
use lane::Lane;
use serde::Serialize;
use serde_json::{Map, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// What one dataset achieved.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) dataset: String,
    /// The dataset, and how many reads are in flight where that differs.
    #[serde(skip)]
    pub(crate) label: String,
    /// Reading threads; 0 where the decoding threads read.
    pub(crate) fetch_threads: usize,
    /// Images/s of every round, or of every epoch.
    pub(crate) rounds: Vec<f64>,
    /// With `--epochs` each of them.
    pub(crate) epochs: Vec<Round>,
    /// The median of them.
    pub(crate) images_per_s: f64,
    /// Milliseconds of the process's CPU time for an image.
    pub(crate) cpu_ms_per_image: f64,
    /// Images/s that reading alone would allow, `None` when nothing was read.
    pub(crate) loading_per_s: Option<f64>,
    /// Images/s that decoding or drawing, and what follows, would allow.
    pub(crate) decoding_per_s: f64,
    /// Share of the time that the consumer waited.
    pub(crate) stalled: f64,
    pub(crate) bytes_per_image: f64,
    pub(crate) requests_per_image: f64,
    /// Share of the bytes from stores that are between images which were fetched together.
    pub(crate) over_fetched: f64,
    /// Share of the images that came from the cache.
    pub(crate) hits: f64,
    pub(crate) forms: Vec<(String, f64)>,
    pub(crate) verdict: &'static str,
    pub(crate) busy: Busy,
}

/// Shares of the time, 0 to 1: the triangle of Liquid's figure 2 (APSys 2023).
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Busy {
    /// Of the threads that read, `None` when nothing was read.
    pub(crate) disk: Option<f64>,
    /// Of the processors that the decoding threads are for.
    pub(crate) processors: f64,
    pub(crate) consumer: Option<f64>,
}

impl Measured {
    /// Images/s of the slowest and of the fastest round.
    pub(crate) fn range(&self) -> (f64, f64) {
        let least = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.rounds.iter().copied().fold(0.0, f64::max))
    }
}

/// A round of some seconds, or a whole epoch.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Round {
    pub(crate) images: u64,
    pub(crate) seconds: f64,
    /// CPU time of the process, `None` where the system does not tell.
    pub(crate) cpu_seconds: Option<f64>,
}

impl Round {
    pub(crate) fn images_per_s(&self) -> f64 {
        self.images as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// `fdconvert bench`
pub(crate) fn run(args: &BenchArgs, session: &Session) -> Result<Outcome> {
    check(args)?;
    let quiet = args.common.quiet || args.common.json;
    let paths = std::iter::once(&args.dataset).chain(&args.compare);
    let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
    let (mut lanes, access) = lane::open(&paths, args, session)?;
    let progress = steps("reading", quiet, session);
    let n_turns = args.epochs.unwrap_or(args.rounds);
    progress.set_length(u64::from(n_turns) * lanes.len() as u64);
    let time = Duration::from_secs_f64(args.seconds);
    if args.epochs.is_none() {
        for lane in &mut lanes {
            lane.warm_up(session)?;
        }
    }
    for _ in 0..n_turns {
        // Datasets take turns, so that what disturbs the machine disturbs all of them.
        for lane in &mut lanes {
            progress.set_message(lane.name().to_owned());
            match args.epochs {
                Some(_) => lane.epoch(session)?,
                None => lane.round(time, session)?,
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    let measured: Vec<Measured> = lanes.iter().map(Lane::measured).collect();
    if let Some(path) = &args.plot {
        replace(path, plot::svg(&measured).as_bytes())?;
    }
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("datasets".into(), json!(measured));
        fields.insert("threads".into(), json!(threads(args.threads)?));
        fields.insert("batch_size".into(), json!(args.batch_size));
        fields.insert("size".into(), json!(args.size));
        // All of them make their batches alike.
        fields.extend(lanes.first().map(Lane::made).unwrap_or_default());
        fields.insert("direct".into(), json!(access == Access::Direct));
        fields.insert("cache_bytes".into(), json!(args.cache.0));
        fields.insert(
            "throttle_bytes_per_s".into(),
            json!(args.throttle_read.map(ByteRate::bytes_per_s)),
        );
        fields.insert("latency_s".into(), json!(args.latency.0.as_secs_f64()));
        fields.insert("consumer_images_per_s".into(), json!(args.consumer_rate));
        session.print_json("bench", fields)?;
    } else if !args.common.quiet {
        session.print(&text::table(&measured))?;
    }
    Ok(Outcome::Complete)
}

/// Refuses what the loader would refuse too, in the words of the command and before anything is
/// opened.
fn check(args: &BenchArgs) -> Result<()> {
    if args.normalise && args.dtype == DTypeArg::U8 {
        let what = "bytes cannot be normalised; add --dtype f32 or --dtype f16, or leave it out";
        return Err(Error::usage("--normalise", what));
    }
    if args.cache_policy != CacheArg::Resident && args.cache.0 == 0 {
        let what = "it goes with --cache: without, nothing is kept from epoch to epoch";
        return Err(Error::usage("--cache-policy", what));
    }
    Ok(())
}
