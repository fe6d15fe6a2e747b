//! `fdconvert append`, `remove`, `update` and `log`.
use crate::{
    Outcome, Session, choices::OnErrorArg, common::Common, listen::Listener,
    option_args::OptionArgs, output,
};
use clap::Args;
use fdconvert::{
    Append, ByteCount, Edited, Remove, Update, kept_versions, log as versions,
    plumbing::log_document,
};
use fdconvert_core::{LogEntry, OptionValues, Result, Shown};
use std::path::{Path, PathBuf};

/// Skipped samples that are listed.
const LISTED: usize = 20;

/// What all edits have.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct EditArgs {
    /// Versions that can be read afterwards, as DATASET@N; the new one counts
    ///
    /// Files of other versions are removed. Keep two while a training reads the dataset from a store.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    keep_versions: u64,
    /// Worker threads; the result does not depend on it [default: one per core]
    #[arg(long, value_name = "N", short_alias = 'j')]
    threads: Option<usize>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    /// Dataset of shards (wds, mds, mixed, parquet in several files), in a folder or a store
    dataset: PathBuf,
    /// What to add: folders of images, packed datasets, recipes for fractals
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    options: OptionArgs,
    /// What to do with samples that cannot be read, decoded or stored
    #[arg(long, value_enum, default_value = "fail", value_name = "DO", help_heading = "Safety")]
    on_error: OnErrorArg,
    /// With --on-error skip: stop with an error when more than N samples were skipped [default: 100000, or half of all]
    #[arg(long, value_name = "N", help_heading = "Safety", hide_short_help = true)]
    max_failures: Option<u64>,
    /// Memory for images that wait to be written, and half as much for those read ahead from a store
    /// [default: 8MiB a thread, at most 64MiB; and 32MiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    buffer: Option<ByteCount>,
    #[command(flatten)]
    edit: EditArgs,
}

#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true, args = ["keys", "where"])]
pub(crate) struct RemoveArgs {
    /// Dataset of shards (wds, mds, mixed, parquet in several files), in a folder or a store
    dataset: PathBuf,
    /// File with the keys of the samples to remove, one a line
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Remove the samples that match, e.g. 'width < 32'; with --keys those of the list
    #[arg(long, value_name = "EXPRESSION")]
    r#where: Option<String>,
    #[command(flatten)]
    edit: EditArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Dataset of shards (wds, mds, mixed, parquet in several files), in a folder or a store
    dataset: PathBuf,
    /// Table (.csv, .tsv, .jsonl) with the new values: its first column has the keys
    #[arg(long, value_name = "TABLE")]
    labels: PathBuf,
    #[command(flatten)]
    edit: EditArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Dataset of shards
    dataset: PathBuf,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn append(args: &AppendArgs, session: &Session) -> Result<Outcome> {
    let edit = Append::new(&args.dataset, &args.sources)
        .options(args.options.to_options(&OptionValues::default()))
        .keep_versions(args.edit.keep_versions)
        .threads(args.edit.threads)
        .buffer(args.buffer.map(|bytes| bytes.0))
        .on_error(args.on_error.into())
        .max_failures(args.max_failures);
    let listener = listener(&args.edit, "appending", session);
    print(&args.dataset, &edit.run_with(listener.context())?, args.edit.common, session)
}

pub(crate) fn remove(args: &RemoveArgs, session: &Session) -> Result<Outcome> {
    let mut edit = Remove::new(&args.dataset)
        .keep_versions(args.edit.keep_versions)
        .threads(args.edit.threads);
    if let Some(file) = &args.keys {
        edit = edit.keys_file(file);
    }
    if let Some(expression) = &args.r#where {
        edit = edit.matching(expression);
    }
    let listener = listener(&args.edit, "writing shards", session);
    print(&args.dataset, &edit.run_with(listener.context())?, args.edit.common, session)
}

pub(crate) fn update(args: &UpdateArgs, session: &Session) -> Result<Outcome> {
    let edit = Update::new(&args.dataset, &args.labels)
        .keep_versions(args.edit.keep_versions)
        .threads(args.edit.threads);
    let listener = listener(&args.edit, "writing shards", session);
    print(&args.dataset, &edit.run_with(listener.context())?, args.edit.common, session)
}

fn listener<'a>(args: &EditArgs, packing: &'static str, session: &'a Session) -> Listener<'a> {
    let quiet = args.common.quiet || args.common.json;
    Listener { packing, ..Listener::new(session, quiet) }
}

fn print(dataset: &Path, edited: &Edited, common: Common, session: &Session) -> Result<Outcome> {
    let n_skipped = edited.report.skipped.len();
    let outcome = if n_skipped > 0 { Outcome::DataProblems } else { Outcome::Complete };
    if common.json {
        session.print_document(&edited.document(dataset))?;
        return Ok(outcome);
    }
    if common.quiet {
        return Ok(outcome);
    }
    let entry = &edited.entry;
    let path = output::path(dataset);
    let samples = output::counted(entry.samples, "sample");
    let mut text = match edited.was_done {
        true => format!(
            "{path} is version {}, which this same edit has made: nothing to do\n",
            entry.version
        ),
        false => format!("{path} is version {} now: {samples}\n", entry.version),
    };
    let counts = [("added", entry.added), ("removed", entry.removed), ("changed", entry.changed)];
    for (name, n) in counts.iter().filter(|(_, n)| *n > 0 && !edited.was_done) {
        text.push_str(&format!("  {name:8} {}\n", output::counted(*n, "sample")));
    }
    let (written, all) = edited.shards;
    text.push_str(&format!(
        "  shards   {} written of {}\n",
        output::count(written),
        output::count(all)
    ));
    if n_skipped > 0 {
        let n = output::counted(n_skipped as u64, "sample");
        text.push_str(&format!("  skipped  {n}:\n"));
        for skipped in edited.report.skipped.iter().take(LISTED) {
            let reason = output::without_key(&skipped.reason, &skipped.key);
            text.push_str(&format!("    {}: {}\n", Shown(&skipped.key), Shown(&reason)));
        }
    }
    for remark in &edited.remarks {
        text.push_str(&format!("  note     {}\n", output::remark(remark)));
    }
    session.print(&text)?;
    Ok(outcome)
}

pub(crate) fn log(args: &LogArgs, session: &Session) -> Result<Outcome> {
    if args.common.json {
        session.print_document(&log_document(&args.dataset)?)?;
        return Ok(Outcome::Complete);
    }
    fdconvert_storage::place::look_at(&args.dataset)?;
    let entries = versions(&args.dataset)?;
    let path = output::path(&args.dataset);
    if entries.is_empty() {
        session
            .print(&format!("{path} was never edited: there is the version that was packed\n"))?;
        return Ok(Outcome::Complete);
    }
    let mut open = kept_versions(&args.dataset)?;
    open.extend(entries.last().map(|entry| entry.version));
    let mut text = format!(
        "{:>7}  {:20}  {:>10}  {:>8}  {:>8}  {:>8}  {}\n",
        "version", "time (UTC)", "samples", "added", "removed", "changed", "command"
    );
    for entry in &entries {
        let LogEntry { version, time, command, samples, added, removed, changed, .. } = entry;
        let mark = if open.contains(version) { " " } else { "-" };
        text.push_str(&format!(
            "{mark}{version:>6}  {time:20}  {samples:>10}  {added:>8}  {removed:>8}  {changed:>8}  {}\n",
            Shown(command)
        ));
    }
    if entries.iter().any(|entry| !open.contains(&entry.version)) {
        text.push_str("versions marked with - are not kept\n");
    }
    session.print(&text)?;
    Ok(Outcome::Complete)
}
