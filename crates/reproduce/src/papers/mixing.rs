//! Paper 003: PNG and BMP mixed so that disk and processors are equally busy.
//!
//! Liquid stores a share of Cityscapes' PNGs as BMP, which gives the disk more work and the
//! processors less. The paper finds 2 to 8 tenths of BMP fastest, depending on the speed of the
//! disk, by bisection over eleven ratios (its figures 2 and 3).
use super::{Found, Run};
use crate::{
    Bar, Claim, Figure, Line, Mark, Plot, TableOf, Verdict,
    data::{Made, Maker},
    lane::{Lane, Took, take_turns},
};
use fdconvert::{
    ByteRate, Context, Encoding, PackOptions, ProfileOptions, ProfileReport, Ratio, Search, Share,
    Verify,
};
use fdconvert_core::{Error, Result};
use fdconvert_loader::{Access, Options};
use fdconvert_profile::{SlowStorage, Throttle};
use std::sync::Arc;

/// Size of the images of Cityscapes.
const IMAGE: (u32, u32) = (2048, 1024);
/// Bandwidths of disks, as multiples of what the processors can decode of PNGs.
const DISKS: [(f64, &str); 2] = [(1.2, "a slow disk"), (2.5, "a fast disk")];
/// The paper's ratios of BMP: on the machine of its figure 3, and on two others.
const TOLD: f64 = 0.2;
const BATCH: u32 = 8;
/// Share by which gains differ without contradicting each other.
const NOISE: f64 = 0.05;

pub(super) fn run(run: &Run<'_>) -> Result<Found> {
    let options = run.options;
    let images = options.n_images_from(if options.quick { 16 } else { 64 }, 8)?;
    let threads = options.n_threads()?;
    run.watch.total(9 + 5 * u64::from(options.n_rounds()));
    let maker = Maker { folder: run.folder, threads, watch: run.watch };
    let folder = maker.street_files(IMAGE, images, "streets")?;

    // The processors' rate for PNGs, independent of the disk.
    let first = profile(run, &folder, None, Verify::Off)?;
    let cores = first.machine.effective_cores;
    let pngs_per_s = cores / first.encoded.cost.cpu_seconds_per_image;
    let png_bytes_per_s = pngs_per_s * first.encoded.cost.bytes_per_image;
    let sweeps = DISKS
        .iter()
        .map(|&(times, name)| {
            let rate = (times * png_bytes_per_s).round();
            Ok((name, rate, profile(run, &folder, Some(rate), Verify::Sweep)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut found = Found::default();
    for (name, rate, report) in &sweeps {
        found.figures.push(sweep_figure(name, *rate, report));
        found.results.push(result(name, report));
    }
    if let [(_, _, slow), (_, _, fast)] = &*sweeps {
        found.claims.push(depends(slow.solution.chosen.share, fast.solution.chosen.share));
    }
    if let Some((name, rate, report)) = sweeps.first() {
        let share = report.solution.chosen.share;
        let lanes = forms(run, &maker, &folder, (*rate, share))?;
        found.claims.insert(0, mixture(name, report, &lanes));
        found.figures.push(busy_figure(name, &lanes));
        found.tables.push(busy_table(&lanes, *rate, threads));
    }
    found.differences = vec![
        format!(
            "{images} made images of {} x {} pixels with the ratio of Cityscapes' PNGs to their \
             BMPs, which may not be given away.",
            IMAGE.0, IMAGE.1
        ),
        format!(
            "Disks are played by a rate: {} and {} times what {cores:.1} processors decode of PNGs.",
            DISKS[0].0, DISKS[1].0
        ),
        "The ratio follows from a model in closed form and is tried with the loader; the paper's \
         bisection is run next to it."
            .into(),
        "There is no graphics card: the paper's goodput of one is here the rate of batches.".into(),
    ];
    Ok(found)
}

fn profile(
    run: &Run<'_>,
    folder: &Made,
    rate: Option<f64>,
    verify: Verify,
) -> Result<ProfileReport> {
    let step = match rate {
        None => "profiling the processors",
        Some(_) => "trying eleven ratios on a disk",
    };
    run.watch.begins(step)?;
    let throttle_read = rate
        .map(|rate| format!("{rate}B/s").parse::<ByteRate>())
        .transpose()
        .map_err(|what| Error::usage("throttle_read", what))?;
    let (runs, seconds) = if run.options.quick { (3, 1.0) } else { (5, 3.0) };
    let options = ProfileOptions::default()
        .target(run.folder.to_owned())
        .threads(run.options.n_threads()?)
        .throttle_read(throttle_read)
        .verify(verify)
        .search((verify == Verify::Sweep).then_some(Search::Paper))
        .runs(runs)
        .seconds(seconds);
    let inside = run.watch.inside(step);
    let context = Context { cancel: run.watch.cancel(), progress: &inside };
    fdconvert::profile(&folder.path, &options, context)
}

/// Draws the paper's figure 3 (b), with the model's prediction and the measurements.
fn sweep_figure(name: &str, rate: f64, report: &ProfileReport) -> Figure {
    let per_s = |choice: &fdconvert_profile::Choice| choice.throughput.images_per_s();
    let model = report.curve.iter().map(|choice| (choice.share * 100.0, per_s(choice)));
    let measured = report.verified.iter().map(|tried| (tried.share * 100.0, tried.images_per_s()));
    let mut measured: Vec<(f64, f64)> = measured.collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = report.curve.iter().find(|choice| choice.share >= TOLD);
    Figure {
        title: format!("Figure 3 (b): images a second over the share of BMP, {name}"),
        caption: format!(
            "A disk of {:.0} MB/s. The mark is at the ratio that is fastest in the paper's figure, \
             on its machine: 8:2, PNG to BMP.",
            rate / 1e6
        ),
        plot: Plot::Lines {
            x: "% of the images stored as BMP".into(),
            y: "images a second".into(),
            doubles: false,
            lines: vec![
                Line { name: "the model".into(), points: model.collect() },
                Line { name: "measured with the loader".into(), points: measured },
            ],
            marks: told
                .map(|choice| Mark {
                    x: choice.share * 100.0,
                    y: per_s(choice),
                    name: "the paper: 20 % BMP".into(),
                })
                .into_iter()
                .collect(),
        },
    }
}

fn result(name: &str, report: &ProfileReport) -> String {
    let chosen = report.solution.chosen.share;
    let gain = report
        .achieved(chosen)
        .zip(report.achieved(0.0))
        .map(|(chosen, png)| format!(", {:.2} times the rate of PNG alone", chosen / png));
    let plateau: Vec<f64> = {
        let most = report.verified.iter().map(|tried| tried.images_per_s()).fold(0.0, f64::max);
        let near = report.verified.iter().filter(|tried| tried.images_per_s() >= 0.95 * most);
        near.map(|tried| tried.share * 100.0).collect()
    };
    let (from, to) = plateau
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(from, to), &share| (from.min(share), to.max(share)));
    let search = report
        .search
        .as_ref()
        .map(|search| format!("; the paper's bisection ends at {:.0} %", search.share * 100.0));
    format!(
        "On {name} {:.0} % BMP is chosen{}; shares from {from:.0} to {to:.0} % are within 5 % of the \
         fastest that was measured{}.",
        chosen * 100.0,
        gain.unwrap_or_default(),
        search.unwrap_or_default()
    )
}

/// The claim that the best ratio depends on the disk.
fn depends(slow: f64, fast: f64) -> Claim {
    Claim::measured(
        "Faster disks ask for more BMP: 20, 30 and 70 % are fastest on three machines.",
        format!(
            "{:.0} % are chosen on a slow disk and {:.0} % on a fast one.",
            slow * 100.0,
            fast * 100.0
        ),
        slow < fast,
    )
}

/// The claim that a mixture is faster than its forms, by the tried ratios and by the epochs of
/// figure 2.
fn mixture(name: &str, report: &ProfileReport, lanes: &[Lane]) -> Claim {
    let rate = |form: &str| {
        let lane = lanes.iter().find(|lane| lane.name.starts_with(form))?;
        lane.median(Took::images_per_second)
    };
    let epochs = [rate("mixed"), rate("PNG"), rate("BMP")];
    let ratios = [report.solution.chosen.share, 0.0, 1.0].map(|share| report.achieved(share));
    compared(name, epochs, ratios)
}

/// Compares the rates of the mixture, of PNG and of BMP, measured in two ways, which may contradict
/// each other.
fn compared(name: &str, epochs: [Option<f64>; 3], ratios: [Option<f64>; 3]) -> Claim {
    let paper = "A mixture of PNG and BMP is faster than either of them.";
    let [Some(mixed), Some(png), Some(bmp)] = epochs else {
        return Claim::not_here(paper, "Not all forms were measured.");
    };
    let gain = mixed / png.max(bmp).max(1e-9);
    let here = format!(
        "On {name} epochs bring {mixed:.1} images/s mixed, {png:.1} as PNG and {bmp:.1} as BMP"
    );
    let [Some(best), Some(all_png), Some(all_bmp)] = ratios else {
        return Claim::measured(paper, format!("{here}."), gain > 1.0);
    };
    let tried_gain = best / all_png.max(all_bmp).max(1e-9);
    let here = format!(
        "{here}; with the ratios that were tried, {best:.1}, {all_png:.1} and {all_bmp:.1}."
    );
    // What differs by less is noise, and contradicts nothing.
    let differs = (gain - tried_gain).abs() > NOISE * gain.max(tried_gain);
    if differs && (gain > 1.0) != (tried_gain > 1.0) {
        let why = "Other work on the machine can do that, so repeat it while nothing else runs.";
        let (paper, here) = (paper.into(), format!("{here} {why}"));
        return Claim { paper, here, verdict: Verdict::Contradicted };
    }
    Claim::measured(paper, here, gain > 1.0 && tried_gain > 1.0)
}

/// Measures PNG, BMP, WebP, JPEG and the mixture on the same disk.
fn forms(
    run: &Run<'_>,
    maker: &Maker<'_>,
    folder: &Made,
    (rate, share): (f64, f64),
) -> Result<Vec<Lane>> {
    let keep = PackOptions::default;
    let mixed = |share: f64| keep().ratio(Share::new(share).map(Ratio::Share));
    let threads = run.options.n_threads()?;
    let forms = [
        ("PNG", maker.pack(&folder.path, "png.wds", keep())?),
        ("BMP", maker.pack(&folder.path, "bmp.wds", keep().encode(Encoding::Bmp))?),
        ("WebP without loss", maker.pack(&folder.path, "webp.wds", keep().encode(Encoding::Webp))?),
        ("JPEG, quality 90", maker.pack(&folder.path, "jpeg.wds", keep().jpeg_quality(90))?),
        ("mixed", maker.pack(&folder.path, "mixed.mixed", mixed(share))?),
    ];
    let mut lanes: Vec<Lane> = forms
        .into_iter()
        .map(|(name, made)| {
            let options = Options::default()
                .batch_size(BATCH)
                .threads(threads)
                .fetch_threads(4)
                .access(Access::Direct);
            let name = if name == "mixed" {
                format!("mixed, {:.0} % BMP", share * 100.0)
            } else {
                name.into()
            };
            let throttle = Throttle::new(rate).map(Arc::new);
            let storage = SlowStorage { throttle, ..SlowStorage::default() };
            let mut lane = Lane::slow(name, &made.path, options, storage);
            lane.bytes = made.bytes;
            lane
        })
        .collect();
    take_turns(&mut lanes, run.options.n_rounds(), run.watch)?;
    Ok(lanes)
}

fn busy_figure(name: &str, lanes: &[Lane]) -> Figure {
    let bars: Vec<Bar> = lanes.iter().map(|lane| lane.bar(Took::images_per_second)).collect();
    Figure {
        title: "Figure 2: the forms, and the mixture between them".into(),
        caption: format!("Epochs from {name}, past the page cache; median and range."),
        plot: Plot::Bars { unit: "images per second".into(), mark: String::new(), bars },
    }
}

/// Returns the utilisation of processors and disk: the paper's triangle.
fn busy_table(lanes: &[Lane], rate: f64, threads: usize) -> TableOf {
    let most = lanes.iter().filter_map(|lane| lane.median(Took::images_per_second));
    let most = most.fold(0.0, f64::max);
    let rows = lanes.iter().map(|lane| {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".into(), |share| format!("{:.0} %", share * 100.0))
        };
        let cpu = lane.median(|took| took.cpu_seconds / took.seconds / threads as f64);
        let disk = lane.median(|took| lane.bytes as f64 / took.seconds / rate);
        let goodput = lane.median(|took| took.images_per_second() / most.max(1e-9));
        vec![lane.name.clone(), percent(cpu), percent(disk), percent(goodput)]
    });
    TableOf {
        title: "Figure 2 in numbers: what is busy".into(),
        head: ["form", "processors", "disk", "of the fastest rate"].map(Into::into).into(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_that_contradict_the_ratios_are_told() {
        let verdict = |epochs: [f64; 3], ratios: [f64; 3]| {
            compared("a slow disk", epochs.map(Some), ratios.map(Some)).verdict
        };
        assert_eq!(verdict([126.0, 119.0, 86.0], [130.0, 120.0, 80.0]), Verdict::Reproduced);
        assert_eq!(verdict([44.6, 64.6, 40.0], [70.0, 60.0, 40.0]), Verdict::Contradicted);
        assert_eq!(verdict([70.0, 60.0, 40.0], [44.6, 64.6, 40.0]), Verdict::Contradicted);
        assert_eq!(verdict([60.0, 61.0, 40.0], [60.0, 59.5, 40.0]), Verdict::NotReproduced);
        assert_eq!(verdict([50.0, 60.0, 40.0], [50.0, 60.0, 40.0]), Verdict::NotReproduced);
        let said =
            compared("a slow disk", [44.6, 64.6, 40.0].map(Some), [70.0, 60.0, 40.0].map(Some));
        assert!(said.here.contains("44.6 images/s mixed, 64.6 as PNG"), "{}", said.here);
        let none = compared("a slow disk", [None; 3], [Some(1.0); 3]);
        assert_eq!(none.verdict, Verdict::NotHere);
    }
}
