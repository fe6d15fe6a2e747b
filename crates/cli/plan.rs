//! `fdconvert plan` and `fdconvert merge`: one dataset written by several runs.
use crate::{
    Outcome, Session, common::Common, listen::Listener, option_args::OptionArgs, output, summary,
};
use clap::Args;
use fdconvert::{plumbing::check_plan_place, results::Plan};
use fdconvert_core::{OptionValues, Result, Shown};
use std::path::PathBuf;

/// Number of splits and outputs in a text; JSON has all.
pub(crate) const SHOWN: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Folders of images, zips of these, or packed datasets
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// Plan to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite the plan if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) options: OptionArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Dataset with packed parts
    pub(crate) out: PathBuf,
    /// The plan of the parts [default: the copy in OUT]
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `fdconvert plan`
pub(crate) fn run(args: &PlanArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    check_plan_place(&args.output, args.overwrite)?;
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = args.options.to_options(options);
    let planned = fdconvert::plan(&args.sources, &options, listener.context())?;
    let bytes = planned.save(&args.output, args.overwrite)?;
    if args.common.json {
        session.print_document(&planned.document(&args.output, bytes))?;
    } else if !args.common.quiet {
        let notes = [&planned.split_notes(), planned.choice_notes()].concat();
        let mut notes: Vec<_> = notes.iter().map(output::remark).collect();
        let told = planned.chosen_away();
        notes.extend(summary::left_out(planned.source(), planned.plan(), told));
        let labels = summary::labels(planned.source());
        report(args, (planned.plan(), bytes), (&labels, &notes), session)?;
    }
    Ok(Outcome::Complete)
}

fn report(
    args: &PlanArgs,
    (plan, bytes): (&Plan, u64),
    (labels, notes): (&str, &[String]),
    session: &Session,
) -> Result<()> {
    let n = output::counted(plan.len(), "sample");
    let path = output::path(&args.output);
    let size = output::size(bytes);
    let mut text = format!("planned {n} in {path} ({size})\n{}", shards_text(plan));
    text.push_str(&format!("  labels   {}\n", Shown(labels)));
    for note in notes {
        text.push_str(&format!("  note     {}\n", Shown(note)));
    }
    text.push_str(
        "  fixed    names, order, shards and options, not what the files hold: leave the source \
         alone until merge is done\n",
    );
    session.print(&text)
}

/// Returns one line for each split.
pub(crate) fn shards_text(plan: &Plan) -> String {
    let mut text = String::new();
    let splits = plan.splits();
    for split in splits.iter().copied().take(SHOWN) {
        let shards = plan.shards.iter().filter(|shard| shard.split == split);
        let lens: Vec<u64> = shards.map(|shard| shard.samples.end - shard.samples.start).collect();
        let (least, most) = (lens.iter().min().unwrap_or(&0), lens.iter().max().unwrap_or(&0));
        let total = output::counted(lens.iter().sum(), "sample");
        let shards = output::counted(lens.len() as u64, "shard");
        let each = match (lens.len(), least == most) {
            (0 | 1, _) => String::new(),
            (_, true) => format!(" of {}", output::count(*least)),
            (_, false) => format!(" of {} to {}", output::count(*least), output::count(*most)),
        };
        let split = Shown(split).to_string();
        text.push_str(&format!("  {split:8} {total} in {shards}{each}\n"));
    }
    if splits.len() > SHOWN {
        let n = output::counted((splits.len() - SHOWN) as u64, "more split");
        text.push_str(&format!("  ...      {n}; --json lists all\n"));
    }
    text
}

/// `fdconvert merge`
pub(crate) fn merge(args: &MergeArgs, session: &Session) -> Result<Outcome> {
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let merged = fdconvert::merge(&args.out, args.plan.as_deref(), listener.context())?;
    let shards = &merged.shards;
    let n_samples: u64 = shards.iter().map(|(_, shard)| shard.samples).sum();
    let bytes: u64 = shards.iter().map(|(_, shard)| shard.bytes).sum();
    let skipped: Vec<_> = shards.iter().flat_map(|(_, shard)| &shard.skipped).collect();
    let seconds = merged.checked.time.as_secs_f64();
    if args.common.json {
        session.print_document(&merged.document(&args.out))?;
    } else if !args.common.quiet {
        let mut text = format!(
            "merged {} in {}, {}, into {}; {} skipped\n  checked   all shards against their records \
             in {seconds:.2} s\n",
            output::counted(n_samples, "sample"),
            output::counted(merged.n_shards(), "shard"),
            output::size(bytes),
            output::path(&args.out),
            skipped.len(),
        );
        for remark in &merged.remarks {
            text.push_str(&format!("  note      {}\n", output::remark(remark)));
        }
        session.print(&text)?;
    }
    Ok(if skipped.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}
