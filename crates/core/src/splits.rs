//! Names of splits, and which samples of a source are in which.
use crate::Shard;
use serde::Deserialize;
use std::ops::Range;

/// Parts of a source: names, and indices that cover it once. A name may have several ranges.
pub type Splits = Vec<(String, Range<u64>)>;

/// Which splits of a dataset are taken when it is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Names")]
pub enum SplitChoice {
    /// All of them.
    #[default]
    All,
    /// The only one there is, or all of a dataset without splits. Several are an error that names
    /// them: what trains must not mix them by accident.
    Only,
    /// Those of these names.
    Named(Vec<String>),
}

impl SplitChoice {
    /// What stands for all splits in the place of a name.
    pub const ALL: &'static str = "all";

    /// Those of these names, or all where the one name is [`all`](Self::ALL).
    pub fn named<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names == [Self::ALL] { Self::All } else { Self::Named(names) }
    }
}

/// One name, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl From<Names> for SplitChoice {
    fn from(names: Names) -> Self {
        match names {
            Names::One(name) => Self::named([name]),
            Names::Several(names) => Self::named(names),
        }
    }
}

/// Names that the parts of a divided dataset have, in folders and files of whatever origin.
const NAMES: [&str; 5] = ["train", "val", "valid", "validation", "test"];

/// The split that a folder of that name is by itself: its name in lower case.
///
/// ```
/// use fdconvert_core::split_named;
///
/// assert_eq!(split_named("Train"), Some("train"));
/// assert_eq!(split_named("trains"), None);
/// ```
#[must_use]
pub fn split_named(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// The splits of samples that lie in runs, each of one split: names, and how many samples.
pub fn split_ranges<'a>(runs: impl IntoIterator<Item = (&'a str, u64)>) -> Splits {
    let mut splits: Splits = Vec::new();
    let mut end = 0_u64;
    for (name, n_samples) in runs {
        let start = end;
        end = end.saturating_add(n_samples);
        match splits.last_mut() {
            _ if n_samples == 0 => {}
            Some((last, range)) if *last == name => range.end = end,
            _ => splits.push((name.to_owned(), start..end)),
        }
    }
    splits
}

/// The same of a packed dataset: one that was never divided is called
/// [`train`](Shard::DEFAULT_SPLIT), so that name alone says nothing.
pub fn packed_splits<'a>(runs: impl IntoIterator<Item = (&'a str, u64)>) -> Splits {
    let splits = split_ranges(runs);
    match &splits[..] {
        [(name, _)] if name == Shard::DEFAULT_SPLIT => Vec::new(),
        _ => splits,
    }
}

/// The different names, each where it comes first.
#[must_use]
pub fn split_names(splits: &[(String, Range<u64>)]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in splits {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// The different names, each with its number of samples.
#[must_use]
pub fn split_sizes(splits: &[(String, Range<u64>)]) -> Vec<(String, u64)> {
    let size = |name: &str| {
        let ranges = splits.iter().filter(|(other, _)| other == name);
        ranges.map(|(_, range)| range.end - range.start).sum()
    };
    split_names(splits).into_iter().map(|name| (name.to_owned(), size(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_name_are_one_range_and_a_lone_train_says_nothing() {
        let runs = [("train", 2), ("train", 3), ("val", 0), ("val", 1), ("train", 4)];
        let expected = [("train", 0..5), ("val", 5..6), ("train", 6..10)];
        let expected = expected.map(|(name, range)| (name.to_owned(), range));
        assert_eq!(split_ranges(runs), expected);
        assert_eq!(split_names(&packed_splits(runs)), ["train", "val"]);
        assert!(packed_splits([("train", 2), ("train", 3)]).is_empty());
        assert_eq!(packed_splits([("val", 2)]), [("val".to_owned(), 0..2)]);
    }
}
