//! One dataset of a bench: its loader, and the results of the rounds.
use super::{
    Busy, Measured, Round,
    args::{AccessArg, BenchArgs, CacheArg},
    consumer::Consumer,
};
use crate::Session;
use cpu_time::ProcessTime;
use fdconvert::{OpenOptions, open_with, plumbing::threads};
use fdconvert_core::{Codec, Error, Reader, Result, Shown, SplitChoice};
use fdconvert_fractal::Recipe;
use fdconvert_loader::{
    Access, CachePolicy, Datasets, Label, Loader, Options, Stats, TransformList, research::LIQUID,
};
use fdconvert_profile::{SlowStorage, Throttle};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// A dataset with its loader, and the results so far.
pub(super) struct Lane {
    name: String,
    label: String,
    loader: Loader,
    /// Whole epochs, or rounds of some seconds.
    rounds: Vec<Round>,
    /// Whether the rounds are epochs.
    is_whole: bool,
    stats: Vec<Stats>,
    /// Rate of the simulated training in images/s, if there is one.
    consumer_rate: Option<f64>,
}

/// Measurements since the start of a round.
struct Clock {
    began: Instant,
    cpu: Option<ProcessTime>,
}

/// Opens the datasets, all read in the same way: past the page cache if no other access was
/// requested and each dataset knows the places of its images.
pub(super) fn open(
    paths: &[&Path],
    args: &BenchArgs,
    list: &TransformList,
    session: &Session,
) -> Result<(Vec<Lane>, Access)> {
    // Once: a recipe may have to search for its categories.
    let splits = match &args.split[..] {
        [] => SplitChoice::Only,
        names => SplitChoice::named(names),
    };
    let how = OpenOptions::default().splits(splits);
    let opened = paths.iter().map(|path| {
        let reader = open_with(path, &how)?;
        Ok((*path, Arc::from(reader)))
    });
    let opened: Vec<(&Path, Arc<dyn Reader>)> = opened.collect::<Result<_>>()?;
    let open = |access: Access| -> Result<Vec<Lane>> {
        let depths = &args.fetch_threads;
        let lanes =
            opened.iter().flat_map(|opened| depths.iter().map(move |&depth| (opened, depth)));
        lanes.map(|(opened, depth)| Lane::new(opened, depth, args, list, access)).collect()
    };
    match args.access {
        Some(AccessArg::Direct) => Ok((open(Access::Direct)?, Access::Direct)),
        Some(AccessArg::Mapped) => Ok((open(Access::Mapped)?, Access::Mapped)),
        None => match open(Access::Direct) {
            Ok(lanes) => Ok((lanes, Access::Direct)),
            // Folders, and shards without an index or compressed as a whole.
            Err(Error::Usage { option, .. }) if option.name == "access" => {
                let lanes = open(Access::Mapped)?;
                if !args.common.quiet && !args.common.json {
                    let which = if paths.len() > 1 { "a dataset" } else { "it" };
                    session.say(&format!(
                        "note: reading through the page cache, because {which} does not know where \
                         its images lie; from the second round on that is the speed of memory"
                    ));
                }
                Ok((lanes, Access::Mapped))
            }
            Err(error) => Err(error),
        },
    }
}

fn options(
    args: &BenchArgs,
    list: &TransformList,
    fetch_threads: usize,
    access: Access,
) -> Result<Options> {
    Ok(Options::default()
        .batch_size(args.batch_size)
        .seed(args.seed)
        // Mixed batches have mixed labels.
        .label(if list.mix().is_some() { Label::Auto } else { Label::None })
        .transform(list.clone())
        .threads(threads(args.threads)?)
        .fetch_threads(fetch_threads)
        .access(access)
        .cache_bytes(args.cache.0)
        .cache_policy(match args.cache_policy {
            CacheArg::Resident => CachePolicy::RESIDENT,
            CacheArg::Liquid => LIQUID,
        }))
}

/// Returns the simulated storage: each lane has the whole rate.
fn slow(args: &BenchArgs) -> SlowStorage {
    let rate = args.throttle_read.map(|rate| rate.bytes_per_s() as f64);
    SlowStorage {
        latency: args.latency.0,
        throttle: rate.and_then(Throttle::new).map(Arc::new),
        ..SlowStorage::default()
    }
}

impl Lane {
    fn new(
        (path, reader): &(&Path, Arc<dyn Reader>),
        depth: usize,
        args: &BenchArgs,
        list: &TransformList,
        access: Access,
    ) -> Result<Self> {
        let datasets = Datasets::one(slow(args).around(reader.clone()))?;
        let loader = Loader::new(datasets, options(args, list, depth, access)?)?;
        let name = name(path);
        let label = match args.fetch_threads.len() {
            1 => name.clone(),
            _ => format!("{name}, {depth} in flight"),
        };
        let is_whole = args.epochs.is_some();
        Ok(Self {
            name,
            label,
            loader,
            rounds: Vec::new(),
            is_whole,
            stats: Vec::new(),
            consumer_rate: args.consumer_rate,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of rows of the next batch, `None` at the end of an epoch.
    fn next(&mut self, session: &Session) -> Result<Option<u64>> {
        if session.cancel().is_cancelled() {
            return Err(Error::Cancelled);
        }
        self.loader.next_batch().map(|batch| Ok(batch?.len() as u64)).transpose()
    }

    /// Runs an epoch to fill a cache; else takes the batches made ahead.
    pub(super) fn warm_up(&mut self, session: &Session) -> Result<()> {
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

    /// Runs a whole epoch, from the start of the threads to the last batch.
    pub(super) fn epoch(&mut self, session: &Session) -> Result<()> {
        self.loader.reset_stats();
        let clock = Clock::start();
        let mut consumer = Consumer::new(self.consumer_rate);
        let mut images = 0;
        while let Some(rows) = self.next(session)? {
            images += rows;
            consumer.take(rows);
            consumer.wait(session)?;
        }
        self.record(clock.stop(images));
        Ok(())
    }

    /// Takes batches for that time, from any epochs.
    pub(super) fn round(&mut self, time: Duration, session: &Session) -> Result<()> {
        // Skips batches that were made while other loaders had their turns.
        for _ in 0..=self.loader.options().prefetch {
            self.next(session)?;
        }
        self.loader.reset_stats();
        let clock = Clock::start();
        let mut consumer = Consumer::new(self.consumer_rate);
        let mut images = 0;
        while clock.began.elapsed() < time {
            let rows = self.next(session)?.unwrap_or(0);
            images += rows;
            consumer.take(rows);
            consumer.wait(session)?;
        }
        self.record(clock.stop(images));
        Ok(())
    }

    fn record(&mut self, round: Round) {
        self.rounds.push(round);
        self.stats.push(self.loader.stats());
        // The threads of this dataset must be idle during the turn of the next one.
        self.loader.stop();
    }

    pub(super) fn measured(&self) -> Measured {
        let rates: Vec<f64> = self.rounds.iter().map(Round::images_per_s).collect();
        let mut sorted = rates.clone();
        sorted.sort_by(f64::total_cmp);
        let images_per_s = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let cpu: f64 = self.rounds.iter().filter_map(|round| round.cpu_seconds).sum();
        let images: u64 = self.rounds.iter().map(|round| round.images).sum();
        let sum = |of: &dyn Fn(&Stats) -> f64| self.stats.iter().map(of).sum::<f64>();
        let samples = sum(&|stats| stats.samples as f64).max(1.0);
        let fetch = sum(&|stats| stats.fetch.as_secs_f64());
        let work = sum(&|stats| stats.work().as_secs_f64());
        let elapsed = sum(&|stats| stats.elapsed.as_secs_f64()).max(f64::MIN_POSITIVE);
        let drawn = sum(&|stats| (stats.hits + stats.reads) as f64).max(1.0);
        let last = self.stats.last();
        let threads = last.map_or(1, |stats| stats.threads);
        // The reading threads are the requested ones, or those that decode.
        let depth = self.loader.options().fetch_threads;
        let readers = if depth > 0 { depth } else { threads };
        let seconds: f64 = self.rounds.iter().map(|round| round.seconds).sum();
        let loading_per_s = (fetch > 0.0).then(|| samples * readers as f64 / fetch);
        let busy = Busy {
            disk: loading_per_s.map(|most| (images_per_s / most).min(1.0)),
            processors: (cpu / (threads as f64 * seconds).max(f64::MIN_POSITIVE)).min(1.0),
            consumer: self.consumer_rate.map(|rate| (images_per_s / rate).min(1.0)),
        };
        Measured {
            dataset: self.name.clone(),
            label: self.label.clone(),
            fetch_threads: self.loader.options().fetch_threads,
            rounds: rates,
            epochs: if self.is_whole { self.rounds.clone() } else { Vec::new() },
            images_per_s,
            cpu_ms_per_image: cpu * 1e3 / images.max(1) as f64,
            loading_per_s,
            decoding_per_s: samples * threads as f64 / work.max(f64::MIN_POSITIVE),
            stalled: (sum(&|stats| stats.stalled.as_secs_f64()) / elapsed).min(1.0),
            bytes_per_image: sum(&|stats| stats.storage_bytes as f64) / samples,
            requests_per_image: sum(&|stats| stats.requests as f64) / samples,
            over_fetched: sum(&|stats| stats.over_fetched_bytes as f64)
                / sum(&|stats| stats.received_bytes as f64).max(1.0),
            hits: sum(&|stats| stats.hits as f64) / drawn,
            forms: forms(&self.loader),
            verdict: last.map_or("", |stats| stats.verdict.name()),
            busy,
        }
    }
}

impl Clock {
    fn start() -> Self {
        Self { began: Instant::now(), cpu: ProcessTime::try_now().ok() }
    }

    fn stop(self, images: u64) -> Round {
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu = self.cpu.and_then(|cpu| cpu.try_elapsed().ok());
        Round { images, seconds, cpu_seconds: cpu.map(|cpu| cpu.as_secs_f64()) }
    }
}

/// Returns the share of each codec among the samples, if the dataset knows it without reading them.
/// Drawn images have none.
fn forms(loader: &Loader) -> Vec<(String, f64)> {
    let mut counts: Vec<(String, f64)> = Vec::new();
    for reader in loader.datasets().readers() {
        let n_samples = reader.len();
        let mut first = 0;
        for (stratum, len) in reader.strata().into_iter().enumerate() {
            let sample = if len > 0 { reader.stratum_sample(stratum, 0) } else { first };
            first += len;
            let name = match reader.as_generated() {
                Some(_) => "formula",
                None => reader.codec_hint(sample).ok().flatten().map_or("?", Codec::extension),
            };
            counts.push((name.to_owned(), len as f64 / n_samples.max(1) as f64));
        }
    }
    counts
}

/// Returns a recipe, or the last part of a path, on one line.
fn name(path: &Path) -> String {
    let name = match Recipe::in_place_of(path) {
        Some(recipe) => recipe.into(),
        None => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(),
    };
    Shown(name).to_string()
}
