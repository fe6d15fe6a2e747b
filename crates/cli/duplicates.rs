//! `fdconvert find-duplicates`.
use crate::{
    Outcome, Session,
    common::Common,
    listen::Listener,
    output,
    reading::{ReadingArgs, splits},
};
use clap::{Args, value_parser};
use fdconvert::{
    Duplicates, DuplicatesOptions, find_duplicates,
    results::{Group, Member},
};
use fdconvert_core::{Result, Shown};
use std::path::PathBuf;

/// Number of groups, and of unreadable samples, in the list; `--json` has more.
const SHOWN: usize = 20;
/// Number of listed samples per group.
const MEMBERS_SHOWN: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct DuplicatesArgs {
    /// Folders of images, packed datasets or recipes; samples of all are compared
    #[arg(required = true, value_name = "DATASET")]
    pub(crate) datasets: Vec<PathBuf>,
    /// Also find near duplicates: re-encoded or resized images
    ///
    /// Images are decoded at an eighth of their size. Those with near hashes of 64 bits are compared
    /// again, at 16 x 16 levels. Crops and mirrored images are not found.
    #[arg(long)]
    pub(crate) near: bool,
    /// With --near: bits in which the hashes of two images may differ
    #[arg(long, value_name = "BITS", default_value_t = 7, requires = "near", value_parser = value_parser!(u32).range(0..=15))]
    pub(crate) distance: u32,
    /// Write the keys of the samples to keep, all but the later ones of each group, for `pack --keys`
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "keys")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &DuplicatesArgs, session: &Session) -> Result<Outcome> {
    args.reading.check(args.near, "--near")?;
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = DuplicatesOptions::default()
        .near(args.near)
        .distance(args.distance)
        .keys(args.keys.clone())
        .overwrite(args.overwrite)
        .max_pixels(args.reading.max_pixels)
        .threads(args.reading.threads)
        .max_decompressed(args.reading.max_decompressed)
        .split(splits(&args.reading.split));
    let found = find_duplicates(&args.datasets, &options, listener.context())?;
    if args.common.json {
        session.print_document(&found.document(&args.datasets, &options))?;
    } else if !args.common.quiet {
        session.print(&report(args, &found))?;
    }
    let is_clean = found.groups.is_empty() && found.unreadable.is_empty();
    Ok(if is_clean { Outcome::Complete } else { Outcome::DataProblems })
}

fn report(args: &DuplicatesArgs, found: &Duplicates) -> String {
    let mut text = String::new();
    for group in found.groups.iter().take(SHOWN) {
        text.push_str(&of_group(args, group));
    }
    if found.groups.len() > SHOWN {
        let more = output::counted((found.groups.len() - SHOWN) as u64, "more group");
        text.push_str(&format!("... and {more}; --json lists all\n"));
    }
    for (dataset, index, key, why) in found.unreadable.iter().take(SHOWN) {
        let why = output::without_key(why, key);
        let of = name(args, *dataset);
        text.push_str(&format!("unreadable: sample {index}{of} (`{}`): {why}\n", Shown(key)));
    }
    if found.unreadable.len() > SHOWN {
        let n_listed = found.unreadable.len();
        text.push_str(&output::more(n_listed - SHOWN, n_listed, found.unreadable_left_out));
    }
    let n_samples = output::counted(found.samples.iter().sum(), "sample");
    let of = output::counted(args.datasets.len() as u64, "dataset");
    text.push_str(&format!("{n_samples} of {of} in {:.2} s\n", found.seconds));
    let mut line = |name: &str, what: &str| text.push_str(&format!("  {name:12} {what}\n"));
    let groups = output::counted(found.groups.len() as u64, "group");
    let surplus = output::counted(found.surplus(), "sample");
    match found.groups.len() {
        0 => line("duplicates", "none"),
        _ => line("duplicates", &format!("{surplus} in {groups}, besides the first of each")),
    }
    if found.leaks() > 0 {
        let pairs = output::counted(found.leaks(), "pair");
        line("leaks", &format!("{pairs} across splits or datasets"));
    }
    if found.flat > 0 {
        let flat = output::counted(found.flat, "image");
        line("flat", &format!("{flat} without detail, compared by their bytes alone"));
    }
    if !found.unreadable.is_empty() {
        let n = found.unreadable.len() as u64 + found.unreadable_left_out;
        let n = output::counted(n, "sample");
        line("unreadable", &format!("{n}, not compared"));
    }
    if let (Some(file), Some(n)) = (&args.keys, found.kept_keys) {
        line("keys", &format!("{} to keep in {}", output::counted(n, "key"), output::path(file)));
    }
    text
}

/// Returns a line for each sample, the first one in front.
fn of_group(args: &DuplicatesArgs, group: &Group) -> String {
    let mut text = String::new();
    for (number, member) in group.samples.iter().take(MEMBERS_SHOWN).enumerate() {
        let what = match (number, member.is_exact, member.distance) {
            (0, ..) => "group",
            (_, true, _) => "  same bytes",
            _ => "  near",
        };
        text.push_str(&format!("{what}: {}\n", of_member(args, member)));
    }
    if group.samples.len() > MEMBERS_SHOWN {
        let more = group.samples.len() - MEMBERS_SHOWN;
        text.push_str(&format!("  ... and {more} more; --json lists all\n"));
    }
    text
}

fn of_member(args: &DuplicatesArgs, member: &Member) -> String {
    let split = match &member.split {
        Some(split) => format!(", split {}", Shown(split)),
        None => String::new(),
    };
    let of = name(args, member.dataset);
    format!("sample {}{of}{split} (`{}`)", member.index, Shown(&member.key))
}

/// Returns the name of a dataset, if there are several.
fn name(args: &DuplicatesArgs, dataset: usize) -> String {
    match args.datasets.get(dataset) {
        Some(path) if args.datasets.len() > 1 => format!(" of {}", output::path(path)),
        _ => String::new(),
    }
}
