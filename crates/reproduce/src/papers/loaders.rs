//! Paper 000: loaders compared on FractalDB.
//!
//! The paper loads a million images of FractalDB (1000 classes of 1000, 362 pixels) from a network
//! file system and from a local disk: a batch step of 500 with resize, conversion and normalisation
//! (its figures 6 and 7), and an epoch with AutoAugment (figure 8); before that it reports the time
//! of converting the folder (figures 2 and 3). It has few numbers, all in its text.
use super::{Found, Run, SIZE, failures, loader};
use crate::{
    Bar, Claim, Figure, Plot, TableOf,
    data::{Made, Maker},
    lane::{Lane, Took, take_turns},
    rivals::{self, Kind, Rival, Task},
};
use fdconvert::{Encoding, PackOptions};
use fdconvert_core::Result;
use fdconvert_loader::{
    Access, Transform,
    parts::{Interpolation, Policy},
};
use fdconvert_profile::{SlowStorage, Throttle};
use std::{path::Path, sync::Arc, time::Duration};

/// Batch size of the paper.
const BATCH: u32 = 500;
/// Images of a class: 25 rows of weights and four flips.
const PER_CLASS: u64 = 100;
/// Bandwidth for one node of a network file system that many nodes share, which the paper does not
/// describe; its latency follows.
const SLOW_BYTES_PER_S: f64 = 50e6;
const SLOW_LATENCY: Duration = Duration::from_millis(2);
/// Requests in flight on slow storage.
const SLOW_FETCHES: usize = 32;

/// The paper's speed over an epoch, as a multiple of torch's loader: 5 minutes for it and for 1000
/// shards, one minute more for 100, under 3 for FFCV at a tenth, 67 s for DALI.
const EPOCH: [(&str, f64); 4] = [
    ("torch, folder", 1.0),
    ("webdataset, many shards", 1.0),
    ("webdataset, few shards", 5.0 / 6.0),
    ("DALI (CPU), folder", 300.0 / 67.0),
];
/// Likewise for a batch step on the local disk: 30 s for torch, 6 for DALI.
const STEP: [(&str, f64); 2] = [("torch, folder", 1.0), ("DALI (CPU), folder", 5.0)];
/// Likewise for images drawn while loading, in the paper's outlook: an epoch in 62 s.
const ON_THE_FLY: f64 = 300.0 / 62.0;
/// Ratios of rates from which one is far ahead of another, and from which ahead at all.
const FAR: f64 = 1.5;
const CLOSE: f64 = 1.05;
const FORMULA: &str = "fdconvert, formula";

pub(super) fn run(run: &Run<'_>) -> Result<Found> {
    let options = run.options;
    let images = options.n_images(2000, 20_000)?;
    // Only whole classes.
    let images = images.next_multiple_of(if images >= 10_000 { 1000 } else { PER_CLASS });
    let (threads, rounds) = (options.n_threads()?, options.n_rounds());
    let (rivals, missing) = rivals::find(&Kind::ALL, &options.python, run.folder, run.watch)?;
    let maker = Maker { folder: run.folder, threads, watch: run.watch };
    let data = Data::make(&maker, images)?;
    let mut found = Found { others: rivals, missing, ..Found::default() };

    let mut step = lanes(&data, &found.others, images, threads, false)?;
    let mut epoch = lanes(&data, &found.others, images, threads, true)?;
    let mut slow = slow_lanes(&data, threads)?;
    let n_turns = (step.len() + epoch.len()) as u64 * u64::from(rounds) + slow.len() as u64;
    run.watch.total(data.all().count() as u64 + n_turns);
    failures(&mut found.missing, take_turns(&mut step, rounds, run.watch)?);
    failures(&mut found.missing, take_turns(&mut epoch, rounds, run.watch)?);
    take_turns(&mut slow, 1, run.watch)?;

    found.figures = vec![
        rates(
            "Figure 7: batches of 500 from the local disk",
            &format!(
                "Resized to {SIZE} x {SIZE}, 32-bit floats, channels first, normalised; median and \
                 range of {rounds} rounds, files in the page cache. A mark stands where the \
                 paper's ratio to torch's loader would be on this machine."
            ),
            &step,
            &STEP,
        ),
        rates(
            "Figure 8: an epoch with AutoAugment",
            "The same with AutoAugment before the conversion; FFCV has none and is not measured.",
            &epoch,
            &EPOCH,
        ),
        slow_figure(&slow),
    ];
    found.tables = vec![conversions(&data, images), seconds(&step, &epoch)];
    found.claims = claims(&step, &slow);
    found.results = results(&data, &step, &epoch);
    found.differences = differences(images, threads);
    Ok(found)
}

/// The dataset in all its forms.
struct Data {
    folder: Made,
    packed: Vec<(&'static str, Made)>,
}

impl Data {
    fn make(maker: &Maker<'_>, images: u64) -> Result<Self> {
        let per_class = if images >= 10_000 { 1000 } else { PER_CLASS };
        let classes = images.div_ceil(per_class);
        let recipe =
            format!("fractal:fractaldb?classes={classes}&instances={per_class}&sampler=lanes64-v1");
        let recipe = Path::new(&recipe);
        let keep = PackOptions::default;
        let formula = maker.pack(recipe, "drawn.formula", keep())?;
        let folder = maker.colour_files(&formula.path, "folder")?;
        let (few, many) = if images >= 10_000 { (100, 1000) } else { (10, 100) };
        let forms = [
            ("few shards", "few.wds", keep().shards(few)),
            ("many shards", "many.wds", keep().shards(many)),
            ("beton, quality 10", "q10.beton", keep().jpeg_quality(10)),
            ("beton, quality 50", "q50.beton", keep().jpeg_quality(50)),
            ("beton, quality 90", "q90.beton", keep().jpeg_quality(90)),
            ("beton, raw", "raw.beton", keep().encode(Encoding::Raw)),
            ("MDS", "streaming.mds", keep()),
        ];
        let mut packed = Vec::new();
        for (name, file, options) in forms {
            packed.push((name, maker.pack(&folder.path, file, options)?));
        }
        packed.push(("formula", formula));
        Ok(Self { folder, packed })
    }

    fn get(&self, name: &str) -> &Path {
        let found = self.packed.iter().find(|(other, _)| *other == name);
        found.map_or(&self.folder.path, |(_, made)| &made.path)
    }

    /// Yields all forms, the folder first.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Made)> {
        let packed = self.packed.iter().map(|(name, made)| (*name, made));
        std::iter::once(("folder", &self.folder)).chain(packed)
    }
}

fn lanes(
    data: &Data,
    rivals: &[Rival],
    images: u64,
    threads: usize,
    augment: bool,
) -> Result<Vec<Lane>> {
    let (policy, interpolation) = (Policy::ImageNet, Interpolation::Nearest);
    let change = augment.then_some(Transform::AutoAugment { policy, interpolation, fill: [0; 3] });
    let options = loader(BATCH, threads, change)?;
    let ours = data.all().map(|(name, made)| {
        let new = if name == "formula" { Lane::drawn } else { Lane::ours };
        new(format!("fdconvert, {name}"), &made.path, options.clone())
    });
    let mut lanes: Vec<Lane> = ours.collect();
    for rival in rivals {
        let forms: &[(&str, &str)] = match rival.kind {
            Kind::Torch | Kind::Dali => &[("folder", "folder")],
            Kind::Webdataset => &[("few shards", "few shards"), ("many shards", "many shards")],
            // The paper had to write this step for FFCV.
            Kind::Ffcv if augment => &[],
            Kind::Ffcv => &[
                ("quality 10", "beton, quality 10"),
                ("quality 50", "beton, quality 50"),
                ("quality 90", "beton, quality 90"),
            ],
        };
        for (name, form) in forms {
            let task = Task {
                data: data.get(form).to_owned(),
                images,
                batch: BATCH,
                size: SIZE,
                workers: threads,
                augment,
                latency: Duration::ZERO,
            };
            let name = format!("{}, {name}", rival.kind.name());
            lanes.push(Lane::theirs(name, rival.clone(), task));
        }
    }
    Ok(lanes)
}

/// Returns the lanes on slow storage, of fdconvert only: another loader can only be slowed down
/// with its whole machine.
fn slow_lanes(data: &Data, threads: usize) -> Result<Vec<Lane>> {
    let slow = |name: &'static str, path: &Path| -> Result<Lane> {
        let storage = SlowStorage {
            latency: SLOW_LATENCY,
            throttle: Throttle::new(SLOW_BYTES_PER_S).map(Arc::new),
            ..SlowStorage::default()
        };
        let options =
            loader(BATCH, threads, None)?.fetch_threads(SLOW_FETCHES).access(Access::Mapped);
        Ok(Lane::slow(format!("fdconvert, {name}"), path, options, storage))
    };
    let forms = data.all().filter(|(name, _)| *name != "formula");
    forms.map(|(name, made)| slow(name, &made.path)).collect()
}

/// Draws images/s of one processor, with the paper's ratios as marks.
fn rates(title: &str, caption: &str, lanes: &[Lane], told: &[(&str, f64)]) -> Figure {
    let rate = |took: &Took| took.images_per_cpu_second();
    let torch = lanes.iter().find(|lane| lane.name == "torch, folder");
    let torch = torch.and_then(|lane| lane.median(rate));
    let bars = lanes.iter().map(|lane| {
        let ratio = told.iter().find(|(name, _)| *name == lane.name).map(|(_, ratio)| *ratio);
        let ratio = ratio.or_else(|| (lane.name == FORMULA).then_some(ON_THE_FLY));
        Bar { paper: torch.zip(ratio).map(|(torch, ratio)| torch * ratio), ..lane.bar(rate) }
    });
    Figure {
        title: title.into(),
        caption: caption.into(),
        plot: Plot::Bars {
            unit: "images per second of one processor".into(),
            mark: "the paper's ratio to torch".into(),
            bars: bars.collect(),
        },
    }
}

fn slow_figure(lanes: &[Lane]) -> Figure {
    Figure {
        title: "Figure 6: batches of 500 from slow storage".into(),
        caption: format!(
            "{:.0} MB/s and {} ms a request, which fdconvert plays itself; {SLOW_FETCHES} \
             reads in flight. The paper's network file system took 68 s for a step of torch's \
             loader, 30 on the local disk, and 40 instead of 6 with DALI.",
            SLOW_BYTES_PER_S / 1e6,
            SLOW_LATENCY.as_millis()
        ),
        plot: Plot::Bars {
            unit: "images per second".into(),
            mark: String::new(),
            bars: lanes.iter().map(|lane| lane.bar(Took::images_per_second)).collect(),
        },
    }
}

/// Figures 2 and 3: the cost of converting.
fn conversions(data: &Data, images: u64) -> TableOf {
    let rows = data.all().map(|(name, made)| {
        vec![
            name.to_owned(),
            fdconvert_core::size(made.bytes),
            fdconvert_core::size(made.bytes / images.max(1)),
            made.files.to_string(),
            format!("{:.1}", made.seconds),
            format!("{:.1}", made.cpu_seconds),
        ]
    });
    TableOf {
        title: "Figures 2 and 3: what the forms take".into(),
        head: ["form", "on disk", "an image", "files", "s to make", "CPU s"].map(Into::into).into(),
        rows: rows.collect(),
    }
}

fn seconds(step: &[Lane], epoch: &[Lane]) -> TableOf {
    let of = |lanes: &[Lane], name: &str, number: &dyn Fn(&Took) -> f64| {
        let lane = lanes.iter().find(|lane| lane.name == name);
        let median = lane.and_then(|lane| lane.median(number));
        median.map_or_else(|| "-".into(), |median| format!("{median:.2}"))
    };
    let rows = step.iter().map(|lane| {
        let name = lane.name.as_str();
        vec![
            name.to_owned(),
            of(step, name, &|took| took.seconds_for(u64::from(BATCH))),
            of(step, name, &Took::cpu_ms_per_image),
            of(epoch, name, &|took| took.seconds_for(1_000_000) / 60.0),
            of(epoch, name, &Took::cpu_ms_per_image),
        ]
    });
    let head = [
        "loader and form",
        "s a step of 500",
        "CPU ms an image",
        "min a million with AutoAugment",
        "CPU ms an image",
    ];
    TableOf {
        title: "Figures 7 and 8 in numbers".into(),
        head: head.map(Into::into).into(),
        rows: rows.collect(),
    }
}

/// Pairs of loaders that read the same files.
const PAIRS: [(&str, &str); 5] = [
    ("fdconvert, folder", "torch, folder"),
    ("fdconvert, many shards", "webdataset, many shards"),
    ("fdconvert, beton, quality 10", "FFCV, quality 10"),
    ("fdconvert, beton, quality 90", "FFCV, quality 90"),
    ("fdconvert, folder", "DALI (CPU), folder"),
];

/// Returns the ratio of the first loader's images per CPU second to those of the second.
fn times(lanes: &[Lane], ours: &str, theirs: &str) -> Option<f64> {
    let of = |name: &str| {
        let lane = lanes.iter().find(|lane| lane.name == name)?;
        lane.median(Took::images_per_cpu_second)
    };
    Some(of(ours)? / of(theirs)?)
}

/// Returns the rate of a form on slow storage.
fn slow_rate(slow: &[Lane], name: &str) -> Option<f64> {
    let lane = slow.iter().find(|lane| lane.name == format!("fdconvert, {name}"))?;
    lane.median(Took::images_per_second)
}

fn claims(step: &[Lane], slow: &[Lane]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let ffcv = "FFCV loads a beton at quality 10 in less time than torch the folder.";
    claims.push(match times(step, "FFCV, quality 10", "torch, folder") {
        Some(times) => {
            let here = format!("{times:.1} times the images of one processor.");
            Claim::measured(ffcv, here, times > 1.0)
        }
        None => Claim::not_here(ffcv, "FFCV and torch were not measured."),
    });
    let betons = [10, 50, 90].map(|quality| {
        let name = format!("fdconvert, beton, quality {quality}");
        let lane = step.iter().find(|lane| lane.name == name)?;
        lane.median(Took::images_per_cpu_second)
    });
    if let [Some(low), Some(middle), Some(high)] = betons {
        claims.push(Claim::measured(
            "The lower the quality in a beton, the faster it loads.",
            format!(
                "{low:.0}, {middle:.0} and {high:.0} images/s of one processor at quality 10, 50 \
                 and 90."
            ),
            low > middle && middle > high,
        ));
    }
    if let [Some(folder), Some(few), Some(many)] =
        ["folder", "few shards", "many shards"].map(|name| slow_rate(slow, name))
    {
        claims.push(Claim::measured(
            "From slow storage the folder is far behind shards.",
            format!("The folder gives {folder:.0} images/s there, many shards {many:.0}."),
            many > FAR * folder,
        ));
        claims.push(Claim::measured(
            "More shards are faster than few.",
            format!("{many:.0} images/s from many, {few:.0} from few."),
            many > CLOSE * few,
        ));
    }
    claims.push(Claim::not_here(
        "DALI on a GPU loads an epoch 4.5 times as fast as torch.",
        "There is no GPU here; on the CPU see the figures.",
    ));
    claims
}

fn results(data: &Data, step: &[Lane], epoch: &[Lane]) -> Vec<String> {
    let mut results = Vec::new();
    for (ours, theirs) in PAIRS {
        let Some(without) = times(step, ours, theirs) else { continue };
        let with = times(epoch, ours, theirs);
        let with = with.map(|with| format!(", {with:.1} times with AutoAugment"));
        results.push(format!(
            "{ours}: {without:.1} times the images of one processor of {theirs}{}.",
            with.unwrap_or_default()
        ));
    }
    let bytes = |name: &str| {
        let found = data.packed.iter().find(|(other, _)| *other == name);
        fdconvert_core::size(found.map_or(0, |(_, made)| made.bytes))
    };
    results.push(format!(
        "The formula takes {}, the folder {}, the beton at quality 10 {}.",
        bytes("formula"),
        fdconvert_core::size(data.folder.bytes),
        bytes("beton, quality 10")
    ));
    results
}

fn differences(images: u64, threads: usize) -> Vec<String> {
    vec![
        format!(
            "{images} images instead of a million, made by the sampler lanes64-v1; all of them fit \
             the page cache, as the local disk of the paper is faster than its loaders."
        ),
        format!(
            "{threads} threads or worker processes and no graphics card: nothing is moved to a \
             device, and DALI works on the CPU, where in the paper it decodes and augments on a \
             GPU. Its marks are of that."
        ),
        "No network file system: slow storage is played by fdconvert's loader for itself, with a \
         rate and a time for each request; loaders of others cannot be slowed down so."
            .into(),
        "The paper has its transformations in the beton when it measures FFCV; here FFCV resizes \
         and normalises as the others do."
            .into(),
        "Marks are the paper's times as ratios, since its processors are others.".into(),
    ]
}
