//! `fdconvert clean`: removes uploads of killed runs from a store, which no list of objects shows.
use crate::{Outcome, Session, common::Common, output};
use clap::Args;
use fdconvert::plumbing::TimeSpan;
use fdconvert_core::Result;
use fdconvert_storage::place::abort_unfinished;
use serde_json::{Map, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// URL of a dataset, a folder or a bucket: unfinished uploads at or below it, of any tool
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
    let uploads = abort_unfinished(&args.out, args.older_than.0, args.dry_run)?;
    if args.common.json {
        let paths: Vec<_> = uploads.iter().map(|path| path.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("uploads".into(), json!(paths));
        fields.insert("dry_run".into(), json!(args.dry_run));
        session.print_json("clean", fields)?;
    } else if !args.common.quiet {
        let n = output::counted(uploads.len() as u64, "unfinished upload");
        let (what, done) = if args.dry_run { ("there", "found") } else { ("gone", "given up") };
        let mut text = match uploads.len() {
            0 => format!("nothing to clean at {}\n", output::path(&args.out)),
            _ => format!("{n} {done} at {}; {what}:\n", output::path(&args.out)),
        };
        for upload in &uploads {
            text.push_str(&format!("  {}\n", output::path(upload)));
        }
        session.print(&text)?;
    }
    Ok(Outcome::Complete)
}
