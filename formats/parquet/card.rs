//! `README.md`: the card by which Hugging Face `datasets` and the Hub know the splits of a folder,
//! their files and their features.
//!
//! Its last line has a checksum of the lines before. So a card that is as fdconvert wrote it is
//! known by itself, and any other `README.md` is the user's: it is neither replaced nor removed.
use super::{
    features::stored,
    layout::FORMAT,
    manifest::{DATA, Manifest},
};
use crate::sidecars::{
    card::{Card, SplitFacts, split_names},
    hf::{dtype, quoted},
};
use fdconvert_core::{ArraySpec, Error, FieldSpec, Kind, Remark, Result, Schema};
use fdconvert_storage::{place, read_if_there, replace};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const NAME: &str = "README.md";
/// Start and end of the last line.
const MARK: (&str, &str) = ("<!-- Written by fdconvert: ", " -->\n");
const MAX_BYTES: u64 = 1 << 30;

/// The card of a dataset with this manifest.
pub(crate) fn text(manifest: &Manifest) -> Vec<u8> {
    let schema = &manifest.schema;
    let has_images = schema.first_image().is_some();
    let splits = splits(manifest);
    let card = Card {
        title: if has_images { "Images in Parquet files" } else { "Samples in Parquet files" },
        tag: None,
        schema,
        config: config(manifest, &splits),
        features: Some(features(schema)),
        splits,
        provenance: Some(&manifest.provenance),
    };
    let edited = manifest.edit.as_ref().map_or_else(String::new, |edit| {
        format!("\nIt was edited since, and is version {} now.\n", edit.version)
    });
    let text = format!("{}\n{}{edited}\n", card.front_matter(), card.body());
    let xxh3 = xxh3_64(text.as_bytes());
    format!("{text}{}{xxh3:016x}{}", MARK.0, MARK.1).into_bytes()
}

/// Writes the card, unless there is a `README.md` of the user.
///
/// # Errors
/// `Io`.
pub(crate) fn write(out: &Path, manifest: &Manifest) -> Result<Option<PathBuf>> {
    let path = out.join(NAME);
    if is_of_user(out)? {
        return Ok(None);
    }
    replace(&path, &text(manifest))?;
    Ok(Some(path))
}

/// Removes the card, but no `README.md` of the user.
///
/// # Errors
/// `Io`.
pub(crate) fn remove(out: &Path) -> Result<()> {
    if is_of_user(out)? { Ok(()) } else { place::remove(&out.join(NAME)) }
}

/// Tells that a `README.md` of the user stays.
pub(crate) fn notice(out: &Path) -> Option<Remark> {
    is_of_user(out).ok()?.then(|| {
        let what = format!(
            "{} is not as fdconvert writes it, and stays as it is: `datasets` goes by the files, \
             features and sizes of splits in it, which may be others than those of the dataset",
            out.join(NAME).display()
        );
        what.into()
    })
}

/// Finds a card that is cut short. Any other change may be the user's.
pub(crate) fn problem(out: &Path, manifest: &Manifest) -> Option<Error> {
    let path = out.join(NAME);
    let found = match read_if_there(&path, MAX_BYTES) {
        Ok(found) => found?,
        Err(error) => return Some(error),
    };
    let wanted = text(manifest);
    (found.len() < wanted.len() && wanted.starts_with(&found))
        .then(|| Error::corrupt(FORMAT, path, 0, "it is cut short; remove it, or write your own"))
}

/// Returns true if there is a `README.md` that fdconvert did not write, or that was changed since.
pub(crate) fn is_of_user(out: &Path) -> Result<bool> {
    let found = read_if_there(&out.join(NAME), MAX_BYTES)?;
    Ok(found.is_some_and(|text| !is_as_written(&text)))
}

fn is_as_written(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    let Some(at) = text.rfind(MARK.0) else { return false };
    let (before, line) = text.split_at(at);
    line == format!("{}{:016x}{}", MARK.0, xxh3_64(before.as_bytes()), MARK.1)
}

fn splits(manifest: &Manifest) -> Vec<SplitFacts> {
    let mut splits: Vec<SplitFacts> = Vec::new();
    for shard in &manifest.shards {
        let at = splits.iter().position(|split| split.name == shard.split);
        let at = at.unwrap_or_else(|| {
            splits.push(SplitFacts { name: shard.split.clone(), ..SplitFacts::default() });
            splits.len() - 1
        });
        if let Some(split) = splits.get_mut(at) {
            split.n_samples += shard.samples;
            split.n_shards += 1;
            split.bytes += shard.bytes;
        }
    }
    splits
}

/// Lists the files of each split: `data/train-*`.
fn config(manifest: &Manifest, splits: &[SplitFacts]) -> String {
    let mut text = "- config_name: default\n  data_files:\n".to_owned();
    for (split, name) in splits.iter().zip(split_names(splits)) {
        text.push_str(&format!("  - split: {}\n    path:", quoted(&name)));
        let begin = format!("{}-", split.name);
        // Those of `train-extra` are no files of `train`.
        let is_begin = splits.iter().any(|other| other.name.starts_with(&begin));
        let shards = manifest.shards.iter().filter(|shard| shard.split == split.name);
        // Files that an earlier version wrote are next to the folder.
        let in_data: BTreeSet<bool> = shards.map(|shard| shard.name.contains('/')).collect();
        let patterns = in_data.into_iter().map(|in_data| {
            let folder = if in_data { format!("{DATA}/") } else { String::new() };
            let end = match (is_begin, in_data) {
                (false, _) => "*",
                (true, true) => "[0-9][0-9][0-9][0-9][0-9]-of-*",
                (true, false) => "[0-9][0-9][0-9][0-9][0-9].parquet",
            };
            quoted(&format!("{folder}{begin}{end}"))
        });
        match &patterns.collect::<Vec<_>>()[..] {
            [one] => text.push_str(&format!(" {one}\n")),
            several => {
                text.push('\n');
                text.extend(several.iter().map(|pattern| format!("    - {pattern}\n")));
            }
        }
    }
    text
}

/// The features of the columns, as the files have them in their metadata.
fn features(schema: &Schema) -> String {
    schema.fields.iter().map(feature).collect()
}

fn feature(field: &FieldSpec) -> String {
    let named = |rest: &str| format!("  - name: {}\n    {rest}\n", quoted(&field.name));
    match &field.kind {
        Kind::Float => named("dtype: float64"),
        Kind::Images => named("list: image"),
        Kind::Array(spec) => named(&array(spec)),
        _ => named(&format!("dtype:{}", dtype(field).unwrap_or_else(|| " string".to_owned()))),
    }
}

fn array(spec: &ArraySpec) -> String {
    let (shape, name) = stored(spec);
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    if let n @ 2..=5 = shape.len() {
        let sizes = sizes.join(", ");
        return format!(
            "dtype:\n      array{n}_d:\n        shape: [{sizes}]\n        dtype: {name}"
        );
    }
    // Flow style: the lists of lists are on one line.
    let (outer, inner) =
        sizes.split_first().map_or(("1", &[][..]), |(outer, inner)| (&**outer, inner));
    let element = inner
        .iter()
        .rev()
        .fold(name.to_owned(), |element, length| format!("{{list: {element}, length: {length}}}"));
    format!("list: {element}\n    length: {outer}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::manifest::ShardFacts;
    use fdconvert_core::Provenance;

    #[test]
    fn files_of_a_split_are_those_of_no_other() {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        let mut manifest = Manifest::new(String::new(), schema, Provenance::default());
        for (name, split) in [
            ("data/train-00000-of-00001.parquet", "train"),
            ("data/train-x-00000-of-00001.parquet", "train-x"),
            ("train-00000.parquet", "train"),
            ("data/train_x-00000-of-00001.parquet", "train_x"),
        ] {
            let (name, split) = (name.to_owned(), split.to_owned());
            manifest.shards.push(ShardFacts { name, split, samples: 1, bytes: 1 });
        }
        let expected = r#"- config_name: default
  data_files:
  - split: "train"
    path:
    - "train-[0-9][0-9][0-9][0-9][0-9].parquet"
    - "data/train-[0-9][0-9][0-9][0-9][0-9]-of-*"
  - split: "train_x"
    path: "data/train-x-*"
  - split: "train_x_"
    path: "data/train_x-*"
"#;
        assert_eq!(config(&manifest, &splits(&manifest)), expected);
    }

    #[test]
    fn a_card_is_known_until_a_byte_of_it_changes() {
        let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap();
        let text = text(&Manifest::new(String::new(), schema, Provenance::default()));
        assert!(is_as_written(&text));
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 1;
            assert!(!is_as_written(&changed), "{at}");
        }
        assert!(!is_as_written(&[&text[..], b"\n"].concat()) && !is_as_written(b""));
    }
}
