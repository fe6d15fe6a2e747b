//! Finds the splits of a dataset.
use crate::{tarball, wds::WdsReader};
use fdconvert_core::{Remark, Source as _, Splits, packed_splits, split_word, splits_of_files};
use std::{collections::BTreeSet, path::Path};

/// The splits of the manifest; without one, those in the shard names, if all have one.
pub(crate) fn of(reader: &WdsReader) -> Splits {
    let starts = std::iter::once(0).chain(reader.ends.iter().copied());
    let lens = reader.ends.iter().zip(starts).map(|(end, start)| end - start);
    match &reader.manifest {
        Some(manifest) => {
            let names = manifest.shards.iter().map(|shard| shard.split.as_str());
            packed_splits(names.zip(lens))
        }
        None => packed_splits(named(reader).unwrap_or_default().into_iter().zip(lens)),
    }
}

/// The splits in the names of the shards.
pub(crate) fn named(reader: &WdsReader) -> Option<Vec<&'static str>> {
    splits_of_files(reader.shards.iter().map(|shard| tarball::stem(&shard.path)))
}

/// Warns about names that look like splits but are not used as such.
pub(crate) fn remarks(reader: &WdsReader) -> Vec<Remark> {
    let words = reader.shards.iter().filter_map(|shard| split_word(tarball::stem(&shard.path)));
    let words: Vec<&str> = words.collect();
    let different: BTreeSet<&str> = words.iter().copied().collect();
    let (n_named, n_shards) = (words.len(), reader.shards.len());
    let are_one = n_named == n_shards && different.len() == 1;
    if reader.manifest.is_some() || n_named == 0 || are_one || named(reader).is_some() {
        return Vec::new();
    }
    let why = match n_named == n_shards {
        true => "but their names differ in more than that",
        false => "the others are not",
    };
    let what = format!(
        "{n_named} of {n_shards} shards of {} are named after a split such as train or val, {why}: \
         all are taken as one",
        reader.name()
    );
    vec![what.into()]
}

/// Returns `train` for `train-000017.tar` and `train-00017-of-00020.tar`; the whole stem if it does
/// not end in a number.
pub(crate) fn split_of(path: &Path) -> String {
    let stem = tarball::stem(path);
    let numbered = before_number(stem);
    let all = numbered.and_then(|it| it.strip_suffix("-of").or_else(|| it.strip_suffix("_of")));
    match all.and_then(before_number).or(numbered) {
        Some(split) => split.to_owned(),
        // Names of img2dataset's shards are only numbers.
        None if is_number(stem) => "train".to_owned(),
        None => stem.to_owned(),
    }
}

fn before_number(stem: &str) -> Option<&str> {
    let (before, number) = stem.rsplit_once(['-', '_'])?;
    (!before.is_empty() && is_number(number)).then_some(before)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_come_from_names() {
        for (name, split) in [
            ("a/train-000017.tar", "train"),
            ("imagenet-train-0001.tar", "imagenet-train"),
            ("val-00000-of-00002.tar", "val"),
            ("00012.tar", "train"),
            ("all.tar", "all"),
        ] {
            assert_eq!(split_of(Path::new(name)), split);
        }
    }
}
