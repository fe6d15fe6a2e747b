//! `fdconvert diff`.
use crate::{
    Outcome, Session,
    common::Common,
    listen::Listener,
    output,
    reading::{ReadingArgs, splits},
};
use clap::Args;
use fdconvert::{DiffOptions, Differences, diff, results::Changed};
use fdconvert_core::{Result, Shown};
use std::path::{Path, PathBuf};

/// Number of differences listed on a terminal; `--json` has more.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Folder of images, packed dataset or recipe
    pub(crate) first: PathBuf,
    /// The other dataset; samples are matched by their keys
    pub(crate) second: PathBuf,
    /// Compare images by their pixels, not by their stored bytes
    #[arg(long)]
    pub(crate) pixels: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &DiffArgs, session: &Session) -> Result<Outcome> {
    args.reading.check(args.pixels, "--pixels")?;
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = DiffOptions::default()
        .pixels(args.pixels)
        .max_pixels(args.reading.max_pixels)
        .threads(args.reading.threads)
        .max_decompressed(args.reading.max_decompressed)
        .split(splits(&args.reading.split));
    let datasets: [&Path; 2] = [&args.first, &args.second];
    let found = diff(datasets, &options, listener.context())?;
    if args.common.json {
        session.print_document(&found.document(datasets))?;
    } else if !args.common.quiet || !found.is_same() {
        session.print(&report(datasets, &found))?;
    }
    Ok(if found.is_same() { Outcome::Complete } else { Outcome::DataProblems })
}

fn report(datasets: [&Path; 2], found: &Differences) -> String {
    let names = datasets.map(output::path);
    let mut text = String::new();
    shorten(&mut text, found.changed.iter().map(changed), found.changed_left_out);
    for (name, only) in names.iter().zip(&found.only) {
        let line = |(index, key): &(u64, String)| {
            format!("only in {name}: sample {index} (`{}`)\n", Shown(key))
        };
        shorten(&mut text, only.iter().map(line), 0);
    }
    let [one, other] = found.samples.map(|samples| output::counted(samples, "sample"));
    let verdict = if found.is_same() { "the same" } else { "not the same" };
    text.push_str(&format!(
        "{} ({one}) and {} ({other}) in {:.2} s: {verdict}\n",
        names[0], names[1], found.seconds
    ));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:9} {value}\n"));
    let of_one = |side: usize| {
        let n_samples = found.only.get(side).map_or(0, Vec::len);
        output::counted(n_samples as u64, "sample")
    };
    line("equal", output::counted(found.same, "sample"));
    let n_changed = found.changed.len() as u64 + found.changed_left_out;
    line("changed", output::counted(n_changed, "sample"));
    line("only", format!("{} in the first, {} in the second", of_one(0), of_one(1)));
    if found.moved > 0 {
        line("moved", format!("{} in another place", output::counted(found.moved, "sample")));
    }
    for [one, other] in &found.renamed {
        line("fields", format!("{} of the first is {} of the second", Shown(one), Shown(other)));
    }
    for (fields, side) in found.fields_of_one.iter().zip(["first", "second"]) {
        for field in fields {
            line("fields", format!("{} is in the {side} alone, and not compared", Shown(field)));
        }
    }
    text
}

fn changed(sample: &Changed) -> String {
    let differs = sample.fields.iter().map(|(field, how)| format!("{}: {how}", Shown(field)));
    let mut what: Vec<String> = differs.collect();
    let unreadable = sample.unreadable.iter();
    what.extend(
        unreadable
            .map(|why| format!("cannot be compared: {}", output::without_key(why, &sample.key))),
    );
    let [one, other] = sample.indices;
    let place = if one == other { one.to_string() } else { format!("{one} and {other}") };
    format!("changed: sample {place} (`{}`): {}\n", Shown(&sample.key), what.join("; "))
}

/// Appends the first lines of a long list, and how many more there are.
fn shorten(text: &mut String, lines: impl ExactSizeIterator<Item = String>, left_out: u64) {
    let n_lines = lines.len();
    lines.take(SHOWN).for_each(|line| text.push_str(&line));
    if n_lines > SHOWN {
        text.push_str(&output::more(n_lines - SHOWN, n_lines, left_out));
    }
}
