//! `fdconvert bench`: measures the loader over a dataset on this machine.
pub(crate) mod args;
mod consumer;
mod lane;
mod plot;
mod text;
mod transform;

use crate::{Outcome, Session, progress::steps};
use args::{BenchArgs, CacheArg};
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

/// Results of one dataset.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) dataset: String,
    /// The dataset, and the number of reads in flight if it differs between lanes.
    #[serde(skip)]
    pub(crate) label: String,
    /// Number of reading threads; 0 if the decoding threads read.
    pub(crate) fetch_threads: usize,
    /// Images/s of every round or epoch.
    pub(crate) rounds: Vec<f64>,
    /// Each epoch with `--epochs`.
    pub(crate) epochs: Vec<Round>,
    /// Median of the rounds.
    pub(crate) images_per_s: f64,
    /// CPU time of the process per image.
    pub(crate) cpu_ms_per_image: f64,
    /// Limit of the rate by reading alone; `None` if nothing was read.
    pub(crate) loading_per_s: Option<f64>,
    /// Limit of the rate by decoding or drawing, and the later stages.
    pub(crate) decoding_per_s: f64,
    /// Share of the time that the consumer waited.
    pub(crate) stalled: f64,
    pub(crate) bytes_per_image: f64,
    pub(crate) requests_per_image: f64,
    /// Share of the bytes from stores between images that were fetched together.
    pub(crate) over_fetched: f64,
    /// Share of the images from the cache.
    pub(crate) hits: f64,
    pub(crate) forms: Vec<(String, f64)>,
    pub(crate) verdict: &'static str,
    pub(crate) busy: Busy,
}

/// Shares of the time, 0 to 1: the triangle of Liquid's figure 2 (APSys 2023).
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Busy {
    /// Share of the reading threads; `None` if nothing was read.
    pub(crate) disk: Option<f64>,
    /// Share of the processors for the decoding threads.
    pub(crate) processors: f64,
    pub(crate) consumer: Option<f64>,
}

impl Measured {
    /// Returns the images/s of the slowest and of the fastest round.
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
    /// CPU time of the process; `None` if the system does not report it.
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
    let list = transform::list(args)?;
    let output = list.output()?;
    let quiet = args.common.quiet || args.common.json;
    let paths = std::iter::once(&args.dataset).chain(&args.compare);
    let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
    let (mut lanes, access) = lane::open(&paths, args, &list, session)?;
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
        // Datasets take turns, so that a disturbance of the machine affects all of them.
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
        fields.insert("transform".into(), json!(list));
        let (width, height) = output.size;
        fields.insert("size".into(), json!([height, width]));
        fields.insert("dtype".into(), json!(output.dtype));
        fields.insert("layout".into(), json!(output.layout));
        fields.insert("jpeg_entropy".into(), json!(fdconvert_codec::jpeg_entropy()));
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
        session.print(&(text::table(&measured) + "\n" + &transform::line(&list, &output)))?;
    }
    Ok(Outcome::Complete)
}

/// Refuses options that the loader would refuse, too, with the command's names and before anything
/// is opened.
fn check(args: &BenchArgs) -> Result<()> {
    if args.cache_policy != CacheArg::Resident && args.cache.0 == 0 {
        let what = "it goes with --cache: without, nothing is kept from epoch to epoch";
        return Err(Error::usage("--cache-policy", what));
    }
    Ok(())
}
