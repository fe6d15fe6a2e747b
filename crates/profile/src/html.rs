use crate::{
    Binding, Busy, Choice, LineChart, Page, Report, SLACK, Series, Verdict, chart, page::table,
    xml::escape,
};
use fdconvert_core::{Codec, bandwidth, images_per_s, option, size};
use std::fmt::Write;

/// Ratio of measurement and prediction, in either direction, above which the report remarks on it.
const FAR_OFF: f64 = 1.25;

/// Returns the report as one page without external parts: no scripts, no fonts, no network.
/// Readable on paper and on dark screens.
#[must_use]
pub fn to_html(report: &Report) -> String {
    let mut page = Page::of_profile(&format!("Profile of {}", report.dataset));
    page.quiet(&format!(
        "{}, read from {}; {}",
        plural(report.n_images, "image"),
        report.target,
        report.tool
    ));
    page.add(provenance(report).trim_end());
    page.add(verdict(report).trim_end());
    if let Some(why) = report.read.as_ref().and_then(|read| read.cached_because.as_ref()) {
        page.add(&format!(
            "<p class=\"warn\">The bandwidth is that of memory, not of the disk: {}.</p>",
            escape(why)
        ));
    }
    for warning in &report.warnings {
        page.add(&format!("<p class=\"warn\">Mind: {}.</p>", escape(warning)));
    }
    page.picture(&chart::curves(report));
    if report.machine.consumer_images_per_s.is_some() {
        page.add("<h2>What is busy</h2>");
        page.picture(&busy(report));
    }
    page.add(predictions(report).trim_end());
    page.add(inputs(report).trim_end());
    page.add(measurements(report).trim_end());
    page.finish()
}

/// Describes the machine and the measurement.
fn provenance(report: &Report) -> String {
    let Some(made) = &report.measured_on else { return String::new() };
    let processor = made.processor.as_deref().unwrap_or("unknown processor");
    let disk = made.disk.as_deref().unwrap_or("unknown file system");
    format!(
        "<p class=\"quiet\">Measured on {}: {}, {}; {}<br/><code>{}</code></p>\n",
        escape(&made.system),
        escape(processor),
        plural(made.n_cpus, "CPU"),
        escape(disk),
        escape(&made.command)
    )
}

/// `1 thread`, `2 threads`
fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn verdict(report: &Report) -> String {
    let solution = &report.solution;
    let chosen = &solution.chosen;
    let (encoded, raw) = (escape(&report.encoded.name), escape(&report.raw.name));
    let predicted = images_per_s(chosen.throughput.images_per_s());
    let predicted_gain = times(gain_of(chosen, &solution.encoded_only));
    let measured = report.achieved(chosen.share).zip(report.achieved(0.0));
    let measured = measured.filter(|(_, encoded)| *encoded > 0.0);
    let more = measured.map_or_else(String::new, |(rate, _)| explained(report, rate));
    let text = match (solution.verdict, measured) {
        (Verdict::NoGain, _) => format!(
            "<strong>Keep everything {encoded}.</strong> The best mixture with {raw} is predicted \
             to be {} as fast.{}{more}",
            times(solution.gain),
            measured.map_or_else(String::new, |(rate, _)| format!(
                " Measured with the loader: {} images/s, and {predicted} predicted.",
                images_per_s(rate)
            ))
        ),
        (Verdict::Gain, measured) => {
            let rates = match measured {
                Some((rate, encoded_rate)) => format!(
                    "Measured with the loader: {} images/s, {} as fast as everything {encoded}; \
                     predicted: {predicted}, {predicted_gain} as fast.",
                    images_per_s(rate),
                    times(rate / encoded_rate)
                ),
                None => format!(
                    "Predicted: {predicted} images/s, {predicted_gain} as fast as everything \
                     {encoded}."
                ),
            };
            format!(
                "<strong>Store {:.1} % of the images as {raw}.</strong> {rates} The dataset takes \
                 {} instead of {}.{more}",
                chosen.share * 100.0,
                bytes(chosen.dataset_bytes),
                bytes(solution.encoded_only.dataset_bytes)
            )
        }
    };
    format!("<p>{text}</p>\n{}", all_formats(report))
}

/// Explains why another share was chosen than the model's fastest, and how far the model is off.
fn explained(report: &Report, measured: f64) -> String {
    let (chosen, optimum) = (&report.solution.chosen, &report.solution.optimum);
    let mut text = String::new();
    let predicted = chosen.throughput.images_per_s();
    if predicted < optimum.throughput.images_per_s() * 0.99 {
        text.push_str(&format!(
            " The model predicts more at {:.1} % ({} images/s), but measurements decide: of the \
             shares that were tried, {:.1} % is the smallest within {:.0} % of the fastest.",
            optimum.share * 100.0,
            images_per_s(optimum.throughput.images_per_s()),
            chosen.share * 100.0,
            SLACK * 100.0
        ));
    }
    let off = measured / predicted;
    if off.is_finite() && !(1.0 / FAR_OFF..=FAR_OFF).contains(&off) {
        text.push_str(&format!(
            " The measured rate is {} what the model predicts there: this machine was not equally busy while \
             the inputs were measured, or the sample is too small. Repeat it, or give more \
             <code>{}</code> and <code>{}</code>.",
            times(off),
            option::RUNS,
            option::SAMPLES
        ));
    }
    text
}

/// Describes the mixture of more than two formats.
fn all_formats(report: &Report) -> String {
    let Some(all) = &report.formats else { return String::new() };
    let shares = all.formats.iter().zip(&all.mixture.shares).filter(|(_, share)| **share > 0.0);
    let shares: Vec<String> = shares
        .map(|(format, share)| format!("{:.0} % {}", share * 100.0, escape(&format.name)))
        .collect();
    format!(
        "<p>Of {} formats the model finds {} fastest: {} images/s.</p>\n",
        all.formats.len(),
        shares.join(", "),
        images_per_s(all.mixture.images_per_s)
    )
}

/// Draws the utilisation of disk, processors and training over the share of raw images.
fn busy(report: &Report) -> String {
    let series = |name: &str, of: fn(&Busy) -> f64| Series {
        name: name.into(),
        points: (report.curve.iter())
            .map(|choice| (choice.share * 100.0, of(&choice.throughput.busy()) * 100.0))
            .collect(),
    };
    let chart = LineChart {
        title: "how busy disk, processors and training are".into(),
        x_label: format!("% of the images stored as {}", report.raw.name),
        y_label: "% of the time".into(),
        doubles: false,
        series: vec![
            series("disk", |busy| busy.disk),
            series("processors", |busy| busy.processors),
            series("training", |busy| busy.consumer),
        ],
        marks: Vec::new(),
    };
    chart.to_svg()
}

/// Returns the predictions in one table, by share: every tenth, and the shares with a name.
fn predictions(report: &Report) -> String {
    let solution = &report.solution;
    let named = [
        (format!("all {}", escape(&report.encoded.name)), &solution.encoded_only),
        (format!("all {}", escape(&report.raw.name)), &solution.raw_only),
        ("highest throughput".into(), &solution.optimum),
        ("fewest bytes within 2 %".into(), &solution.cheapest),
        ("chosen".into(), &solution.chosen),
    ];
    let tenths = report.tenths.iter().map(|choice| (String::new(), choice));
    let mut rows: Vec<(String, &Choice)> = Vec::new();
    for (name, choice) in named.into_iter().chain(tenths) {
        match rows.iter_mut().find(|(_, known)| known.share == choice.share) {
            Some((_, _)) if name.is_empty() => {}
            Some((names, _)) => names.push_str(&format!(", {name}")),
            None => rows.push((name, choice)),
        }
    }
    rows.sort_by(|(_, a), (_, b)| a.share.total_cmp(&b.share));
    let row = |(name, choice): (String, &Choice)| {
        let throughput = &choice.throughput;
        vec![
            name,
            format!("{:.1} %", choice.share * 100.0),
            images_per_s(throughput.loading),
            images_per_s(throughput.decoding),
            images_per_s(throughput.images_per_s()),
            binding(throughput.binding()).into(),
            format!("{:.0} %", choice.cached * 100.0),
            bytes(choice.dataset_bytes),
        ]
    };
    let raw = escape(&report.raw.name);
    let head = ["", &raw, "loading/s", "decoding/s", "images/s", "waits for", "cached", "dataset"];
    format!("<h2>Predicted</h2>\n{}", table(&head, rows.into_iter().map(row).collect()))
}

fn inputs(report: &Report) -> String {
    let formats = [&report.encoded, &report.raw].map(|format| {
        vec![
            escape(&format.name),
            bytes(format.cost.bytes_per_image),
            seconds(format.cost.cpu_seconds_per_image),
        ]
    });
    let machine = &report.machine;
    let machine = vec![
        vec!["read bandwidth".into(), bandwidth(machine.read_bytes_per_s)],
        vec!["effective cores".into(), format!("{:.2}", machine.effective_cores)],
        vec!["cached bytes".into(), bytes(machine.cache_bytes)],
        vec![
            "training takes".into(),
            machine.consumer_images_per_s.map_or_else(
                || "all that come".into(),
                |taken| format!("{} images/s", images_per_s(taken)),
            ),
        ],
    ];
    // Two tables have decoding times, which seem to contradict each other without an explanation.
    let how = if report.verified.is_empty() {
        ""
    } else {
        "<p class=\"quiet\">Times are those of the loader with the bytes in memory and all threads at \
         work: decoding, cropping, resizing, checksums. Decoding alone is below, under Formats, \
         measured.</p>\n"
    };
    format!(
        "<h2>What went into the model</h2>\n{how}{}<p></p>\n{}",
        table(&["format", "bytes per image", "time of a thread"], formats.into()),
        table(&["machine", ""], machine)
    )
}

fn measurements(report: &Report) -> String {
    let mut page = String::new();
    let raw = escape(&report.raw.name);
    if let Some(measured) = &report.measured {
        let rows = measured.formats.iter().map(|format| {
            vec![
                if format.codec == Codec::Jpeg { "jpeg" } else { format.codec.extension() }.into(),
                bytes(format.cost.bytes_per_image),
                seconds(format.cost.cpu_seconds_per_image),
                seconds(format.cpu_seconds_all_threads),
                format!("{:.2}", format.effective_cores),
                format.n_cannot_hold.to_string(),
            ]
        });
        let all = format!("on {}", plural(measured.threads as u64, "thread"));
        let head = ["format", "bytes", "on 1 thread", &all, "effective cores", "cannot hold"];
        let full =
            if measured.memory_was_full { ", where the memory for samples ended" } else { "" };
        add(
            &mut page,
            &format!(
                "<h2>Formats, measured</h2>\n<p class=\"quiet\">Decoding alone, means over \
                 {}{full}; {} could not be read.</p>",
                plural(measured.n_images, "image"),
                measured.n_unreadable
            ),
        );
        page.push_str(&table(&head, rows.collect()));
    }
    if let Some(read) = &report.read {
        add(
            &mut page,
            &format!(
                "<h2>Reading, measured</h2>\n<p>{}: {} in {:.2} s, in {} requests of {}, {} in \
             flight, {}.</p>",
                bandwidth(read.bytes_per_s),
                size(read.bytes),
                read.seconds,
                read.requests,
                size(read.plan.request_bytes as u64),
                read.plan.fetch_threads,
                if read.cached_because.is_some() { "through the page cache" } else { "direct" }
            ),
        );
    }
    if let Some(search) = &report.search {
        let asked = search.measured.iter().map(|(share, throughput)| {
            let [loading, decoding] = [throughput.loading, throughput.decoding].map(images_per_s);
            vec![format!("{:.0} %", share * 100.0), loading, decoding]
        });
        add(
            &mut page,
            &format!(
                "<h2>Search over tenths</h2>\n<p>It ends at {:.0} % {raw}.</p>",
                search.share * 100.0
            ),
        );
        page.push_str(&table(&[&raw, "loading/s", "decoding/s"], asked.collect()));
    }
    if !report.verified.is_empty() {
        let rows = report.verified.iter().map(|verified| {
            vec![
                format!("{:.1} %", verified.share * 100.0),
                images_per_s(verified.images_per_s()),
                verified.range().map_or_else(String::new, |(least, most)| {
                    format!("{} to {}", images_per_s(least), images_per_s(most))
                }),
                verified.runs.len().to_string(),
            ]
        });
        page.push_str("<h2>Measured with the loader</h2>\n");
        page.push_str(&table(&[&raw, "images/s, median", "range", "runs"], rows.collect()));
    }
    page
}

fn times(factor: f64) -> String {
    if factor.is_finite() { format!("{factor:.2} times") } else { "any number of times".into() }
}

fn gain_of(choice: &Choice, over: &Choice) -> f64 {
    choice.throughput.images_per_s() / over.throughput.images_per_s()
}

/// Formats a mean, rounded to bytes.
fn bytes(value: f64) -> String {
    size(value.round() as u64)
}

fn seconds(value: f64) -> String {
    if value >= 1e-3 { format!("{:.2} ms", value * 1e3) } else { format!("{:.1} µs", value * 1e6) }
}

fn binding(binding: Binding) -> &'static str {
    match binding {
        Binding::Loading => "loading",
        Binding::Decoding => "decoding",
        Binding::Both => "both",
        Binding::Consumer => "training",
        Binding::Nothing => "nothing",
    }
}

fn add(page: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}
