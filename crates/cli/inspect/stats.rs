//! Statistics of a dataset's samples as lines for people.
use crate::{output, stats::depth};
use fdconvert::{plumbing::spread, results::Stats};

/// Number of listed classes; JSON has all.
const CLASSES_SHOWN: usize = 20;

/// Returns lines for people: a name and a text.
pub(super) fn lines(stats: &Stats) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &str, what: String| lines.push((name.to_owned(), what));
    let codecs: Vec<_> =
        stats.codecs.iter().map(|(name, n)| format!("{} {name}", output::count(*n))).collect();
    if !codecs.is_empty() {
        line("images", codecs.join(", "));
    }
    if let Some(sizes) = spread(&stats.bytes) {
        let [min, median, max] = sizes.map(output::size);
        let total = output::size(stats.bytes.iter().sum());
        line("image bytes", format!("{min} to {max}, median {median}, {total} in all"));
    }
    for (name, sizes) in [("width", &stats.widths), ("height", &stats.heights)] {
        if let Some([min, median, max]) = spread(sizes) {
            line(name, format!("{min} to {max}, median {median}"));
        }
    }
    if stats.over_8_bits > 0 {
        line("depth", depth(stats));
    }
    if let Some(counts) = &stats.metadata {
        let found = counts.kinds.iter().filter(|(_, n)| **n > 0);
        let mut found: Vec<_> =
            found.map(|(name, n)| format!("{name} in {}", output::count(*n))).collect();
        if counts.turned > 0 {
            found.push(format!("{} turned by their EXIF", output::count(counts.turned)));
        }
        let what = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        line("metadata", what);
    }
    for (name, n) in stats.classes.iter().take(CLASSES_SHOWN) {
        line("class", format!("{name}: {}", output::counted(*n, "sample")));
    }
    if stats.classes.len() > CLASSES_SHOWN {
        let more = output::counted((stats.classes.len() - CLASSES_SHOWN) as u64, "more class");
        line("", format!("... and {more}; --json lists all"));
    }
    if stats.n_unreadable > 0 {
        let n = output::counted(stats.n_unreadable, "sample");
        line("unreadable", format!("{n}; `fdconvert verify` says which and why"));
    }
    lines
}
