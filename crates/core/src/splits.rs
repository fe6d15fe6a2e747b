//! Split names, and the samples of each split.
use crate::Shard;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Parts of a source: names, and ranges that cover it exactly once. A name may have several ranges.
pub type Splits = Vec<(String, Range<u64>)>;

/// The splits of a dataset to open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Names")]
pub enum SplitChoice {
    /// All splits.
    #[default]
    All,
    /// The only split, or everything in a dataset without splits. Several splits are an error that
    /// lists them: training must not mix them by accident.
    Only,
    /// The splits with these names.
    Named(Vec<String>),
}

impl SplitChoice {
    /// Stands for all splits in place of a name.
    pub const ALL: &'static str = "all";

    /// Selects the splits with these names, or all if the only name is [`all`](Self::ALL).
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

/// Words for splits in the names of folders and files of any origin.
const WORDS: [&str; 12] = [
    "train",
    "training",
    "trainval",
    "val",
    "valid",
    "validation",
    "dev",
    "development",
    "eval",
    "evaluation",
    "test",
    "testing",
];

/// Suffixes of such words without further meaning.
const SUFFIXES: [&str; 5] = ["set", "images", "imgs", "img", "data"];

/// Words for pieces of a split, beside their numbers.
const PIECES: [&str; 6] = ["of", "part", "shard", "chunk", "split", "file"];

/// Maximum digits after the word in a folder's name, such as the year in `train2017`.
const MAX_DIGITS: usize = 4;

/// Returns the split for a name that is exactly a split word: the name in lower case.
///
/// ```
/// use fdconvert_core::split_named;
///
/// assert_eq!(split_named("Train"), Some("train"));
/// assert_eq!(split_named("trains"), None);
/// ```
#[must_use]
pub fn split_named(name: &str) -> Option<&'static str> {
    WORDS.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the word that makes a folder a split: its name is that word, perhaps followed by `set`,
/// `images` or a number.
#[must_use]
pub fn split_of_folder(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_separator = |c: char| "_- .".contains(c);
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.len() - digits.len() > MAX_DIGITS {
        return None;
    }
    let mut word = digits.trim_end_matches(is_separator);
    for suffix in SUFFIXES {
        word = word.strip_suffix(suffix).unwrap_or(word).trim_end_matches(is_separator);
    }
    split_named(word)
}

/// Returns the word that makes a folder a split, or suggests it: `trainA`, `seg_train`,
/// `ImagesTrain`.
#[must_use]
pub fn split_word(name: &str) -> Option<&'static str> {
    words(name).into_iter().find_map(split_named).or_else(|| split_of_folder(name))
}

/// Returns the word that suggests a file's split, and the rest of the name around it without piece
/// numbers; the rest is empty if the word comes last. The name has no extension.
#[must_use]
pub fn split_of_file(name: &str) -> Option<(&'static str, String)> {
    let mut words = words(name);
    words.retain(|word| {
        let is_word = |known: &&str| known.eq_ignore_ascii_case(word);
        !SUFFIXES.iter().chain(&PIECES).any(is_word)
    });
    let mut named = (0..).zip(&words).filter_map(|(at, word)| Some((at, split_of_folder(word)?)));
    let (first, split) = named.next()?;
    let (last, split) = match (named.next(), named.next()) {
        (None, _) => (first, split),
        (Some((last, other)), None) if last == first + 1 && other == split => (last, split),
        (Some((last, "val")), None) if last == first + 1 && split == "train" => (last, "trainval"),
        // With two words it is ambiguous.
        _ => return None,
    };
    let behind: &[&str] = words.get(last + 1..).unwrap_or_default();
    let before: &[&str] = words.get(..first).unwrap_or_default();
    let around = format!("{}/{}", before.join("-"), behind.join("-")).to_lowercase();
    Some((split, if behind.is_empty() { String::new() } else { around }))
}

/// Returns the splits of files with these names, if all have one: either only piece numbers follow
/// the word, as in `imagenet-train-000017`; or the names differ only in the word, as do
/// `train-cats` and `val-cats`, but not `testing_kit` and `training_shoes`.
#[must_use]
pub fn splits_of_files<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Vec<&'static str>> {
    let named: Option<Vec<_>> = names.into_iter().map(split_of_file).collect();
    let named = named?;
    let mut around: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (split, others) in &named {
        around.entry(split).or_default().insert(others);
    }
    let first = around.values().next();
    let are_alike = around.len() > 1 && around.values().all(|others| Some(others) == first);
    let are_last = named.iter().all(|(_, others)| others.is_empty());
    (are_last || are_alike).then(|| named.into_iter().map(|(split, _)| split).collect())
}

/// Splits a name into words, at separators, digits and the case changes of `ImagesTrain`.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphabetic()) {
        let (mut start, mut was_lower) = (0, false);
        for (at, c) in part.char_indices() {
            if was_lower && c.is_uppercase() {
                words.extend(part.get(start..at));
                start = at;
            }
            was_lower = c.is_lowercase();
        }
        words.extend(part.get(start..).filter(|word| !word.is_empty()));
    }
    words
}

/// Combines runs of samples of one split each into splits; a run is a name and a number of samples.
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

/// Like [`split_ranges`], for a packed dataset: one without splits has the name
/// [`train`](Shard::DEFAULT_SPLIT), so that name alone does not count.
pub fn packed_splits<'a>(runs: impl IntoIterator<Item = (&'a str, u64)>) -> Splits {
    let splits = split_ranges(runs);
    match &splits[..] {
        [(name, _)] if name == Shard::DEFAULT_SPLIT => Vec::new(),
        _ => splits,
    }
}

/// Returns the distinct names, in order of first appearance.
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

/// Returns the distinct names, each with its number of samples.
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

    #[test]
    fn files_are_of_splits_by_one_word_of_their_names() {
        for (names, splits) in [
            (&["train-00000-of-00002", "val-00000-of-00001"][..], &["train", "val"][..]),
            (&["training-000", "testing-000"], &["training", "testing"]),
            (&["train2017-000", "val2017-000"], &["train", "val"]),
            (&["train0000", "Val0000"], &["train", "val"]),
            (&["laion.train.000", "laion.val.000"], &["train", "val"]),
            (&["train_part0", "val_part0"], &["train", "val"]),
            (&["train_images-000", "valImages-000"], &["train", "val"]),
            (&["ImagesTrain", "ImagesTest"], &["train", "test"]),
            (&["v1.0-train-0", "x_eval-0"], &["train", "eval"]),
            (&["trainval-0", "train_val-1", "test-0"], &["trainval", "trainval", "test"]),
            (&["train-cats", "val-cats"], &["train", "val"]),
            (&["cc-train-512px-0", "cc-val-512px-0"], &["train", "val"]),
            (&["x_test_3"], &["test"]),
        ] {
            let found = splits_of_files(names.iter().copied());
            assert_eq!(found.as_deref(), Some(splits), "{names:?}");
        }
        for names in [
            &["00012"][..],
            &["constrain-1"],
            &["train-cats-1"],
            &["cat-training-dog"],
            &["testing_kit", "training_shoes"],
            &["train-0", "dogs-0"],
            &["test-dev-0"],
            &["éval"],
        ] {
            assert_eq!(splits_of_files(names.iter().copied()), None, "{names:?}");
        }
    }
}
