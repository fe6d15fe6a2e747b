//! `fdconvert clean`: removes what killed runs have left: of edits of a dataset, and uploads to a
//! store, which no list of objects shows.
use crate::{Outcome, Session, common::Common, output};
use clap::Args;
use fdconvert::plumbing::TimeSpan;
use fdconvert_core::Result;
use fdconvert_formats::edits;
use fdconvert_storage::place::{abort_unfinished, is_url};
use serde_json::{Map, json};
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Dataset of shards: what its edits have left; or the URL of a dataset, a folder or a bucket:
    /// also unfinished uploads at or below it, of any tool
    pub(crate) out: PathBuf,
    /// Only uploads begun at least this long ago; keeps those of running packs
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub(crate) older_than: TimeSpan,
    /// List them; abort none
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &CleanArgs, session: &Session) -> Result<Outcome> {
    let is_away = is_url(&args.out);
    let is_completed = !args.dry_run && edits::complete(&args.out)?;
    // In a store nothing tells whether an edit is running.
    let may_run = is_away && args.older_than.0 > Duration::ZERO;
    let stages = edits::leftovers(&args.out, args.dry_run || may_run)?;
    let uploads = match is_away {
        true => abort_unfinished(&args.out, args.older_than.0, args.dry_run)?,
        false => Vec::new(),
    };
    if args.common.json {
        let paths: Vec<_> = uploads.iter().map(|path| path.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("uploads".into(), json!(paths));
        let stages: Vec<_> = stages.iter().map(|path| path.display().to_string()).collect();
        fields.insert("edits".into(), json!(stages));
        fields.insert("completed".into(), json!(is_completed));
        fields.insert("dry_run".into(), json!(args.dry_run));
        session.print_json("clean", fields)?;
    } else if !args.common.quiet {
        let n = output::counted(uploads.len() as u64, "unfinished upload");
        let (what, done) = if args.dry_run { ("there", "found") } else { ("gone", "given up") };
        let mut text = match uploads.len() {
            0 if !stages.is_empty() || is_completed => String::new(),
            0 => format!("nothing to clean at {}\n", output::path(&args.out)),
            _ => format!("{n} {done} at {}; {what}:\n", output::path(&args.out)),
        };
        for upload in &uploads {
            text.push_str(&format!("  {}\n", output::path(upload)));
        }
        if is_completed {
            text.push_str(&format!("completed an edit of {}\n", output::path(&args.out)));
        }
        let done = match (args.dry_run, may_run) {
            (true, _) => "found",
            (_, true) => "found, and left because it may be running; --older-than 0s removes it",
            _ => "removed",
        };
        for stage in &stages {
            text.push_str(&format!("unfinished edit {}: {done}\n", output::path(stage)));
        }
        session.print(&text)?;
    }
    Ok(Outcome::Complete)
}
