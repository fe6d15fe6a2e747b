//! The calls of a run, from the library's log.

use std::{collections::BTreeMap, path::Path};

use crate::failure::{Context, Result};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    /// Kind of the call, named as by the library.
    pub(super) kind: String,
    /// Path of the call: relative to the run's folder, or absolute.
    pub(super) path: String,
    /// Number among the calls of this kind on this path, from 1.
    pub(super) at: u64,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} #{}", self.kind, self.path, self.at)
    }
}

/// Parses the log of a run in `folder`, ordered by kind, path and number, because the order of
/// calls depends on the scheduling of threads.
pub(super) fn of_log(log: &str, folder: &Path) -> Result<Vec<Point>> {
    let mut counts = BTreeMap::<(String, String), u64>::new();
    let prefix = format!("{}/", folder.display());
    for line in log.lines() {
        let (kind, path) = line.split_once(' ').context(format_args!("log: {line}"))?;
        let path = path.strip_prefix(&prefix).unwrap_or(path);
        *counts.entry((kind.into(), path.into())).or_default() += 1;
    }
    let points = counts.into_iter().flat_map(|((kind, path), count)| {
        (1..=count).map(move |at| Point { kind: kind.clone(), path: path.clone(), at })
    });
    Ok(points.collect())
}

/// Returns at most `count` of `items`, evenly spread, without randomness.
pub(super) fn evenly<T: Clone>(items: &[T], count: usize) -> Vec<T> {
    if items.len() <= count {
        return items.to_vec();
    }
    // The middle of each of `count` equal stretches.
    let middle = |stretch: usize| (2 * stretch + 1) * items.len() / (2 * count);
    (0..count).filter_map(|stretch| items.get(middle(stretch)).cloned()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn calls_are_numbered_by_kind_and_path() {
        let log = "write /w/slot/out/x\nopen /w/source/a b\nwrite /w/slot/out/x\n";
        let points = of_log(log, Path::new("/w/slot")).unwrap();
        let shown: Vec<_> = points.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["open /w/source/a b #1", "write out/x #1", "write out/x #2"]);
    }

    #[test]
    fn chosen_items_are_spread_over_all() {
        let items: Vec<_> = (0..100).collect();
        assert_eq!(evenly(&items, 4), [12, 37, 62, 87]);
        assert_eq!(evenly(&items, 200).len(), 100);
        assert_eq!(evenly(&items, 100), items);
    }
}
