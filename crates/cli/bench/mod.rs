//! `fdconvert bench`: what the loader makes of a dataset on this machine.
pub(crate) mod args;
mod plot;
mod text;

use crate::{Outcome, Session, progress::steps};
use args::{AccessArg, BenchArgs, CacheArg, CropArg};
use fdconvert::{ByteRate, threads};
use fdconvert_core::{Codec, Error, Result, Shown};
use fdconvert_fractal::Recipe;
use fdconvert_loader::{
    Access, CachePolicy, Crop, Datasets, Label, Loader, Options, Output, Stats, research::LIQUID,
};
use fdconvert_storage::{Throttle, replace};
use serde::Serialize;
use serde_json::{Map, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// What one dataset achieved.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) dataset: String,
    /// The dataset, and how many reads are in flight where that differs.
    #[serde(skip)]
    pub(crate) label: String,
    /// Reading threads; 0 where the decoding threads read.
    pub(crate) queue_depth: usize,
    /// Images/s of every round.
    pub(crate) rounds: Vec<f64>,
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
    /// Bytes read from storage for an image.
    pub(crate) bytes_per_image: f64,
    /// Requests to stores for an image.
    pub(crate) requests_per_image: f64,
    /// Share of the bytes from stores that lie between images which were fetched together.
    pub(crate) over_fetched: f64,
    /// Share of the images that came from the cache.
    pub(crate) hits: f64,
    /// Share of the images of each stored form.
    pub(crate) forms: Vec<(String, f64)>,
    /// What bounds the rate.
    pub(crate) verdict: &'static str,
}

impl Measured {
    /// Images/s of the slowest and of the fastest round.
    pub(crate) fn range(&self) -> (f64, f64) {
        let least = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.rounds.iter().copied().fold(0.0, f64::max))
    }
}

/// A dataset with its loader, and what the rounds gave so far.
struct Lane {
    name: String,
    /// What it is called in the table.
    label: String,
    loader: Loader,
    rounds: Vec<f64>,
    cpu: Duration,
    images: u64,
    /// Those of each round.
    stats: Vec<Stats>,
}

/// `fdconvert bench`
pub(crate) fn run(args: &BenchArgs, session: &Session) -> Result<Outcome> {
    let quiet = args.common.quiet || args.common.json;
    let paths = std::iter::once(&args.dataset).chain(&args.compare);
    let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
    let (mut lanes, access) = lanes(&paths, args, session)?;
    let progress = steps("reading", quiet, session);
    progress.set_length(u64::from(args.rounds) * lanes.len() as u64);
    let time = Duration::from_secs_f64(args.seconds);
    for lane in &mut lanes {
        lane.warm_up(session)?;
    }
    for _ in 0..args.rounds {
        // Datasets take turns, so that what disturbs the machine disturbs all of them.
        for lane in &mut lanes {
            progress.set_message(lane.name.clone());
            lane.round(time, session)?;
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
        fields.insert("batch".into(), json!(args.batch));
        fields.insert("size".into(), json!(args.size));
        fields.insert("direct".into(), json!(access == Access::Direct));
        fields.insert("cache_bytes".into(), json!(args.cache.0));
        fields.insert(
            "throttle_bytes_per_s".into(),
            json!(args.throttle_read.map(ByteRate::bytes_per_s)),
        );
        fields.insert("latency_s".into(), json!(args.latency.0.as_secs_f64()));
        session.print_json("bench", fields)?;
    } else if !args.common.quiet {
        session.print(&text::table(&measured))?;
    }
    Ok(Outcome::Complete)
}

/// The datasets, all read in the same way: past the page cache where nothing else was asked for and
/// each of them tells where its images lie.
fn lanes(paths: &[&Path], args: &BenchArgs, session: &Session) -> Result<(Vec<Lane>, Access)> {
    // Once: a recipe may have to search for its categories.
    let opened = paths.iter().map(|path| Ok((*path, Datasets::open(path)?)));
    let opened: Vec<(&Path, Datasets)> = opened.collect::<Result<_>>()?;
    let open = |access: Access| -> Result<Vec<Lane>> {
        let depths = &args.queue_depth;
        let lanes =
            opened.iter().flat_map(|opened| depths.iter().map(move |&depth| (opened, depth)));
        lanes.map(|(opened, depth)| Lane::new(opened, depth, args, access)).collect()
    };
    match args.access {
        Some(AccessArg::Direct) => Ok((open(Access::Direct)?, Access::Direct)),
        Some(AccessArg::Mapped) => Ok((open(Access::Mapped)?, Access::Mapped)),
        None => match open(Access::Direct) {
            Ok(lanes) => Ok((lanes, Access::Direct)),
            // Folders and MDS.
            Err(Error::Usage { option, .. }) if option.name() == "access" => {
                let lanes = open(Access::Mapped)?;
                if !args.common.quiet && !args.common.json {
                    let which = if paths.len() > 1 { "a dataset" } else { "it" };
                    session.say(&format!(
                        "note: reading through the page cache, because {which} does not tell where \
                         its images lie; from the second round on that is the speed of memory"
                    ));
                }
                Ok((lanes, Access::Mapped))
            }
            Err(error) => Err(error),
        },
    }
}

fn options(args: &BenchArgs, queue_depth: usize, access: Access) -> Result<Options> {
    let size = args.size;
    Ok(Options {
        batch: args.batch,
        seed: args.seed,
        label: Label::None,
        output: Output { size: (size, size), ..Options::default().output },
        crop: match args.crop {
            CropArg::Center => Crop::Center { resize: size.saturating_mul(8) / 7 },
            CropArg::None => Crop::None,
            CropArg::Rrc => Crop::Random { scale: (0.08, 1.0), ratio: (0.75, 4.0 / 3.0) },
        },
        threads: threads(args.threads)?,
        fetch_threads: queue_depth,
        latency: args.latency.0,
        access,
        cache_bytes: args.cache.0,
        cache_policy: match args.cache_policy {
            CacheArg::Resident => CachePolicy::RESIDENT,
            CacheArg::Liquid => LIQUID,
        },
        throttle: args
            .throttle_read
            .and_then(|rate| Throttle::new(rate.bytes_per_s() as f64))
            .map(Arc::new),
        ..Options::default()
    })
}

impl Lane {
    fn new(
        (path, datasets): &(&Path, Datasets),
        depth: usize,
        args: &BenchArgs,
        access: Access,
    ) -> Result<Self> {
        let loader = Loader::new(datasets.clone(), options(args, depth, access)?)?;
        let name = name(path);
        let label = match args.queue_depth.len() {
            1 => name.clone(),
            _ => format!("{name}, {depth} in flight"),
        };
        let cpu = Duration::ZERO;
        Ok(Self { name, label, loader, rounds: Vec::new(), cpu, images: 0, stats: Vec::new() })
    }

    /// The next batch, in whichever epoch.
    fn next(&mut self, session: &Session) -> Result<u64> {
        if session.cancel().is_cancelled() {
            return Err(Error::Cancelled);
        }
        self.loader.next_batch().map_or(Ok(0), |batch| Ok(batch?.len() as u64))
    }

    /// With a cache, an epoch that fills it; else what is made ahead.
    fn warm_up(&mut self, session: &Session) -> Result<()> {
        let options = self.loader.options();
        let batches = match options.cache_bytes {
            0 => options.prefetch as u64 + 1,
            _ => self.loader.len(),
        };
        for _ in 0..batches {
            self.next(session)?;
        }
        Ok(())
    }

    fn round(&mut self, time: Duration, session: &Session) -> Result<()> {
        // Batches that were made while others had their turn.
        for _ in 0..=self.loader.options().prefetch {
            self.next(session)?;
        }
        self.loader.reset_stats();
        let (began, cpu) = (Instant::now(), cpu_time::ProcessTime::try_now());
        let mut images = 0;
        while began.elapsed() < time {
            images += self.next(session)?;
        }
        let elapsed = began.elapsed();
        if let Ok(cpu) = cpu.and_then(|cpu| cpu.try_elapsed()) {
            self.cpu += cpu;
        }
        self.images += images;
        self.rounds.push(images as f64 / elapsed.as_secs_f64());
        self.stats.push(self.loader.stats());
        // Threads of this dataset are to be idle while the next one has its turn.
        self.loader.stop();
        Ok(())
    }

    fn measured(&self) -> Measured {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let images_per_s = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let sum = |of: &dyn Fn(&Stats) -> f64| self.stats.iter().map(of).sum::<f64>();
        let samples = sum(&|stats| stats.samples as f64).max(1.0);
        let fetch = sum(&|stats| stats.fetch.as_secs_f64());
        let work = sum(&|stats| stats.work().as_secs_f64());
        let elapsed = sum(&|stats| stats.elapsed.as_secs_f64()).max(f64::MIN_POSITIVE);
        let drawn = sum(&|stats| (stats.hits + stats.reads) as f64).max(1.0);
        let last = self.stats.last();
        let threads = last.map_or(1, |stats| stats.threads);
        // Threads that read are as many as are asked for, or those that decode.
        let depth = self.loader.options().fetch_threads;
        let readers = if depth > 0 { depth } else { threads };
        Measured {
            dataset: self.name.clone(),
            label: self.label.clone(),
            queue_depth: self.loader.options().fetch_threads,
            rounds: self.rounds.clone(),
            images_per_s,
            cpu_ms_per_image: self.cpu.as_secs_f64() * 1e3 / self.images.max(1) as f64,
            loading_per_s: (fetch > 0.0).then(|| samples * readers as f64 / fetch),
            decoding_per_s: samples * threads as f64 / work.max(f64::MIN_POSITIVE),
            stalled: (sum(&|stats| stats.stalled.as_secs_f64()) / elapsed).min(1.0),
            bytes_per_image: sum(&|stats| stats.storage_bytes as f64) / samples,
            requests_per_image: sum(&|stats| stats.requests as f64) / samples,
            over_fetched: sum(&|stats| stats.over_fetched_bytes as f64)
                / sum(&|stats| stats.received_bytes as f64).max(1.0),
            hits: sum(&|stats| stats.hits as f64) / drawn,
            forms: forms(&self.loader),
            verdict: last.map_or("", |stats| stats.verdict.name()),
        }
    }
}

/// The share of each codec among the samples, as far as the dataset tells without reading them. What
/// is drawn has none.
fn forms(loader: &Loader) -> Vec<(String, f64)> {
    let mut counts: Vec<(String, f64)> = Vec::new();
    for reader in loader.datasets().readers() {
        let n_samples = reader.len();
        let mut first = 0;
        for (stratum, len) in reader.strata().into_iter().enumerate() {
            let sample = if len > 0 { reader.stratum_sample(stratum, 0) } else { first };
            first += len;
            let name = match reader.drawn() {
                Some(_) => "formula",
                None => reader.codec_hint(sample).map_or("?", Codec::extension),
            };
            counts.push((name.to_owned(), len as f64 / n_samples.max(1) as f64));
        }
    }
    counts
}

/// A recipe, or the last part of a path, on one line.
fn name(path: &Path) -> String {
    let name = match Recipe::in_place_of(path) {
        Some(recipe) => recipe.into(),
        None => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(),
    };
    Shown(name).to_string()
}
