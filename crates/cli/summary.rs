//! The closing summary of `pack` and `unpack`.
use crate::{
    Outcome, Session,
    args::Common,
    output,
    splits::{self, Written},
};
use fdconvert_core::{Codec, Result, Shard, Shown, Source, split_names};
use fdconvert_pipeline::{Checkpointed, Job, Plan, Report, Stages, outputs};
use serde_json::{Map, Value, json};
use std::{fmt::Write, time::Duration};

/// Skipped samples that are listed one by one; the output's record has them all.
const LISTED: usize = 20;

/// Name of the note about images that the format could not hold.
const FELL_BACK: &str = "fell-back";

/// What there is to say.
pub(crate) struct Summary<'a> {
    pub(crate) verb: &'static str,
    pub(crate) job: &'a Job<'a>,
    pub(crate) report: &'a Report,
    /// What lies in which split.
    pub(crate) splits: Vec<Written>,
    /// What there is to say about the splits of the source.
    pub(crate) split_notes: Vec<String>,
    /// Neither a flag nor the name of OUT chose the format.
    pub(crate) is_default_format: bool,
}

/// What lies in the source and will not lie in the output, for people.
pub(crate) fn left_out(source: &dyn Source, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let ignored = source.left_out();
    if !ignored.is_empty() {
        notes.push(ignored.to_string());
    }
    for table in &ignored.tables {
        notes.push(format!("{table} lies beside the images and was not read; --labels reads it"));
    }
    let n_others = source.len().saturating_sub(plan.len());
    if n_others > 0 {
        let (n, all) = (output::count(n_others), output::count(source.len()));
        notes.push(format!("{n} of {all} samples left out by --select..., --sample or --split"));
    }
    notes
}

/// Prints it as text or JSON and tells how the data was.
pub(crate) fn print(summary: &Summary<'_>, common: Common, session: &Session) -> Result<Outcome> {
    if common.json {
        session.print_json(summary.verb, summary.json())?;
    } else if !common.quiet {
        session.print(&summary.text(common.verbose))?;
    }
    let complete = summary.report.skipped.is_empty();
    Ok(if complete { Outcome::Complete } else { Outcome::DataProblems })
}

impl Summary<'_> {
    fn text(&self, verbose: bool) -> String {
        let (job, report) = (self.job, self.report);
        let seconds = report.elapsed.as_secs_f64();
        let mut text = String::new();
        let mut line = |name: &str, what: String| {
            // Writing to a string cannot fail. Whatever names say, this is one line.
            let _ = writeln!(text, "  {name:9} {}", Shown(what));
        };
        let by_default = if self.is_default_format { " (by default)" } else { "" };
        line("format", format!("{}{by_default}", job.format.name()));
        let is_plain = match &self.splits[..] {
            [only] => only.name == Shard::DEFAULT_SPLIT && job.source.splits().is_empty(),
            _ => false,
        };
        for split in self.splits.iter().filter(|_| !is_plain) {
            line(
                &split.name,
                format!("{} {}", output::counted(split.samples, "sample"), split.place),
            );
        }
        for note in self.split_notes.iter().cloned().chain(left_out(job.source, job.plan)) {
            line("note", note);
        }
        let was_complete = report.resumed > 0 && report.resumed == report.samples;
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
            match was_complete {
                true => format!("{file} on disk"),
                false => format!("{bytes_in} in, {stored} stored, {file} on disk"),
            },
        );
        for (name, explanation, n) in &report.notes {
            // The cost line below says more about these.
            if *name != FELL_BACK {
                line("note", format!("{} {explanation}", output::count(*n)));
            }
        }
        for remark in self.remarks() {
            line("note", remark);
        }
        if let Some(checkpoints) = &report.checkpoints {
            line("jpegs", checkpoints_text(checkpoints, report.bytes_stored));
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
        if seconds > 0.0 && !was_complete {
            let done = report.samples.saturating_sub(report.resumed);
            let rate = format!(
                "{:.0} samples/s, {}/s in, bound by {}",
                done as f64 / seconds,
                output::size((report.bytes_in as f64 / seconds) as u64),
                stage_name(report),
            );
            line("rate", rate);
        }
        if verbose {
            for (name, time) in stages(&report.stages) {
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
                let first = outputs(job.format, job.plan, job.out).into_iter().next();
                let first = first.unwrap_or_else(|| job.out.to_path_buf());
                let each = if job.out == first { "" } else { ", and each of the others," };
                line("", format!("... `fdconvert inspect {}`{each} lists all", first.display()));
            }
        }
        let out = splits::places(job.format, job.plan, job.out);
        if was_complete {
            let n = output::counted(report.samples, "sample");
            return format!("{out} is already complete: {n}, nothing to do\n") + &text;
        }
        let head = format!(
            "{} {} of {} into {out} in {seconds:.2} s\n",
            self.verb,
            output::count(report.samples),
            output::counted(report.planned, "sample"),
        );
        head + &text
    }

    /// What the format has to say about such samples.
    fn remarks(&self) -> Vec<String> {
        self.job.format.remarks(self.job.source.schema(), &self.job.plan.common)
    }

    fn json(&self) -> Map<String, Value> {
        let (job, report) = (self.job, self.report);
        let notes: Map<String, Value> =
            report.notes.iter().map(|(name, _, n)| ((*name).to_owned(), json!(n))).collect();
        let codecs: Map<String, Value> =
            report.codecs.iter().map(|(codec, n)| (codec.extension().into(), json!(n))).collect();
        let times: Map<String, Value> = stages(&report.stages)
            .into_iter()
            .map(|(name, time)| (name.to_owned(), json!(time.as_secs_f64())))
            .collect();
        let shards: Vec<_> = report
            .shards
            .iter()
            .map(|shard| {
                let path = shard.path.display().to_string();
                json!({"path": path, "samples": shard.samples, "bytes": shard.bytes})
            })
            .collect();
        let splits: Vec<_> = self
            .splits
            .iter()
            .map(|split| json!({"name": split.name, "samples": split.samples}))
            .collect();
        let places = outputs(job.format, job.plan, job.out);
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        let source_splits = job.source.splits();
        let (fell_back, before, after) = report.fell_back;
        let fields = json!({
            "out": job.out.display().to_string(),
            "outputs": places,
            "format": job.format.name(),
            "planned": report.planned,
            "samples": report.samples,
            "resumed": report.resumed,
            "checked_bytes": report.checked.bytes,
            "checked_seconds": report.checked.time.as_secs_f64(),
            "skipped": report.skipped,
            "ignored": job.source.left_out(),
            "left_out": job.source.len().saturating_sub(job.plan.len()),
            "splits": splits,
            "source_splits": split_names(&source_splits),
            "split_notes": self.split_notes,
            "bytes_in": report.bytes_in,
            "bytes_stored": report.bytes_stored,
            "bytes_out": report.bytes_out,
            "codecs": codecs,
            "notes": notes,
            "remarks": self.remarks(),
            "fell_back": {"images": fell_back, "bytes_before": before, "bytes_after": after},
            "jpeg_index": report.checkpoints,
            "shards": shards,
            "seconds": report.elapsed.as_secs_f64(),
            "stage_seconds": times,
            "bottleneck": report.stages.bottleneck(report.elapsed),
            "threads": job.threads,
            "params": job.policy.params(),
        });
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// `161 with checkpoints in 75.3 KiB (0.61 %), without: 2 progressive`
fn checkpoints_text(checkpoints: &Checkpointed, bytes_stored: u64) -> String {
    let Checkpointed { built, bytes, refused } = checkpoints;
    let share = if bytes_stored > 0 { *bytes as f64 * 100.0 / bytes_stored as f64 } else { 0.0 };
    let (built, size) = (output::count(*built), output::size(*bytes));
    let mut text = format!("{built} with checkpoints in {size} ({share:.2} %)");
    let reasons: Vec<_> =
        refused.iter().map(|(name, n)| format!("{} {name}", output::count(*n))).collect();
    if !reasons.is_empty() {
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
        B::Index => "finding checkpoints",
        B::Write => "writing",
        B::Sync => "syncing to disk",
    }
}

fn stages(stages: &Stages) -> [(&'static str, Duration); 9] {
    [
        ("read", stages.read),
        ("decode", stages.decode),
        ("resize", stages.resize),
        ("encode", stages.encode),
        ("index", stages.index),
        ("write", stages.write),
        ("commit", stages.commit),
        ("workers_waited", stages.workers_waited),
        ("writer_waited", stages.writer_waited),
    ]
}
