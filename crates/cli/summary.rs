//! The closing summary of `pack` and `unpack`.
use crate::{Outcome, Session, args::Common, output};
use fdconvert_core::{Codec, Result};
use fdconvert_pipeline::{Checkpointed, Job, Report, Stages};
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
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:9} {what}");
        };
        if report.resumed > 0 {
            let n = output::count(report.resumed);
            line("resumed", format!("{n} samples were already stored by an interrupted run"));
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
        line(
            "bytes",
            format!("{bytes_in} in, {} stored, {file} on disk", output::size(report.bytes_stored)),
        );
        for (name, explanation, n) in &report.notes {
            // The cost line below says more about these.
            if *name != FELL_BACK {
                line("note", format!("{} {explanation}", output::count(*n)));
            }
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
        if seconds > 0.0 {
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
                line(name, format!("{:.3} s", time.as_secs_f64()));
            }
            for (name, value) in job.policy.params() {
                line("param", format!("{name} = {value}"));
            }
        }
        if !report.skipped.is_empty() {
            let n = output::count(report.skipped.len() as u64);
            line("skipped", format!("{n} bad samples:"));
            for skipped in report.skipped.iter().take(LISTED) {
                line("", format!("{}: {}", skipped.key, short(&skipped.reason, &skipped.key)));
            }
            if report.skipped.len() > LISTED {
                line("", format!("... `fdconvert inspect {}` lists all", job.out.display()));
            }
        }
        let head = format!(
            "{} {} of {} samples into {} in {:.2} s\n",
            self.verb,
            output::count(report.samples),
            output::count(report.planned),
            job.out.display(),
            seconds
        );
        head + &text
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
        let (fell_back, before, after) = report.fell_back;
        let fields = json!({
            "out": job.out.display().to_string(),
            "format": job.format.name(),
            "planned": report.planned,
            "samples": report.samples,
            "resumed": report.resumed,
            "skipped": report.skipped,
            "bytes_in": report.bytes_in,
            "bytes_stored": report.bytes_stored,
            "bytes_out": report.bytes_out,
            "codecs": codecs,
            "notes": notes,
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

/// A reason without the sample's name in front: the line has it already.
fn short<'a>(reason: &'a str, key: &str) -> &'a str {
    let rest = reason.strip_prefix("sample `").and_then(|rest| rest.strip_prefix(key));
    rest.and_then(|rest| rest.strip_prefix("`: ")).unwrap_or(reason)
}
