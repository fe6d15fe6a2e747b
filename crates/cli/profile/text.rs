//! A profile for people at a terminal.
use crate::output::{self, images_per_s as rate};
use fdconvert::ProfileOptions;
use fdconvert_core::Shown;
use fdconvert_profile::{Binding, Choice, Model, Report, SLACK, Throughput, Verdict, Verified};

pub(crate) fn report(report: &Report, options: &ProfileOptions, n_threads: usize) -> String {
    let mut text = format!(
        "profile of {}: {}, read from {}\n",
        Shown(&report.dataset),
        output::counted(report.n_images, "image"),
        Shown(&report.target)
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
        let slowed = options.throttle_read.map_or("", |_| ", slowed down");
        line(
            "reading",
            format!(
                "{} {how}{slowed}: requests of {}, {} in flight",
                output::bandwidth(read.bytes_per_s),
                output::size(read.plan.request_bytes as u64),
                read.plan.fetch_threads
            ),
        );
    }
    let threads = output::counted(n_threads as u64, "thread");
    let how = if n_threads == 1 { "that decodes" } else { "that decode" };
    line("decoding", format!("{threads} {how}"));
    if options.cache.0 > 0 {
        line("cache", output::size(options.cache.0));
    }
    if let Some(taken) = report.machine.consumer_images_per_s {
        line("training", format!("takes {} images/s at most", rate(taken)));
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
            "  of all {} forms, fastest by the model: {} ({} images/s)\n",
            all.formats.len(),
            shares.join(", "),
            rate(all.mixture.images_per_s)
        ));
    }
    text.push_str(&verdict(report));
    text
}

/// Returns predictions and measurements side by side, in fewer than 80 columns.
fn table(report: &Report) -> String {
    let mut text = format!(
        "\n  {:>7}  {:>7}  {:>8}  {:>7}  {:>8}  {:>10}  {:>10}  {}\n",
        report.raw.name,
        "load/s",
        "decode/s",
        "model/s",
        "measured",
        "min..max",
        "dataset",
        "limit"
    );
    let row = |choice: &Choice, measured: Option<&Verified>| {
        let Throughput { loading, decoding, .. } = choice.throughput;
        format!(
            "  {:>5.1} %  {:>7}  {:>8}  {:>7}  {:>8}  {:>10}  {:>10}  {}\n",
            choice.share * 100.0,
            rate(loading),
            rate(decoding),
            rate(choice.throughput.images_per_s()),
            measured.map_or("-".into(), |verified| rate(verified.images_per_s())),
            measured
                .and_then(Verified::range)
                .map_or("-".into(), |(least, most)| { format!("{}..{}", rate(least), rate(most)) }),
            output::size(choice.dataset_bytes as u64),
            binding(choice.throughput.binding()),
        )
    };
    // The measured shares, else every tenth.
    let mut choices: Vec<(Choice, Option<&Verified>)> =
        report.tenths.iter().map(|choice| (*choice, None)).collect();
    let costs = [&report.encoded, &report.raw].map(|format| format.cost);
    let model = Model::new(costs[0], costs[1], report.machine, report.n_images);
    if let (Ok(model), false) = (model, report.verified.is_empty()) {
        let tried = report.verified.iter();
        choices = tried.map(|verified| (model.choice(verified.share), Some(verified))).collect();
    }
    choices.into_iter().for_each(|(choice, measured)| text.push_str(&row(&choice, measured)));
    if report.machine.consumer_images_per_s.is_some() {
        let chosen = &report.solution.chosen;
        let busy = chosen.throughput.busy();
        text.push_str(&format!(
            "\n  busy at {:.1} %: disk {:.0} %, processors {:.0} %, training {:.0} %\n",
            chosen.share * 100.0,
            busy.disk * 100.0,
            busy.processors * 100.0,
            busy.consumer * 100.0
        ));
    }
    text.push('\n');
    text
}

fn verdict(report: &Report) -> String {
    let solution = &report.solution;
    let (encoded, raw) = (&report.encoded.name, &report.raw.name);
    let chosen = &solution.chosen;
    let rate_of = |choice: &Choice| {
        report.achieved(choice.share).unwrap_or_else(|| choice.throughput.images_per_s())
    };
    let (now, before) = (rate_of(chosen), rate_of(&solution.encoded_only));
    match solution.verdict {
        Verdict::NoGain => {
            format!(
                "no gain: storing some images as {raw} is less than 3 % faster; keep all as {encoded}\n"
            )
        }
        Verdict::Gain => {
            format!(
                "store {:.1} % as {raw}: {} images/s, {:.2} times everything {encoded}; {} instead of \
             {}\n  pack it with --format mixed --ratio {:.3}\n",
                chosen.share * 100.0,
                rate(now),
                now / before,
                output::size(chosen.dataset_bytes as u64),
                output::size(solution.encoded_only.dataset_bytes as u64),
                chosen.share,
            ) + &explained(report)
        }
    }
}

/// Explains a choice other than the one that the model finds fastest.
fn explained(report: &Report) -> String {
    let (chosen, optimum) = (&report.solution.chosen, &report.solution.optimum);
    let predicted = optimum.throughput.images_per_s();
    if report.verified.is_empty() || chosen.throughput.images_per_s() >= predicted * 0.99 {
        return String::new();
    }
    format!(
        "  the model predicts more at {:.1} % ({} images/s), but measurements decide: the smallest \
         share within {:.0} % of the fastest\n",
        optimum.share * 100.0,
        rate(predicted),
        SLACK * 100.0
    )
}

fn binding(binding: Binding) -> &'static str {
    match binding {
        Binding::Loading => "disk",
        Binding::Decoding => "CPU",
        Binding::Both => "both",
        Binding::Consumer => "training",
        Binding::Nothing => "none",
    }
}
