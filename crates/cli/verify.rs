//! `fdconvert verify`.
use crate::{
    Outcome, Session,
    common::Common,
    listen::Listener,
    output,
    reading::{ReadingArgs, splits},
};
use clap::Args;
use fdconvert::{Verified, VerifyOptions, verify};
use fdconvert_core::{Result, Shown};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Dataset to check
    pub(crate) dataset: PathBuf,
    /// Also decode every image and check its entry points
    #[arg(long)]
    pub(crate) deep: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}
/// Number of listed problems on a terminal; `--json` has them all.
const SHOWN: usize = 100;

pub(crate) fn run(args: &VerifyArgs, session: &Session) -> Result<Outcome> {
    args.reading.check(args.deep, "--deep")?;
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = VerifyOptions::default()
        .deep(args.deep)
        .max_pixels(args.reading.max_pixels)
        .threads(args.reading.threads)
        .max_decompressed(args.reading.max_decompressed)
        .split(splits(&args.reading.split));
    let found = verify(&args.dataset, &options, listener.context())?;
    if args.common.json {
        session.print_document(&found.document(&args.dataset, &options))?;
    } else {
        report(args, &found, session)?;
    }
    Ok(if found.problems.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}

fn report(args: &VerifyArgs, found: &Verified, session: &Session) -> Result<()> {
    let (problems, seconds) = (&found.problems, found.seconds);
    let n_problems = problems.len() as u64 + found.problems_left_out;
    let mut text = String::new();
    for problem in problems.iter().take(SHOWN) {
        let state = if problem.is_damage { "damaged" } else { "not decoded" };
        match &problem.sample {
            Some((index, key)) => {
                let why = output::without_key(&problem.error, key);
                text.push_str(&format!("{state}: sample {index} (`{}`): {why}\n", Shown(key)));
            }
            None => text.push_str(&format!("{state}: {}\n", output::remark(&problem.error))),
        }
    }
    if problems.len() > SHOWN {
        text.push_str(&output::more(
            problems.len() - SHOWN,
            problems.len(),
            found.problems_left_out,
        ));
    }
    if !args.common.quiet || !problems.is_empty() {
        // Plain files have no checksums for a comparison.
        let what = match (args.deep, found.has_images, found.is_plain_folder) {
            (true, true, true) => "files and pixels",
            (true, false, true) => "files; no image field: pixels not checked",
            (false, _, true) => "files; --deep checks their pixels",
            (true, true, false) => "structure, checksums and pixels",
            (true, false, false) => "structure and checksums; no image field: pixels not checked",
            (false, _, false) => "structure and checksums",
        };
        let n = output::counted(found.samples, "sample");
        let verdict = match n_problems {
            0 => format!("OK ({what})"),
            n => output::counted(n, "problem"),
        };
        let dataset = output::path(&args.dataset);
        text.push_str(&format!("{dataset}: {n} in {seconds:.2} s: {verdict}\n"));
        // For plain files nothing else is expected.
        if found.samples > 0 && !found.has_checksums && !found.is_plain_folder {
            text.push_str("note: its samples have no checksums: a changed value may pass\n");
        }
    }
    session.print(&text)
}
