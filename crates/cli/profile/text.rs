//! A profile for people at a terminal.
use super::measure::Setup;
use crate::output;
use fdconvert_profile::{Binding, Choice, Model, Report, Throughput, Verdict};

pub(crate) fn report(report: &Report, setup: &Setup) -> String {
    let mut text = format!(
        "profile of {}: {} images, read from {}\n",
        report.dataset,
        output::count(report.n_images),
        report.target
    );
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:10} {value}\n"));
    for format in [&report.encoded, &report.raw] {
        let cost = &format.cost;
        line(
            &format.name,
            format!(
                "{} an image, {:.2} ms of a thread to decode, resize and copy",
                output::size(cost.bytes_per_image as u64),
                cost.cpu_seconds_per_image * 1e3
            ),
        );
    }
    if let Some(read) = &report.read {
        let how = if read.cached_because.is_some() { "from memory" } else { "past the page cache" };
        let slowed = setup.throttle.map_or("", |_| ", slowed down");
        line(
            "reading",
            format!(
                "{}/s {how}{slowed}: requests of {}, {} in flight",
                output::size(read.bytes_per_s as u64),
                output::size(read.plan.request_bytes as u64),
                read.plan.queue_depth
            ),
        );
    }
    line("threads", format!("{} that decode", setup.threads));
    if setup.cache > 0 {
        line("cache", output::size(setup.cache));
    }
    text.push_str(&table(report));
    if let Some(search) = &report.search {
        let n = search.measured.len();
        text.push_str(&format!(
            "  the paper's search ends at {:.0} %, after {n} of 11 ratios\n",
            search.share * 100.0
        ));
    }
    if let Some(all) = &report.formats {
        let shares = all.formats.iter().zip(&all.mixture.shares);
        let shares = shares.filter(|(_, share)| **share > 0.0);
        let shares: Vec<_> = shares
            .map(|(format, share)| format!("{} {:.0} %", format.name, share * 100.0))
            .collect();
        text.push_str(&format!(
            "  of all {} forms, fastest by the model: {} ({:.0} images/s)\n",
            all.formats.len(),
            shares.join(", "),
            all.mixture.images_per_s
        ));
    }
    text.push_str(&verdict(report));
    text
}

/// Predicted and measured, side by side.
fn table(report: &Report) -> String {
    let mut text = format!(
        "\n  {:>7}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n",
        report.raw.name, "loading/s", "decoding/s", "images/s", "measured", "dataset", "waits for"
    );
    let row = |choice: &Choice, measured: Option<f64>| {
        let Throughput { loading, decoding } = choice.throughput;
        format!(
            "  {:>5.1} %  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {}\n",
            choice.share * 100.0,
            rate(loading),
            rate(decoding),
            rate(choice.throughput.images_per_s()),
            measured.map_or("-".into(), rate),
            output::size(choice.dataset_bytes as u64),
            binding(choice.throughput.binding()),
        )
    };
    // What was measured, else every tenth.
    let mut choices: Vec<(Choice, Option<f64>)> =
        report.tenths.iter().map(|choice| (*choice, None)).collect();
    let costs = [&report.encoded, &report.raw].map(|format| format.cost);
    let model = Model::new(costs[0], costs[1], report.machine, report.n_images);
    if let (Ok(model), false) = (model, report.verified.is_empty()) {
        let tried = report.verified.iter();
        choices = tried
            .map(|verified| (model.choice(verified.share), Some(verified.images_per_s())))
            .collect();
    }
    choices.into_iter().for_each(|(choice, measured)| text.push_str(&row(&choice, measured)));
    text.push('\n');
    text
}

fn verdict(report: &Report) -> String {
    let solution = &report.solution;
    let (encoded, raw) = (&report.encoded.name, &report.raw.name);
    let measured = |share: f64| {
        let found = report.verified.iter().find(|verified| verified.share == share)?;
        Some(found.images_per_s())
    };
    let chosen = &solution.chosen;
    let rate_of = |choice: &Choice| {
        measured(choice.share).unwrap_or_else(|| choice.throughput.images_per_s())
    };
    let (now, before) = (rate_of(chosen), rate_of(&solution.encoded_only));
    match solution.verdict {
        Verdict::NoGain => {
            format!("no gain: keep everything {encoded}; a part in {raw} is not 3 % faster here\n")
        }
        Verdict::Gain => format!(
            "store {:.1} % as {raw}: {} images/s, {:.2} times everything {encoded}; {} instead of \
             {}\n  pack it with --format mixed --ratio {:.3}\n",
            chosen.share * 100.0,
            rate(now),
            now / before,
            output::size(chosen.dataset_bytes as u64),
            output::size(solution.encoded_only.dataset_bytes as u64),
            chosen.share,
        ),
    }
}

fn rate(images_per_s: f64) -> String {
    if images_per_s.is_finite() { format!("{images_per_s:.0}") } else { "unlimited".into() }
}

fn binding(binding: Binding) -> &'static str {
    match binding {
        Binding::Loading => "the disk",
        Binding::Decoding => "the processor",
        Binding::Both => "both",
        Binding::Nothing => "nothing",
    }
}
