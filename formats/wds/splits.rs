//! Which samples of shards are in which split.
use crate::wds::WdsReader;
use fdconvert_core::{Message, Source as _, Splits, message, packed_splits, split_named};
use std::path::Path;

/// As the manifest says. Without one by the names of the shards, if every one begins with a split.
pub(crate) fn of(reader: &WdsReader) -> Splits {
    let starts = std::iter::once(0).chain(reader.ends.iter().copied());
    let lens = reader.ends.iter().zip(starts).map(|(end, start)| end - start);
    match &reader.manifest {
        Some(manifest) => {
            let names = manifest.shards.iter().map(|shard| shard.split.as_str());
            packed_splits(names.zip(lens))
        }
        None => {
            let names = reader.shards.iter().map(|shard| named(&shard.path));
            let names: Option<Vec<&str>> = names.collect();
            packed_splits(names.unwrap_or_default().into_iter().zip(lens))
        }
    }
}

/// Returns what a user should know where only some shards are named after splits.
pub(crate) fn remarks(reader: &WdsReader) -> Vec<Message> {
    let is_named = |shard: &&crate::wds::shard::Shard| named(&shard.path).is_some();
    let n_named = reader.shards.iter().filter(is_named).count();
    if reader.manifest.is_some() || n_named == 0 || n_named == reader.shards.len() {
        return Vec::new();
    }
    vec![message!(
        "{n_named} of {} shards of {} are named after a split such as train or val, the others are \
         not: all are taken as one",
        reader.shards.len(),
        reader.name()
    )]
}

/// `val` of `imagenet-val-000017.tar.gz` and of `val.tar`.
fn named(shard: &Path) -> Option<&'static str> {
    let name = shard.file_name()?.to_str()?;
    let stem = name.split_once(".t").map_or(name, |(stem, _)| stem);
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = stem.rsplit(['-', '_']).peekable();
    parts.next_if(is_number);
    split_named(parts.next()?)
}

/// `train` of `train-000017.tar`; the whole stem where no number ends it.
pub(crate) fn split_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let numbered = stem.rsplit_once(['-', '_']).filter(|(split, number)| {
        !split.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    match numbered {
        Some((split, _)) => split.to_owned(),
        // img2dataset's shards are numbers alone.
        None if stem.bytes().all(|b| b.is_ascii_digit()) => "train".to_owned(),
        None => stem.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_come_from_names() {
        for (name, split) in [
            ("a/train-000017.tar", "train"),
            ("imagenet-train-0001.tar", "imagenet-train"),
            ("00012.tar", "train"),
            ("all.tar", "all"),
        ] {
            assert_eq!(split_of(Path::new(name)), split);
        }
    }

    #[test]
    fn only_a_whole_part_of_a_name_is_a_split() {
        for (name, split) in [
            ("a/train-000017.tar", Some("train")),
            ("imagenet-Val-0001.tar.gz", Some("val")),
            ("x_test_3.tgz", Some("test")),
            ("val.tar", Some("val")),
            ("00012.tar", None),
            ("constrain-1.tar", None),
            ("train-cats-1.tar", None),
        ] {
            assert_eq!(named(Path::new(name)), split, "{name}");
        }
    }
}
