//! Paper 002: reads in flight within a batch, on storage with latency.
//!
//! The paper adds fetchers within a batch to torch's loader and reports batches up to twelve times
//! as fast from S3, as fast as from local disks. Here every read waits for the latency of S3: once
//! constant, and once varying as in real stores.
use super::{Found, Run};
use crate::{
    Claim, Figure, Line, Mark, Missing, Plot, TableOf,
    data::Maker,
    rivals::{self, Kind, Rival, Task},
    watch::Watch,
};
use fdconvert::PackOptions;
use fdconvert_core::{Error, Reader, Result};
use fdconvert_loader::{Datasets, Loader, Options};
use fdconvert_profile::SlowStorage;
use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Latency of a request to S3, according to the paper.
const LATENCY: Duration = Duration::from_millis(65);
/// The latency as a distribution with a long tail: median, and deviation of the logarithm.
const UNEVEN: (Duration, f64) = (Duration::from_millis(50), 0.7);
/// The speed-up in the paper.
const TOLD: f64 = 12.0;
/// Images/s of a consumer with measured utilisation.
const CONSUMER: f64 = 250.0;
const BATCH: u32 = 16;
const IN_FLIGHT: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Numbers of worker processes of torch's loader: each has one request in flight, and an
/// interpreter.
const WORKERS: [usize; 3] = [1, 4, 16];
/// Number of images that torch's loader reads.
const THEIR_IMAGES: u64 = 200;

pub(super) fn run(run: &Run<'_>) -> Result<Found> {
    let options = run.options;
    let images = options.n_images(1000, 4000)?.next_multiple_of(100);
    let threads = options.n_threads()?;
    let seconds = Duration::from_secs(if options.quick { 4 } else { 15 });
    let (rivals, missing) = rivals::find(&[Kind::Torch], &options.python, run.folder, run.watch)?;
    let n_theirs = if rivals.is_empty() { 0 } else { WORKERS.len() as u64 };
    run.watch.total(3 + 3 * IN_FLIGHT.len() as u64 + n_theirs);

    let maker = Maker { folder: run.folder, threads, watch: run.watch };
    let recipe =
        format!("fractal:fractaldb?classes={}&instances=100&sampler=lanes64-v1", images / 100);
    let formula = maker.pack(Path::new(&recipe), "drawn.formula", PackOptions::default())?;
    let folder = maker.colour_files(&formula.path, "folder")?;
    let beton = maker.pack(&folder.path, "files.beton", PackOptions::default())?;

    let reader: Arc<dyn Reader> = fdconvert::open(&beton.path)?.into();
    let measure =
        |name: &str, (latency, latency_spread): (Duration, f64), consumer: Option<f64>| {
            let storage = SlowStorage { latency, latency_spread, throttle: None };
            let counts = IN_FLIGHT.iter().map(|&in_flight| {
                run.watch.begins(&format!("{name}, {in_flight} in flight"))?;
                let options = Options::default()
                    .batch_size(BATCH)
                    .threads(threads)
                    .fetch_threads(in_flight)
                    .prefetch(1 + 2 * in_flight / BATCH as usize);
                let datasets = Datasets::one(storage.around(reader.clone()))?;
                Ok((in_flight, consume(datasets, options, consumer, seconds, run.watch)?))
            });
            counts.collect::<Result<Vec<(usize, Consumed)>>>()
        };
    let even = measure("65 ms", (LATENCY, 0.0), None)?;
    let uneven = measure("uneven", UNEVEN, None)?;
    let fed = measure("with a consumer", (LATENCY, 0.0), Some(CONSUMER))?;

    let mut found = Found { others: rivals, missing, ..Found::default() };
    let theirs = match found.others.first() {
        Some(rival) => torch(rival, &folder.path, &mut found.missing, run)?,
        None => Vec::new(),
    };
    found.figures = vec![speed_ups(&even, &uneven, &theirs), busy(&fed)];
    found.tables = vec![table(&even, &uneven, &fed)];
    found.results = results(&even, &uneven, &fed, &theirs);
    found.claims = claims(&even);
    found.differences = vec![
        "No bucket: the dataset that fdconvert's loader reads waits before each read, and torch's program before it \
         opens a file. What a store in the network does is in the guide on stores."
            .into(),
        format!(
            "The paper compares fetchers within a batch with torch's loader and tells its best \
             ratio, {TOLD:.0} times, without the number of requests; the mark stands at 64. Here the \
             ratio is to one request in flight of the same loader."
        ),
        format!(
            "The uneven times are logarithmically normal, median {} ms, deviation {}; they are \
             drawn by sample, not measured in a store.",
            UNEVEN.0.as_millis(),
            UNEVEN.1
        ),
        "There is no graphics card: what the paper calls its utilisation is here the share of the \
         time that a consumer of a fixed rate is busy."
            .into(),
    ];
    Ok(found)
}

/// Rate of a consumer's images, and its utilisation.
#[derive(Debug, Clone, Copy)]
struct Consumed {
    images_per_s: f64,
    /// Share of the time in which it did not wait.
    busy: f64,
}

/// Takes batches for some time, as fast as possible or at the rate of a consumer.
fn consume(
    datasets: Datasets,
    options: Options,
    images_per_s: Option<f64>,
    time: Duration,
    watch: &Watch<'_>,
) -> Result<Consumed> {
    let mut loader = Loader::new(datasets, options)?;
    let mut next = || -> Result<u64> {
        if watch.is_cancelled() {
            return Err(Error::Cancelled);
        }
        loop {
            // The next epoch begins at the end of one.
            if let Some(batch) = loader.next_batch() {
                return Ok(batch?.len() as u64);
            }
        }
    };
    next()?;
    let began = Instant::now();
    let (mut images, mut worked) = (0, Duration::ZERO);
    while began.elapsed() < time {
        let n = next()?;
        images += n;
        if let Some(rate) = images_per_s {
            let work = Duration::from_secs_f64(n as f64 / rate);
            thread::sleep(work);
            worked += work;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let busy = (worked.as_secs_f64() / seconds).min(1.0);
    Ok(Consumed { images_per_s: images as f64 / seconds, busy })
}

/// Returns images/s of torch's loader, by the number of its worker processes.
fn torch(
    rival: &Rival,
    folder: &Path,
    missing: &mut Vec<Missing>,
    run: &Run<'_>,
) -> Result<Vec<(usize, f64)>> {
    let mut rates = Vec::new();
    for workers in WORKERS {
        run.watch.begins(&format!("torch, {workers} workers"))?;
        let task = Task {
            data: folder.to_owned(),
            images: THEIR_IMAGES,
            batch: BATCH,
            size: 224,
            workers,
            augment: false,
            latency: LATENCY,
        };
        match rival.run(&task, run.watch) {
            Ok(took) => rates.push((workers, took.images_per_second())),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                let name = format!("torch, {workers} workers");
                missing.push(Missing { name, why: error.chain() });
            }
        }
    }
    Ok(rates)
}

fn line(name: &str, points: impl Iterator<Item = (usize, f64)>) -> Line {
    let points = points.map(|(in_flight, value)| (in_flight as f64, value)).collect();
    Line { name: name.into(), points }
}

fn speed_ups(
    even: &[(usize, Consumed)],
    uneven: &[(usize, Consumed)],
    theirs: &[(usize, f64)],
) -> Figure {
    let relative = |name: &str, rates: &[(usize, f64)]| {
        let one = rates.first().map_or(1.0, |(_, rate)| rate.max(1e-9));
        line(name, rates.iter().map(|(in_flight, rate)| (*in_flight, rate / one)))
    };
    let rates = |found: &[(usize, Consumed)]| -> Vec<(usize, f64)> {
        found.iter().map(|(in_flight, got)| (*in_flight, got.images_per_s)).collect()
    };
    let mut lines = vec![
        relative("fdconvert, 65 ms", &rates(even)),
        relative("fdconvert, uneven", &rates(uneven)),
    ];
    if !theirs.is_empty() {
        lines.push(relative("torch, a worker each", theirs));
    }
    let last = IN_FLIGHT.last().map_or(1.0, |&in_flight| in_flight as f64);
    Figure {
        title: "Batches by the reads in flight".into(),
        caption: "Images a second as a multiple of those of one read at a time. The mark is the \
                  paper's best, from S3."
            .into(),
        plot: Plot::Lines {
            x: "reads in flight".into(),
            y: "times one read at a time".into(),
            doubles: true,
            lines,
            marks: vec![Mark { x: last, y: TOLD, name: "the paper: up to 12 times".into() }],
        },
    }
}

fn busy(fed: &[(usize, Consumed)]) -> Figure {
    let share = |(in_flight, got): &(usize, Consumed)| (*in_flight, got.busy * 100.0);
    Figure {
        title: "How busy a consumer is".into(),
        caption: format!(
            "A consumer that takes {CONSUMER:.0} images/s, at 65 ms a read: the share of the time \
             that it does not wait for a batch."
        ),
        plot: Plot::Lines {
            x: "reads in flight".into(),
            y: "% busy".into(),
            doubles: true,
            lines: vec![line("fdconvert, 65 ms", fed.iter().map(share))],
            marks: Vec::new(),
        },
    }
}

fn table(
    even: &[(usize, Consumed)],
    uneven: &[(usize, Consumed)],
    fed: &[(usize, Consumed)],
) -> TableOf {
    let rows = even.iter().zip(uneven).zip(fed).map(|((even, uneven), fed)| {
        vec![
            even.0.to_string(),
            format!("{:.0}", even.1.images_per_s),
            format!("{:.0}", uneven.1.images_per_s),
            format!("{:.0} %", fed.1.busy * 100.0),
        ]
    });
    TableOf {
        title: "In numbers".into(),
        head: ["reads in flight", "images/s at 65 ms", "images/s, uneven", "consumer busy"]
            .map(Into::into)
            .into(),
        rows: rows.collect(),
    }
}

fn claims(even: &[(usize, Consumed)]) -> Vec<Claim> {
    let mut claims = Vec::new();
    if let (Some((_, one)), Some((in_flight, most))) = (even.first(), even.last()) {
        let times = most.images_per_s / one.images_per_s.max(1e-9);
        claims.push(Claim::measured(
            format!("Reads in flight within a batch load up to {TOLD:.0} times as fast."),
            format!("{times:.1} times with {in_flight} in flight, at 65 ms a read."),
            times >= TOLD,
        ));
    }
    claims.push(Claim::not_here(
        "With them, S3 is as fast as a local disk.",
        "No bucket takes part: the waits are played.",
    ));
    claims
}

fn results(
    even: &[(usize, Consumed)],
    uneven: &[(usize, Consumed)],
    fed: &[(usize, Consumed)],
    theirs: &[(usize, f64)],
) -> Vec<String> {
    let mut results = Vec::new();
    let ends = |found: &[(usize, Consumed)]| Some((found.first()?.1, *found.last()?));
    for (name, found) in [("65 ms", even), ("uneven times", uneven)] {
        let Some((one, (in_flight, most))) = ends(found) else { continue };
        results.push(format!(
            "At {name}, {in_flight} reads in flight give {:.0} images/s, {:.1} times the {:.1} of one.",
            most.images_per_s,
            most.images_per_s / one.images_per_s.max(1e-9),
            one.images_per_s
        ));
    }
    if let Some((one, (in_flight, most))) = ends(fed) {
        results.push(format!(
            "A consumer of {CONSUMER:.0} images/s is busy {:.0} % of the time with one read in \
             flight, and {:.0} % with {in_flight}.",
            one.busy * 100.0,
            most.busy * 100.0
        ));
    }
    if let (Some((workers, rate)), Some((_, (in_flight, most)))) = (theirs.last(), ends(even)) {
        results.push(format!(
            "torch's loader reaches {rate:.0} images/s with {workers} worker processes, fdconvert \
             {:.0} with {in_flight} reads in flight, in one process.",
            most.images_per_s
        ));
    }
    results
}
