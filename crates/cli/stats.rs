//! `fdconvert stats`.
use crate::{
    Outcome, Session,
    common::Common,
    listen::Listener,
    output,
    reading::{ReadingArgs, splits},
};
use clap::Args;
use fdconvert::{
    DatasetStats, StatsOptions,
    plumbing::spread,
    results::{CategoryCounts, ObjectCounts, PixelStats, Stats},
    stats,
};
use fdconvert_core::{Result, Shown};
use std::path::PathBuf;

/// Number of classes shown from each end; `--json` has all.
const CLASSES_SHOWN: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Folder of images, packed dataset or recipe
    pub(crate) dataset: PathBuf,
    /// Also decode every image, for mean and standard deviation of red, green and blue
    ///
    /// Levels 0 to 255 count as 0 to 1, as in torchvision's ToTensor, and every pixel of the dataset
    /// weighs the same, however large its image is. Gray images count as three equal channels, and
    /// alpha does not count. The deviation is that of all pixels (divided by their number). Sums are
    /// integers, so that the result depends neither on threads nor on the order. Samples with equal
    /// images are counted even where the dataset has no checksums.
    #[arg(long)]
    pub(crate) pixels: bool,
    /// Write a self-contained HTML page with histograms
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "html")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &StatsArgs, session: &Session) -> Result<Outcome> {
    args.reading.check(args.pixels, "--pixels")?;
    let listener = Listener::new(session, args.common.quiet || args.common.json);
    let options = StatsOptions::default()
        .pixels(args.pixels)
        .html(args.html.clone())
        .overwrite(args.overwrite)
        .max_pixels(args.reading.max_pixels)
        .threads(args.reading.threads)
        .max_decompressed(args.reading.max_decompressed)
        .split(splits(&args.reading.split));
    let found = stats(&args.dataset, &options, listener.context())?;
    if args.common.json {
        session.print_document(&found.document(&args.dataset))?;
    } else if !args.common.quiet {
        session.print(&as_text(args, &found))?;
    }
    let in_pixels = found.pixels.as_ref().map_or(0, |pixels| pixels.unreadable);
    let is_sound = found.counts.n_unreadable == 0 && in_pixels == 0;
    Ok(if is_sound { Outcome::Complete } else { Outcome::DataProblems })
}

fn as_text(args: &StatsArgs, found: &DatasetStats) -> String {
    let counts = &found.counts;
    let n = output::counted(found.samples, "sample");
    let mut text = format!("{}: {n} in {:.2} s\n", output::path(&args.dataset), found.seconds);
    let mut line = |name: &str, what: &str| {
        text.push_str(&format!("  {:16} {}\n", Shown(name).to_string(), Shown(what)));
    };
    if !found.splits.is_empty() {
        let sized = found.splits.iter().map(|(name, n)| format!("{name} {}", output::count(*n)));
        line("splits", &sized.collect::<Vec<_>>().join(", "));
    }
    let codecs = counts.codecs.iter().map(|(name, n)| format!("{} {name}", output::count(*n)));
    let codecs = codecs.collect::<Vec<_>>().join(", ");
    line("images", if codecs.is_empty() { "none" } else { &codecs });
    if let Some([min, median, max]) = spread(&counts.bytes).map(|it| it.map(output::size)) {
        let total = output::size(counts.bytes.iter().sum());
        line("image bytes", &format!("{min} to {max}, median {median}, {total} in all"));
    }
    for (name, sizes) in [("width", &counts.widths), ("height", &counts.heights)] {
        if let Some([min, median, max]) = spread(sizes) {
            line(name, &format!("{min} to {max}, median {median}"));
        }
    }
    for (name, ratios) in [("aspect", &counts.aspects), ("bytes per pixel", &counts.densities)] {
        if let Some([min, median, max]) = spread(ratios) {
            line(name, &format!("{min:.2} to {max:.2}, median {median:.2}"));
        }
    }
    if counts.over_8_bits > 0 {
        line("depth", &depth(counts));
    }
    if let Some(pixels) = &found.pixels {
        channels(pixels, &mut line);
    }
    match found.duplicates {
        Some(0) => line("duplicates", "none with the bytes of an earlier image"),
        Some(n) => {
            let n = output::counted(n, "image");
            line("duplicates", &format!("{n} with the bytes of an earlier one"));
        }
        None if codecs.is_empty() => {}
        None => line("duplicates", "not known without checksums; --pixels reads the images"),
    }
    classes(counts, &mut line);
    if let Some(counts) = &counts.objects {
        objects(counts, &mut line);
    }
    if counts.n_unreadable > 0 {
        let n = output::counted(counts.n_unreadable, "sample");
        line("unreadable", &format!("{n}; `fdconvert verify` says which and why"));
    }
    text
}

/// Describes images that loaders do not show unchanged.
pub(crate) fn depth(counts: &Stats) -> String {
    let n = output::counted(counts.over_8_bits, "image");
    format!("{n} of more than 8 bits per channel, which loaders round to 8")
}

fn channels(pixels: &PixelStats, line: &mut dyn FnMut(&str, &str)) {
    let three = |values: [f64; 3]| values.map(|value| format!("{value:.4}")).join(", ");
    line("mean", &format!("{} (red, green, blue, from 0 to 1)", three(pixels.mean)));
    line("std", &three(pixels.std));
    let (n_images, n_pixels) = (output::counted(pixels.images, "image"), pixels.pixels);
    let gray = match pixels.gray {
        0 => String::new(),
        n => format!(", {} of them gray", output::count(n)),
    };
    line("of", &format!("{} of {n_images}{gray}", output::counted(n_pixels, "pixel")));
    if pixels.unreadable > 0 {
        let n = output::counted(pixels.unreadable, "image");
        line("not decoded", &format!("{n}; `fdconvert verify --deep` says which and why"));
    }
}

/// Lists the most and the least frequent classes.
fn classes(counts: &Stats, line: &mut dyn FnMut(&str, &str)) {
    let shown = |(name, n): &(&str, u64)| format!("{name}: {}", output::counted(*n, "sample"));
    let sorted = counts.by_frequency();
    let more = |n| output::counted(n, "more class");
    ends("class", &sorted.iter().map(shown).collect::<Vec<_>>(), more, line);
}

/// Counts the objects, and lists the most and the least frequent categories.
fn objects(counts: &ObjectCounts, line: &mut dyn FnMut(&str, &str)) {
    let inside = |objects: u64, images: u64| {
        format!("{} in {}", output::counted(objects, "object"), output::counted(images, "image"))
    };
    line("objects", &inside(counts.n_objects, counts.images));
    if counts.n_unreadable > 0 {
        let n = output::counted(counts.n_unreadable, "document");
        line("", &format!("{n} of objects cannot be read"));
    }
    let shown =
        |(name, n): &(&str, CategoryCounts)| format!("{name}: {}", inside(n.objects, n.images));
    let sorted = counts.by_frequency();
    let more = |n| format!("{} more", output::count(n));
    ends("category", &sorted.iter().map(shown).collect::<Vec<_>>(), more, line);
}

/// Lists the first and the last of sorted texts.
fn ends(
    name: &str,
    sorted: &[String],
    more: impl FnOnce(u64) -> String,
    line: &mut dyn FnMut(&str, &str),
) {
    let n_shown = if sorted.len() <= 2 * CLASSES_SHOWN { sorted.len() } else { CLASSES_SHOWN };
    let (first, rest) = sorted.split_at(n_shown);
    first.iter().for_each(|text| line(name, text));
    let (left_out, last) = rest.split_at(rest.len().saturating_sub(CLASSES_SHOWN));
    if !left_out.is_empty() {
        line("", &format!("... and {}; --json lists all", more(left_out.len() as u64)));
    }
    last.iter().for_each(|text| line(name, text));
}
