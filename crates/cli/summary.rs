//! The closing summary of `pack` and `unpack`.
use crate::{Outcome, Session, common::Common, output, plan::SHOWN};
use fdconvert::plumbing::Samples;
use fdconvert_core::{Codec, Result, Shard, Shown, Source};
use fdconvert_pipeline::{EntryPointCounts, Plan, Report};
use std::{fmt::Write, path::PathBuf};

/// Number of listed skipped samples; the output's record has them all.
const LISTED: usize = 20;

/// Shorter runs end before they reach their full rate.
const RATED_SECONDS: f64 = 1.0;

/// The verb of `pack`, with which the summary explains the origin of labels.
pub(crate) const PACKED: &str = "packed";

/// Number of class names on a line.
const CLASSES_SHOWN: usize = 6;

/// Name of the note about images that the format could not hold.
const FELL_BACK: &str = "fell-back";

/// Name of the note about images of kinds that are not decoded.
const NOT_DECODED: &str = "not-decoded";

pub(crate) struct Summary<'a> {
    pub(crate) verb: &'static str,
    pub(crate) samples: &'a Samples,
    pub(crate) report: &'a Report,
}

/// Returns a line for each reason why samples or files of the source are not in the output. The
/// `told` samples that the selection removed have separate lines.
pub(crate) fn left_out(source: &dyn Source, plan: &Plan, told: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let ignored = &source.facts().ignored;
    if !ignored.is_empty() {
        notes.push(ignored.to_string());
    }
    // Not for links that lead nowhere, or in a circle.
    if ignored.link_names.iter().any(|link| link.ends_with("elsewhere")) {
        notes.push("--follow-links follows links that lead out of the source".to_owned());
    }
    for kind in ignored.foreign() {
        let (name, cure) = (kind.name(), kind.cure());
        notes.push(format!("{name} is not read here; convert the files first: {cure}"));
    }
    if !ignored.folders.is_empty() {
        let (folder, is) = if ignored.folders.len() == 1 {
            ("folder", "is no class")
        } else {
            ("folders", "are no classes")
        };
        let names = named(&ignored.folders);
        notes.push(format!(
            "no image is in the {folder} {names}, which {is} then; --classes numbers classes by a list"
        ));
    }
    let (parquet, others): (Vec<String>, Vec<String>) =
        ignored.tables.iter().cloned().partition(|it| it.ends_with(".parquet"));
    if !parquet.is_empty() {
        let names = named(&parquet);
        notes.push(format!(
            "{names} next to the images is not read; --labels reads .csv and .jsonl"
        ));
    }
    let (of_splits, tables): (Vec<_>, Vec<_>) = others.into_iter().partition(|it| it.contains('/'));
    for table in tables {
        notes.push(format!("{table} is next to the images and was not read; --labels reads it"));
    }
    if !of_splits.is_empty() {
        let names = named(&of_splits);
        notes.push(format!(
            "{names} next to the images were not read; --labels with the source itself reads them"
        ));
    }
    let n_others = source.len().saturating_sub(plan.len()).saturating_sub(told);
    if n_others > 0 {
        let (n, all) = (output::count(n_others), output::count(source.len()));
        notes.push(format!("{n} of {all} samples left out by --keys, --sample or --split"));
    }
    notes
}

/// Returns the labels of a source, and their origin: `2 classes from folders: cat, dog`.
pub(crate) fn labels(source: &dyn Source) -> String {
    let schema = source.schema();
    let origin = source.facts().label_origin.as_ref();
    let Some(field) = schema.label().and_then(|label| schema.fields.get(label)) else {
        return format!("none{}", origin.map(|why| format!(": {why}")).unwrap_or_default());
    };
    let origin = origin.map(|from| format!(" {from}")).unwrap_or_default();
    let Some(names) = &field.class_names else {
        return format!("numbers without names{origin}");
    };
    let shown: Vec<&str> = names.iter().take(CLASSES_SHOWN).map(String::as_str).collect();
    let more = if names.len() > CLASSES_SHOWN { ", ..." } else { "" };
    let n = output::counted(names.len() as u64, "class");
    format!("{n}{origin}: {}{more}", shown.join(", "))
}

/// Lists the first of several names.
fn named(names: &[String]) -> String {
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}

/// Lists the written paths: `o-train.beton, o-val.beton`.
pub(crate) fn places(samples: &Samples) -> String {
    listed(&samples.outputs())
}

fn listed(places: &[PathBuf]) -> String {
    let shown: Vec<_> = places.iter().take(SHOWN).map(|place| output::path(place)).collect();
    let n_more = places.len() - shown.len();
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Prints the summary as text or JSON and returns the outcome.
pub(crate) fn print(summary: &Summary<'_>, common: Common, session: &Session) -> Result<Outcome> {
    if common.json {
        session.print_document(&summary.samples.document(summary.verb, summary.report))?;
    } else if !common.quiet {
        session.print(&summary.text(common.verbose))?;
    }
    let complete = summary.report.skipped.is_empty();
    Ok(if complete { Outcome::Complete } else { Outcome::DataProblems })
}

impl Summary<'_> {
    fn text(&self, verbose: bool) -> String {
        let (job, report) = (self.samples.job(), self.report);
        let seconds = report.elapsed.as_secs_f64();
        let mut text = String::new();
        let mut line = |name: &str, what: String| {
            // Writing to a string cannot fail. `Shown` keeps any name on one line.
            let _ = writeln!(text, "  {name:9} {}", Shown(what));
        };
        let by_default = if self.samples.is_default_format() { " (by default)" } else { "" };
        line("format", format!("{}{by_default}", job.format.name()));
        let splits = self.samples.splits(report);
        let is_plain = match &splits[..] {
            [only] => only.name == Shard::DEFAULT_SPLIT && job.source.splits().is_empty(),
            _ => false,
        };
        for split in splits.iter().filter(|_| !is_plain) {
            let n = output::counted(split.samples, "sample");
            let place = match &split.file {
                Some(file) => format!("in {}", file.display()),
                None => format!("in {}", output::counted(split.shards, "shard")),
            };
            line(&split.name, format!("{n} {place}"));
        }
        if self.verb == PACKED {
            line("labels", labels(&*job.source));
        }
        let notes = [&self.samples.split_notes(), self.samples.choice_notes()].concat();
        let notes = notes.iter().map(output::remark);
        for note in notes.chain(left_out(&*job.source, &job.plan, self.samples.chosen_away())) {
            line("note", note);
        }
        let was_complete = report.was_complete();
        if report.resumed > 0 && !was_complete {
            let n = output::counted(report.resumed, "sample");
            let were = if report.resumed == 1 { "was" } else { "were" };
            line("resumed", format!("{n} {were} already stored by an interrupted run"));
        }
        if report.checked.bytes > 0 {
            let (size, time) = (output::size(report.checked.bytes), report.checked.time);
            let seconds = time.as_secs_f64();
            line(
                "checked",
                format!("{size} of finished files against their records, {seconds:.2} s"),
            );
        }
        let codecs: Vec<_> = report
            .codecs
            .iter()
            .map(|(codec, n)| format!("{} {}", output::count(*n), codec.extension()))
            .collect();
        if !codecs.is_empty() {
            line("images", codecs.join(", "));
        }
        let bytes_in = output::size(report.bytes_in);
        let file = output::size(report.bytes_out);
        let stored = output::size(report.bytes_stored);
        line(
            "bytes",
            match was_complete || report.bytes_in == 0 {
                true => format!("{file} on disk"),
                false => format!("{bytes_in} in, {stored} stored, {file} on disk"),
            },
        );
        for (name, explanation, n) in &report.notes {
            // The cost line below has more about these.
            if *name != FELL_BACK {
                line("note", format!("{} {explanation}", output::count(*n)));
            }
            if let Some((key, why)) = report.not_decoded.as_ref().filter(|_| *name == NOT_DECODED) {
                line("", format!("{key}: {why}"));
                if *n > 1 {
                    line("", "`fdconvert verify --deep` names all of them".to_owned());
                }
            }
        }
        if let Some((key, bands)) = &report.bands {
            line("", format!("{key}: Bands({bands})"));
        }
        for remark in self.samples.remarks() {
            line("note", output::remark(&remark));
        }
        let tells_all = verbose || self.samples.asks_for_entry_points();
        if let Some(entry_points) = &report.entry_points
            && (tells_all || entry_points.built > 0)
        {
            line("jpegs", entry_points_text(entry_points, report.bytes_stored, tells_all));
        }
        if let Some(hint) = report.entry_points.as_ref().and_then(baseline_hint) {
            line("hint", hint);
        }
        let (n, before, after) = report.fell_back;
        if n > 0 {
            let codec = job.format.fallback();
            let hint = if codec == Codec::Raw { "; --encode jpeg is smaller" } else { "" };
            let what = format!(
                "{} that a {} cannot hold as they are became lossless {}: {}, {} before{hint}",
                output::count(n),
                job.format.name(),
                codec.extension(),
                output::size(after),
                output::size(before)
            );
            line("cost", what);
        }
        if seconds >= RATED_SECONDS && !was_complete {
            let done = report.samples.saturating_sub(report.resumed);
            // Bytes are those of images; a dataset of documents has none.
            let bytes = match report.bytes_in {
                0 => String::new(),
                bytes => format!(", {} in", output::bandwidth(bytes as f64 / seconds)),
            };
            let rate = format!(
                "{:.0} samples/s{bytes}, bound by {}",
                done as f64 / seconds,
                stage_name(report),
            );
            line("rate", rate);
        }
        if verbose {
            for (name, time) in report.stages.by_name() {
                let name = name.replace('_', " ");
                line(&name, format!("{:.3} s", time.as_secs_f64()));
            }
            for (name, value) in job.policy.params() {
                line("param", format!("{name} = {value}"));
            }
        }
        if !report.skipped.is_empty() {
            let n = output::counted(report.skipped.len() as u64, "bad sample");
            line("skipped", format!("{n}:"));
            for skipped in report.skipped.iter().take(LISTED) {
                let why = output::without_key(&skipped.reason, &skipped.key);
                line("", format!("{}: {why}", skipped.key));
            }
            if report.skipped.len() > LISTED {
                let places = self.samples.outputs();
                let first = places.first().unwrap_or(&job.out);
                let each = if job.out == *first { "" } else { ", and each of the others," };
                line("", format!("... `fdconvert inspect {}`{each} lists all", first.display()));
            }
        }
        let out = listed(&self.samples.written(report));
        if was_complete {
            let n = output::counted(report.samples, "sample");
            let is = if self.samples.written(report).len() == 1 { "is" } else { "are" };
            return format!("{out} {is} already complete: {n}, nothing to do\n") + &text;
        }
        let head = format!(
            "{} {} of {} into {out} in {seconds:.2} s\n",
            self.verb,
            output::count(report.samples),
            output::counted(report.planned, "sample"),
        );
        head + &text
    }
}

/// Returns a hint if at least a tenth of the JPEGs are progressive.
fn baseline_hint(entry_points: &EntryPointCounts) -> Option<String> {
    let n = entry_points.refused.get("progressive").copied().unwrap_or(0);
    let all = entry_points.built + entry_points.refused.values().sum::<u64>();
    (cfg!(feature = "turbo") && n > 0 && 10 * n >= all).then(|| {
        format!(
            "{} progressive take three times as long to decode as others; --baseline rewrites them, \
             every coefficient the same",
            output::count(n)
        )
    })
}

/// Formats `161 with entry points in 75.3 KiB (0.61 %); without: 2 progressive`; the reasons only
/// with `tells_all`.
fn entry_points_text(
    entry_points: &EntryPointCounts,
    bytes_stored: u64,
    tells_all: bool,
) -> String {
    let EntryPointCounts { built, bytes, refused } = entry_points;
    let share = if bytes_stored > 0 { *bytes as f64 * 100.0 / bytes_stored as f64 } else { 0.0 };
    let (built, size) = (output::count(*built), output::size(*bytes));
    let mut text = format!("{built} with entry points in {size} ({share:.2} %)");
    let reasons: Vec<_> =
        refused.iter().map(|(name, n)| format!("{} {name}", output::count(*n))).collect();
    if tells_all && !reasons.is_empty() {
        text.push_str(&format!("; without: {}", reasons.join(", ")));
    }
    text
}

fn stage_name(report: &Report) -> &'static str {
    use fdconvert_pipeline::Bottleneck as B;
    match report.stages.bottleneck(report.elapsed) {
        B::Read => "reading the source",
        B::Decode => "decoding",
        B::Resize => "resizing",
        B::Encode => "encoding",
        B::Index => "finding entry points",
        B::Write => "writing",
        B::Sync => "syncing to disk",
    }
}
