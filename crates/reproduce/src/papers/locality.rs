//! Paper 004: samples stay with the ranks that cache them.
//!
//! The paper keeps the dataset in the caches of all ranks together, gives each row to the rank that
//! caches its sample, moves only as many rows as needed for equal ranks, and reports loading over
//! 30 times as fast on 256 nodes with 1024 learners. Here the ranks of one machine do the same, and
//! a model with the paper's terms extrapolates to more.
use super::{Found, Run};
use crate::{Claim, Figure, Line, Mark, Plot, TableOf, data::Maker};
use fdconvert::PackOptions;
use fdconvert_core::{Error, Result};
use fdconvert_loader::{
    Access, Datasets, Exchange, Loader, Options, ThreadExchange, TransformList, World,
};
use fdconvert_profile::{Cluster, Dealing, EpochTime};
use std::{path::Path, sync::Arc};

const RANKS: u32 = 8;
const BATCH: u32 = 64;
const EPOCHS: usize = 4;
/// Learners per node in the paper.
const RANKS_PER_NODE: u32 = 4;
const NODES: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The speed-up in the paper.
const TOLD: f64 = 30.0;

/// ImageNet on nodes that share a network disk. Storage and network are those of a large machine of
/// the paper's time; the times are for comparison, not for a specific machine.
const CLUSTER: Cluster = Cluster {
    n_images: 1_281_167,
    bytes_per_image: 115e3,
    cpu_seconds_per_image: 1.5e-3,
    rows_per_rank: 128,
    cache_bytes: 32e9,
    storage_bytes_per_s: 10e9,
    network_bytes_per_s: 3e9,
    cache_bytes_per_s: 10e9,
    cores: 10.0,
};

pub(super) fn run(run: &Run<'_>) -> Result<Found> {
    let options = run.options;
    let images = options.n_images(4000, 100_000)?.next_multiple_of(100);
    run.watch.total(5);
    let maker = Maker { folder: run.folder, threads: options.n_threads()?, watch: run.watch };
    let recipe = format!(
        "fractal:fractaldb?classes={}&instances=100&sampler=lanes64-v1&points=20000&size=64",
        images / 100
    );
    let dataset = maker.pack(
        Path::new(&recipe),
        "drawn.wds",
        PackOptions::default().shards(u64::from(RANKS)),
    )?;
    // Together a little more than the set, because no cache is full to the last byte.
    let cache_bytes = dataset.bytes / u64::from(RANKS);
    let read = |dealing| reads(run, &dataset.path, cache_bytes, dealing);
    run.watch.begins("eight ranks, each with its own cache")?;
    let alone = read(Dealing::OwnCaches)?;
    run.watch.begins("eight ranks, rows to their owners")?;
    let dealt = read(Dealing::Locality)?;
    run.watch.begins("eight ranks, moved rows from their owners")?;
    let sent = read(Dealing::Exchange)?;
    run.watch.begins("from 1 to 256 nodes")?;
    let times = simulate()?;
    let ways = [
        ("each cache alone", alone),
        ("rows to their owners", dealt),
        ("moved rows from their owners", sent),
    ];

    Ok(Found {
        claims: claims(&ways, &times),
        results: results(images, &ways),
        figures: vec![scale_figure(&times), reads_figure(images, &ways)],
        tables: vec![reads_table(&ways), terms(&times)],
        differences: vec![
        format!(
            "The ranks that really run are {RANKS} of one machine, with caches of their own; more \
             nodes are the model's. Its terms are below, and its numbers are in the JSON next to this \
             page."
        ),
        "The paper's ranks send each other what moves over a network; the ranks here are threads of \
         one process, so what sending takes is the model's."
            .into(),
        "The paper's storage and network are not told in its abstract; those of the model are \
         assumed."
            .into(),
    ],
        ..Found::default()
    })
}

/// The assignments of rows, by name, with the reads of each.
type Ways = [(&'static str, Read); 3];

/// Images that all ranks read from storage, by epoch, and the moved rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    reads: Vec<u64>,
    moved: u64,
    rows: u64,
}

fn reads(run: &Run<'_>, dataset: &Path, cache_bytes: u64, dealing: Dealing) -> Result<Read> {
    let mut loaders = (0..RANKS)
        .zip(ThreadExchange::of_ranks(RANKS))
        .map(|(rank, exchange)| {
            let exchange: Arc<dyn Exchange> = Arc::new(exchange);
            let options = Options::default()
                .batch_size(BATCH)
                .world(World { rank, size: RANKS })
                .transform(TransformList::center(64)?)
                .cache_bytes(cache_bytes)
                .locality(dealing != Dealing::OwnCaches)
                .exchange((dealing == Dealing::Exchange).then_some(exchange))
                .access(Access::Direct)
                .threads(1)
                .prefetch(1);
            Loader::new(Datasets::open(dataset)?, options)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut read = Read { reads: Vec::new(), moved: 0, rows: 0 };
    for _ in 0..EPOCHS {
        while step(&mut loaders)? {
            if run.watch.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        let of_all = |number: fn(&fdconvert_loader::Stats) -> u64| -> u64 {
            loaders.iter().map(|loader| number(&loader.stats())).sum()
        };
        read.reads.push(of_all(|stats| stats.reads));
        (read.moved, read.rows) = (of_all(|stats| stats.moved), of_all(|stats| stats.samples));
        loaders.iter_mut().for_each(Loader::reset_stats);
    }
    Ok(read)
}

/// Takes a batch of each rank, as training does; returns whether the epoch continues.
fn step(loaders: &mut [Loader]) -> Result<bool> {
    let mut continues = false;
    for loader in loaders {
        continues = loader.next_batch().transpose()?.is_some();
    }
    Ok(continues)
}

/// Runs the model from 1 to 256 nodes, for each assignment of rows, in an epoch with full caches.
fn simulate() -> Result<Vec<EpochTime>> {
    let ranks = NODES.map(|nodes| nodes * RANKS_PER_NODE);
    let dealings = [Dealing::OwnCaches, Dealing::Locality, Dealing::Exchange];
    CLUSTER.epoch_times(&ranks, &dealings, 2)
}

/// Yields the times of one assignment, by nodes.
fn of(times: &[EpochTime], dealing: Dealing) -> impl Iterator<Item = (u32, &EpochTime)> {
    let times = times.iter().filter(move |time| time.dealing == dealing);
    times.map(|time| (time.ranks / RANKS_PER_NODE, time))
}

/// Returns the speed-up over assignment regardless of caches, by nodes.
fn speed_up(times: &[EpochTime], dealing: Dealing) -> Vec<(f64, f64)> {
    let without = of(times, Dealing::OwnCaches);
    let pairs = without.zip(of(times, dealing));
    pairs
        .map(|((nodes, without), (_, with))| {
            (f64::from(nodes), without.seconds / with.seconds.max(f64::MIN_POSITIVE))
        })
        .collect()
}

fn scale_figure(times: &[EpochTime]) -> Figure {
    let line = |name: &str, dealing| Line { name: name.into(), points: speed_up(times, dealing) };
    Figure {
        title: "Loading over the number of nodes, by the model".into(),
        caption: format!(
            "An epoch of ImageNet with full caches, as a multiple of the speed without locality; \
             {RANKS_PER_NODE} ranks a node, {} rows a rank, {:.0} GB/s of storage for all. The mark \
             is the paper's.",
            CLUSTER.rows_per_rank,
            CLUSTER.storage_bytes_per_s / 1e9
        ),
        plot: Plot::Lines {
            x: "nodes".into(),
            y: "times as fast as without".into(),
            doubles: true,
            lines: vec![
                line("locality, moved rows from storage", Dealing::Locality),
                line("moved rows from their owners", Dealing::Exchange),
            ],
            marks: vec![Mark { x: 256.0, y: TOLD, name: "the paper: over 30 times".into() }],
        },
    }
}

fn reads_figure(images: u64, ways: &Ways) -> Figure {
    let line = |name: &str, read: &Read| {
        let share = |reads: &u64| *reads as f64 * 100.0 / images as f64;
        let points = read.reads.iter().zip(1_u32..);
        Line {
            name: name.into(),
            points: points.map(|(reads, epoch)| (epoch.into(), share(reads))).collect(),
        }
    };
    Figure {
        title: format!("What {RANKS} ranks read from storage"),
        caption: format!(
            "{images} images, {BATCH} rows a rank; the caches of all ranks together hold the set."
        ),
        plot: Plot::Lines {
            x: "epoch".into(),
            y: "% of the images".into(),
            doubles: false,
            lines: ways.iter().map(|(name, read)| line(name, read)).collect(),
            marks: Vec::new(),
        },
    }
}

fn reads_table(ways: &Ways) -> TableOf {
    let row = |epoch: usize| {
        let reads = ways.iter().map(|(_, read)| read.reads.get(epoch).copied().unwrap_or_default());
        std::iter::once(epoch as u64 + 1).chain(reads).map(|cell| cell.to_string()).collect()
    };
    TableOf {
        title: "Images read from storage by all ranks".into(),
        head: std::iter::once("epoch")
            .chain(ways.iter().map(|(name, _)| *name))
            .map(Into::into)
            .collect(),
        rows: (0..EPOCHS).map(row).collect(),
    }
}

fn terms(times: &[EpochTime]) -> TableOf {
    let named = [
        ("without", Dealing::OwnCaches),
        ("locality", Dealing::Locality),
        ("exchange", Dealing::Exchange),
    ];
    let rows = named.into_iter().flat_map(|(name, dealing)| {
        let shown = of(times, dealing).filter(|(nodes, _)| [1, 16, 256].contains(nodes));
        shown.map(move |(nodes, time)| {
            let seconds = |seconds: f64| format!("{seconds:.2}");
            vec![
                format!("{name}, {nodes} nodes"),
                format!("{:.1} %", time.read_share * 100.0),
                seconds(time.storage_s),
                seconds(time.network_s),
                seconds(time.cache_s),
                seconds(time.decode_s),
                seconds(time.seconds),
            ]
        })
    });
    let head = ["", "read", "storage s", "network s", "cache s", "decoding s", "epoch s"];
    TableOf {
        title: "The model's terms".into(),
        head: head.map(Into::into).into(),
        rows: rows.collect(),
    }
}

fn claims(ways: &Ways, times: &[EpochTime]) -> Vec<Claim> {
    let [(_, alone), (_, dealt), _] = ways;
    let [without, with] = [alone, dealt].map(|read| read.reads.last().copied().unwrap_or_default());
    let at = |dealing| speed_up(times, dealing).last().map_or(0.0, |(_, times)| *times);
    vec![
        Claim::measured(
            "Ranks that get the samples they cache read less from storage.",
            format!("{RANKS} ranks read {with} images in epoch {EPOCHS} instead of {without}."),
            with < without,
        ),
        Claim::not_here(
            format!("Loading is over {TOLD:.0} times as fast on 256 nodes."),
            format!(
                "One machine runs here; the model has {:.0} times, and {:.0} if moved rows came from \
                 their owners.",
                at(Dealing::Locality),
                at(Dealing::Exchange)
            ),
        ),
    ]
}

fn results(images: u64, ways: &Ways) -> Vec<String> {
    let last = |read: &Read| read.reads.last().copied().unwrap_or_default();
    let [(_, alone), (_, dealt), (_, sent)] = ways;
    vec![
        format!(
            "Of {images} images {RANKS} ranks read {} in epoch {EPOCHS} with a cache each, {} with rows \
             dealt to their owners, and {} where owners send what moves.",
            last(alone),
            last(dealt),
            last(sent)
        ),
        format!(
            "{:.1} % of the rows moved, {:.1} % by the formula that tests confirm; at 128 rows on 256 \
             ranks it is {:.1} %.",
            dealt.moved as f64 * 100.0 / dealt.rows.max(1) as f64,
            fdconvert_profile::moved_share(RANKS, BATCH, 1.0) * 100.0,
            fdconvert_profile::moved_share(256, 128, 1.0) * 100.0
        ),
    ]
}
