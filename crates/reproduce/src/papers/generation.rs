//! Paper 001: fractals drawn while loading.
//!
//! The paper draws one image for each of a million classes in memory, instead of reading PNGs with
//! TorchVision, and reports 13.7 s instead of 72 for an epoch of eight GPUs with 20 workers each,
//! 3.95 times the images, the same for every batch size.
use super::{Found, Run, SIZE, failures, loader};
use crate::{
    Bar, Claim, Figure, Line, Plot, TableOf,
    data::Maker,
    lane::{Lane, Took, take_turns},
    rivals::{self, Kind, Rival, Task},
};
use fdconvert::PackOptions;
use fdconvert_core::Result;
use std::{path::Path, time::Duration};

const BATCH: u32 = 256;
/// The paper's speed-up over TorchVision's pipeline.
const TOLD: f64 = 3.95;
/// The paper's rate of a worker, derived from its epoch: a million images by 160 workers in 13.7 s.
const TOLD_PER_WORKER: f64 = 1e6 / 160.0 / 13.7;
const BATCHES: [u32; 4] = [32, 128, 512, 2048];
/// Ratio of the slowest to the fastest size of batches up to which the speed is the same.
const FLAT: f64 = 1.5;
const DRAWN: &str = "fdconvert, drawn, 64 lanes";
const TORCH: &str = "torch, folder";

/// Seconds for a thousand images by batch size, and loaders that failed.
type OverBatches = (Vec<(f64, f64)>, Vec<(String, String)>);

pub(super) fn run(run: &Run<'_>) -> Result<Found> {
    let options = run.options;
    let images = options.n_images(3000, 50_000)?;
    let (threads, rounds) = (options.n_threads()?, options.n_rounds());
    let (rivals, missing) = rivals::find(&[Kind::Torch], &options.python, run.folder, run.watch)?;
    let mut found = Found { others: rivals, missing, ..Found::default() };
    let torch = found.others.first().cloned();

    let n_lanes = 4 + u64::from(torch.is_some());
    let n_batches = (1 + u64::from(torch.is_some())) * BATCHES.len() as u64;
    run.watch.total(4 + n_lanes * u64::from(rounds) + n_batches);
    let maker = Maker { folder: run.folder, threads, watch: run.watch };
    // One class per image, without a search by fill rate: contracting maps always fill some pixels.
    let recipe = |sampler: &str| {
        format!("fractal:svd?classes={images}&instances=1&size={SIZE}&sampler={sampler}")
    };
    let keep = PackOptions::default;
    let lanes64 = maker.pack(Path::new(&recipe("lanes64-v1")), "lanes.formula", keep())?;
    let exact = maker.pack(Path::new(&recipe("fractaldb-v1")), "exact.formula", keep())?;
    let folder = maker.colour_files(&lanes64.path, "folder")?;
    let shards = maker.pack(&folder.path, "folder.wds", keep())?;

    let usual = loader(BATCH, threads, None)?;
    let mut lanes = vec![
        Lane::drawn(DRAWN, &lanes64.path, usual.clone()),
        Lane::drawn("fdconvert, drawn, FractalDB's points", &exact.path, usual.clone()),
        Lane::ours("fdconvert, stored, folder", &folder.path, usual.clone()),
        Lane::ours("fdconvert, stored, shards", &shards.path, usual),
    ];
    let task = |batch| Task {
        data: folder.path.clone(),
        images,
        batch,
        size: SIZE,
        workers: threads,
        augment: false,
        latency: Duration::ZERO,
    };
    lanes.extend(torch.clone().map(|rival| Lane::theirs(TORCH, rival, task(BATCH))));
    failures(&mut found.missing, take_turns(&mut lanes, rounds, run.watch)?);

    let over = |rival: Option<&Rival>| -> Result<OverBatches> {
        let lane = |&batch: &u32| {
            let name = batch.to_string();
            Ok(match rival {
                None => Lane::drawn(name, &lanes64.path, loader(batch, threads, None)?),
                Some(rival) => Lane::theirs(name, rival.clone(), task(batch)),
            })
        };
        let mut lanes = BATCHES.iter().map(lane).collect::<Result<Vec<_>>>()?;
        let failed = take_turns(&mut lanes, 1, run.watch)?;
        let seconds = |lane: &Lane| lane.median(|took| took.seconds_for(1000));
        let points = BATCHES.iter().zip(&lanes);
        let points = points.filter_map(|(&batch, lane)| Some((batch.into(), seconds(lane)?)));
        Ok((points.collect(), failed))
    };
    let mut lines = vec![Line { name: "fdconvert, drawn".into(), points: over(None)?.0 }];
    if let Some(rival) = &torch {
        let (points, failed) = over(Some(rival))?;
        failures(&mut found.missing, failed);
        lines.push(Line { name: TORCH.into(), points });
    }

    found.results = results(&lanes);
    found.claims = claims(&lanes, &lines);
    found.figures = vec![rates(&lanes), batches(lines)];
    found.tables = vec![table(&lanes, images)];
    found.differences = vec![
        format!(
            "{images} classes of one image instead of a million, by contracting maps (family svd), \
             which need no search by fill rate: for a million of FractalDB's categories that search \
             would take some thirty hours of a processor. 100,000 points, {SIZE} pixels a side."
        ),
        format!(
            "{threads} threads or workers on the CPU; the paper has 160 workers for eight GPUs, on \
             other processors. Its mark is its ratio to TorchVision."
        ),
        "No training: the paper's second table, an epoch of DeiT-Tiny in 64 s instead of 124, needs \
         graphics cards."
            .into(),
    ];
    Ok(found)
}

fn rates(lanes: &[Lane]) -> Figure {
    let rate = Took::images_per_cpu_second;
    let torch = lanes.iter().find(|lane| lane.name == TORCH);
    let torch = torch.and_then(|lane| lane.median(rate));
    let bars = lanes.iter().map(|lane| {
        let told = match lane.name.as_str() {
            TORCH => Some(1.0),
            DRAWN => Some(TOLD),
            _ => None,
        };
        Bar { paper: torch.zip(told).map(|(torch, told)| torch * told), ..lane.bar(rate) }
    });
    Figure {
        title: "Images of one processor".into(),
        caption: format!(
            "Batches of {BATCH} in 32-bit floats, channels first, normalised; median and range. A \
             worker of the paper draws {TOLD_PER_WORKER:.0} images a second."
        ),
        plot: Plot::Bars {
            unit: "images per second of one processor".into(),
            mark: "the paper's ratio to TorchVision".into(),
            bars: bars.collect(),
        },
    }
}

fn batches(lines: Vec<Line>) -> Figure {
    Figure {
        title: "Loading over the size of batches".into(),
        caption:
            "Seconds for a thousand images by all processors. The paper finds its pipeline flat \
                  over batch sizes."
                .into(),
        plot: Plot::Lines {
            x: "images of a batch".into(),
            y: "s for 1000 images".into(),
            doubles: true,
            lines,
            marks: Vec::new(),
        },
    }
}

fn table(lanes: &[Lane], images: u64) -> TableOf {
    let of = |lane: &Lane, number: &dyn Fn(&Took) -> f64| {
        lane.median(number).map_or_else(|| "-".into(), |median| format!("{median:.2}"))
    };
    let rows = lanes.iter().map(|lane| {
        vec![
            lane.name.clone(),
            of(lane, &Took::cpu_ms_per_image),
            of(lane, &|took| took.images_per_second()),
            of(lane, &|took| took.seconds_for(images)),
        ]
    });
    TableOf {
        title: "In numbers".into(),
        head: ["loader", "CPU ms an image", "images/s", "s an epoch"].map(Into::into).into(),
        rows: rows.collect(),
    }
}

fn rate(lanes: &[Lane], name: &str) -> Option<f64> {
    let lane = lanes.iter().find(|lane| lane.name == name)?;
    lane.median(Took::images_per_cpu_second)
}

fn claims(lanes: &[Lane], lines: &[Line]) -> Vec<Claim> {
    let drawing =
        format!("Drawing images while loading is {TOLD} times as fast as reading their PNGs.");
    let mut claims = vec![match (rate(lanes, DRAWN), rate(lanes, TORCH)) {
        (Some(drawn), Some(torch)) => {
            let here = format!("{:.1} times what torch reads, by the processor.", drawn / torch);
            Claim::measured(drawing, here, drawn >= TOLD * torch)
        }
        _ => Claim::not_here(drawing, "torch, which it is compared with, was not measured."),
    }];
    let seconds =
        lines.first().into_iter().flat_map(|line| &line.points).map(|(_, seconds)| *seconds);
    let (least, most) = seconds.fold((f64::INFINITY, 0.0_f64), |(least, most), seconds| {
        (least.min(seconds), most.max(seconds))
    });
    if least < f64::INFINITY {
        claims.push(Claim::measured(
            "Its speed is the same for every size of batches.",
            format!(
                "{least:.2} to {most:.2} s for a thousand images; large batches of a short epoch \
                 wait longest for the first."
            ),
            most <= FLAT * least,
        ));
    }
    claims.push(Claim::not_here(
        "An epoch of DeiT-Tiny takes 64 s instead of 124.",
        "Training needs GPUs.",
    ));
    claims
}

fn results(lanes: &[Lane]) -> Vec<String> {
    let rate = |name: &str| rate(lanes, name);
    let mut results = Vec::new();
    if let Some(drawn) = rate(DRAWN) {
        results.push(format!(
            "One processor draws {drawn:.0} images a second; a worker of the paper \
             {TOLD_PER_WORKER:.0}."
        ));
    }
    if let (Some(drawn), Some(shards)) = (rate(DRAWN), rate("fdconvert, stored, shards")) {
        results.push(format!(
            "Drawing makes {:.2} times the images that fdconvert reads of them from shards.",
            drawn / shards
        ));
    }
    results
}
