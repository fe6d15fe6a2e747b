//! Measures, solves and verifies, in that order.
use super::{
    ProfileOptions, Search, Verify,
    machine::measured_on,
    trial::{Running, Trial},
};
use crate::{Context, Stage};
use fdconvert_codec::JpegOptions;
use fdconvert_core::{Codec, Error, Limits, Result, Source, option};
use fdconvert_pipeline::{Cancel, threads};
use fdconvert_profile::{
    Bandwidth, Cost, FormatReport, Machine, Measured, Measuring, MixtureReport, Model, Pattern,
    ReadPlan, Report, Target, Throttle, Verified, measure_read,
    research::{best_mixture, paper_search, resources},
    sample, time_formats,
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Checked options of a profile, with their defaults resolved.
struct Setup<'a> {
    options: &'a ProfileOptions,
    target: &'a Path,
    threads: usize,
    fetch_threads: usize,
}

/// Minimum time and bytes of disk reads: the bandwidth of less is noise.
const READ_SECONDS: f64 = 1.5;
const READ_BYTES: u64 = 1 << 30;
/// Distance from the predicted share at which the loader is tried on both sides.
const BESIDE: f64 = 0.05;

/// Measures with `options` on the disk of `target`.
pub(super) fn measure_on(
    source: &dyn Source,
    options: &ProfileOptions,
    target: &Path,
    context: Context<'_>,
) -> Result<Report> {
    let setup = &Setup {
        options,
        target,
        threads: threads(options.threads)?,
        fetch_threads: options.fetch_threads.clamp(1, 1024),
    };
    let cancel = context.cancel;
    let cancelled = || cancel.is_cancelled();
    let steps = context.progress.stage(Stage::Profiling);
    // An upper bound: the number of shares worth trying follows from the model.
    let most = shares_at_most(options.verify);
    steps.total(4 + u64::from(options.runs) * most);
    let formats = formats(source, options)?;

    steps.on("decoding samples");
    let measuring = Measuring {
        samples: options.samples,
        threads: setup.threads,
        passes: 3,
        seed: options.seed,
        limits: Limits { max_pixels: options.max_pixels, max_file_bytes: options.max_file_bytes.0 },
        jpeg: JpegOptions { quality: options.jpeg_quality, ..JpegOptions::default() },
        ..Measuring::default()
    };
    let sampled = sample(source, &formats, &measuring, &cancelled)?;
    let measured = time_formats(&sampled, &measuring, &cancelled)?;
    steps.step();

    let mut warnings = Vec::new();
    let trial = match Trial::new(&sampled, setup.target, cancel) {
        Ok(trial) => Some(trial),
        Err(Error::Io { source: cause, .. }) if is_read_only(cause.kind()) => {
            warnings.push(format!(
                "{} cannot be written ({cause}): read speed is that of files found there, and no \
                 ratio was tried with the loader",
                setup.target.display()
            ));
            None
        }
        Err(error) => return Err(error),
    };
    steps.step();

    steps.on("reading");
    let throttle = options
        .throttle_read
        .and_then(|rate| Throttle::new(rate.bytes_per_s() as f64))
        .map(Arc::new);
    let read = bandwidth(trial.as_ref(), &measured, setup, throttle.as_deref(), &cancelled)?;
    steps.step();

    steps.on("decoding");
    let running = Running {
        threads: setup.threads,
        fetch_threads: setup.fetch_threads,
        throttle,
        cache_share: options.cache.0 as f64 / source.len().max(1) as f64,
        time: Duration::from_secs_f64(options.seconds.clamp(0.01, 3600.0)),
        seed: options.seed,
    };
    let costs = costs(trial.as_ref(), &measured, &running, cancel)?;
    steps.step();
    let machine = Machine {
        read_bytes_per_s: read.bytes_per_s,
        effective_cores: match &trial {
            // Costs are then thread seconds, in parallel with the others.
            Some(_) => setup.threads as f64,
            None => measured.effective_cores(),
        },
        cache_bytes: options.cache.0 as f64,
        consumer_images_per_s: options.consumer_rate,
    };
    let names: Vec<&str> = formats.iter().map(|codec| name(*codec)).collect();
    let (pair, model) = best_pair(&formats, &costs, machine, source.len())?;
    let target = setup.target.display().to_string();
    let mut report = Report::new(source.name(), &target, pair.map(|form| names[form]), &model);
    if formats.len() > 2 {
        report.formats = Some(all_formats(&names, &costs, &machine, source.len())?);
    }
    if options.search == Some(Search::Paper) {
        report.search = Some(paper_search(|share| Ok(model.throughput(share)))?);
    }
    report.measured = Some(measured);
    report.read = Some(read);
    report.warnings = warnings;
    report.measured_on = Some(measured_on(setup.target, &options.command));
    if let Some(trial) = &trial {
        let shares = shares(options.verify, &report);
        steps.total(4 + u64::from(options.runs) * shares.len() as u64);
        let mut verified: Vec<Verified> =
            shares.iter().map(|&share| Verified { share, runs: Vec::new() }).collect();
        // Shares take turns, so that a temporary disturbance affects all of them.
        for _ in 0..options.runs {
            for verified in &mut verified {
                let raw = names.get(pair[1]).copied().unwrap_or_default();
                steps.on(&format!("loading at {:.0} % {raw}", verified.share * 100.0));
                verified.runs.push(trial.run(pair, verified.share, &running, cancel)?);
                steps.step();
            }
        }
        report.verified = verified;
        report.decide(&model);
    }
    Ok(report)
}

/// Returns the requested formats, else BMP and the format of most of the source.
fn formats(source: &dyn Source, options: &ProfileOptions) -> Result<Vec<Codec>> {
    if options.formats.is_empty() {
        let n_looked_at = source.len().min(100);
        let mut n_jpeg = 0;
        for n in 0..n_looked_at {
            let hint = source.codec_hint(n * source.len() / n_looked_at)?;
            n_jpeg += u64::from(hint == Some(Codec::Jpeg));
        }
        let encoded = if n_jpeg * 2 > n_looked_at { Codec::Jpeg } else { Codec::Png };
        return Ok(vec![encoded, Codec::Bmp]);
    }
    let mut formats = options.formats.clone();
    formats.sort_unstable();
    formats.dedup();
    if formats.len() < 2 {
        return Err(Error::usage(option::FORMATS, "a mixture needs two, e.g. png,bmp"));
    }
    Ok(formats)
}

fn name(codec: Codec) -> &'static str {
    if codec == Codec::Jpeg { "jpeg" } else { codec.extension() }
}

fn is_read_only(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
}

/// Returns the bandwidth of the target for requests of the size of an image.
fn bandwidth(
    trial: Option<&Trial>,
    measured: &Measured,
    setup: &Setup<'_>,
    throttle: Option<&Throttle>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Bandwidth> {
    let sizes = measured.formats.iter().map(|format| format.cost.bytes_per_image);
    let mean = sizes.sum::<f64>() / measured.formats.len().max(1) as f64;
    let plan = ReadPlan {
        request_bytes: (mean as usize).clamp(4096, 16 << 20),
        fetch_threads: setup.fetch_threads,
        pattern: Pattern::Random,
        max_bytes: READ_BYTES,
        max_seconds: READ_SECONDS,
        seed: setup.options.seed,
    };
    let files = match trial {
        Some(trial) => trial.files()?,
        None => found_files(setup.target)?,
    };
    measure_read(&Target::Files(files), &plan, throttle, cancelled)
}

/// Returns the files of a read-only folder that are large enough to read.
fn found_files(target: &Path) -> Result<Vec<PathBuf>> {
    const MANY: usize = 64;
    const LARGE: u64 = 1 << 20;
    let entries = walkdir::WalkDir::new(target).sort_by_file_name().into_iter().flatten();
    let is_large = |entry: &walkdir::DirEntry| {
        entry.file_type().is_file() && entry.metadata().is_ok_and(|file| file.len() >= LARGE)
    };
    let files = entries.filter(is_large).take(MANY).map(walkdir::DirEntry::into_path);
    let files: Vec<_> = files.collect();
    if files.is_empty() {
        let what = format!(
            "{} can neither be written nor has it files of 1 MiB or more to read; name another \
             folder on the disk to measure",
            target.display()
        );
        return Err(Error::usage(option::TARGET, what));
    }
    Ok(files)
}

/// Measures bytes and thread seconds for each form: the loader's cost with the bytes in memory,
/// including resizing and checksums. Without a trial, decoding alone.
fn costs(
    trial: Option<&Trial>,
    measured: &Measured,
    running: &Running,
    cancel: &Cancel,
) -> Result<Vec<Cost>> {
    let cost = |(form, format): (usize, &fdconvert_profile::FormatCost)| {
        let Some(trial) = trial else { return Ok(format.cost) };
        // The best of three: anything else that runs only slows it down.
        let mut rate = 0.0_f64;
        for _ in 0..3 {
            rate = rate.max(trial.decode_rate(form, running, cancel)?);
        }
        let seconds = running.threads as f64 / rate.max(f64::MIN_POSITIVE);
        Ok(Cost { cpu_seconds_per_image: seconds, ..format.cost })
    };
    measured.formats.iter().enumerate().map(cost).collect()
}

/// Returns the encoded form and the raw one that are fastest together.
fn best_pair(
    formats: &[Codec],
    costs: &[Cost],
    machine: Machine,
    n_images: u64,
) -> Result<([usize; 2], Model)> {
    let mut best: Option<([usize; 2], Model, f64)> = None;
    let raw = formats.iter().position(|codec| *codec == Codec::Bmp).unwrap_or(formats.len() - 1);
    for encoded in (0..formats.len()).filter(|form| *form != raw) {
        let model = Model::new(costs[encoded], costs[raw], machine, n_images)?;
        let rate = model.solve().optimum.throughput.images_per_s();
        if best.as_ref().is_none_or(|(.., known)| rate > *known) {
            best = Some(([encoded, raw], model, rate));
        }
    }
    let (pair, model, _) =
        best.ok_or_else(|| Error::usage(option::FORMATS, "a mixture needs two, e.g. png,bmp"))?;
    Ok((pair, model))
}

fn all_formats(
    names: &[&str],
    costs: &[Cost],
    machine: &Machine,
    n_images: u64,
) -> Result<MixtureReport> {
    let formats = names.iter().zip(costs);
    let formats = formats.map(|(name, cost)| FormatReport { name: (*name).into(), cost: *cost });
    let mixture = best_mixture(&resources(costs, machine, n_images), None)?;
    Ok(MixtureReport { formats: formats.collect(), mixture })
}

/// Returns the number of shares to try, before duplicates are removed.
fn shares_at_most(verify: Verify) -> u64 {
    match verify {
        Verify::Off => 0,
        Verify::Around => 5,
        Verify::Sweep => 16,
    }
}

/// Returns the shares to try: ascending, without duplicates.
fn shares(verify: Verify, report: &Report) -> Vec<f64> {
    let optimum = report.solution.optimum.share;
    let around = [0.0, optimum - BESIDE, report.solution.cheapest.share, optimum, optimum + BESIDE];
    let tenths = (0..=10).map(|k| f64::from(k) / 10.0);
    let mut shares: Vec<f64> = match verify {
        Verify::Off => Vec::new(),
        Verify::Around => around.into(),
        Verify::Sweep => tenths.chain(around).collect(),
    };
    shares.iter_mut().for_each(|share| *share = share.clamp(0.0, 1.0));
    shares.sort_by(f64::total_cmp);
    // Closer shares give the same measurement.
    shares.dedup_by(|a, b| (*a - *b).abs() < 0.005);
    shares
}
