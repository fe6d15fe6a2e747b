//! `README.md` with front matter that describes the dataset to Hugging Face `datasets`.
use super::{Output, Shards};
use fdconvert_core::{Error, FieldSpec, Kind, Result, option};
use fdconvert_storage::read_file;
use std::{collections::BTreeSet, path::PathBuf};

/// Marks files of fdconvert: a `README.md` without it belongs to the user and is not replaced.
pub(super) const MARK: &str = "<!-- Written by fdconvert. -->";
const MAX_README_BYTES: u64 = 1 << 30;

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let path = own_readme(shards, "hf")?;
    let text = format!(
        "---\nconfigs:\n{}{}---\n\n{MARK}\n\nImages in WebDataset shards.\n",
        config(shards)?,
        features(shards).map_or_else(String::new, |it| format!("dataset_info:\n  features:\n{it}"))
    );
    Ok(vec![(path, text.into_bytes())])
}

/// Path of the `README.md` that this sidecar writes for the dataset.
pub(super) fn own_readme(shards: &Shards<'_>, sidecar: &str) -> Result<PathBuf> {
    if let Some(names) = shards.members.iter().find(|names| names.contains(';')) {
        let what = format!(
            "Hugging Face datasets takes one name for a field, and loses samples of another; here \
             are {names}: leave out `{sidecar}`, or pack again"
        );
        return Err(Error::usage(option::SIDECARS, what)
            .cure("to give all images one name", option::IMAGE_FIELD.with("jpg")));
    }
    let path = shards.out.join("README.md");
    if path.try_exists().map_err(Error::io("access", &path))? {
        let text = read_file(&path, MAX_README_BYTES)?;
        if !text.windows(MARK.len()).any(|window| window == MARK.as_bytes()) {
            let what = format!(
                "fdconvert did not write {}: move it away, or leave out `{sidecar}`",
                path.display()
            );
            return Err(Error::usage(option::SIDECARS, what));
        }
    }
    Ok(path)
}

/// Lists the files of each split. The pattern requires a number, because otherwise the files of
/// `train-extra` would belong to `train`.
pub(super) fn config(shards: &Shards<'_>) -> Result<String> {
    let mut text = "- config_name: default\n  data_files:\n".to_owned();
    let mut names = BTreeSet::new();
    for (split, _) in shards.by_split() {
        // Split names must be words there.
        let name = split.replace('-', "_");
        let what = format!("two splits would be called `{name}` by Hugging Face datasets");
        if !names.insert(name.clone()) {
            return Err(Error::usage(option::SIDECARS, what));
        }
        let (name, glob) = (quoted(&name), quoted(&format!("{split}-[0-9]*.tar")));
        text.push_str(&format!("  - split: {name}\n    path: {glob}\n"));
    }
    Ok(text)
}

/// The types of all fields. `None` if a type depends on the data, as that of JSON does: then
/// `datasets` inspects the first samples, and class names cannot be stated.
pub(super) fn features(shards: &Shards<'_>) -> Option<String> {
    let mut text = String::new();
    for (member, field) in shards.members.iter().zip(&shards.schema.fields) {
        let dtype = dtype(field)?;
        text.push_str(&format!("  - name: {}\n    dtype:{dtype}\n", quoted(member)));
    }
    for name in ["__key__", "__url__"] {
        text.push_str(&format!("  - name: {name}\n    dtype: string\n"));
    }
    Some(text)
}

/// Returns the type of a field, if it does not depend on the data.
pub(crate) fn dtype(field: &FieldSpec) -> Option<String> {
    Some(match field.kind {
        Kind::Image => " image".to_owned(),
        Kind::Int => class_label(field).unwrap_or_else(|| " int64".to_owned()),
        Kind::Text => " string".to_owned(),
        Kind::Bytes => " binary".to_owned(),
        _ => return None,
    })
}

/// Class names must be unique there; otherwise the label stays a number.
fn class_label(field: &FieldSpec) -> Option<String> {
    let names = field.class_names.as_ref()?;
    let unique: BTreeSet<&String> = names.iter().collect();
    if names.is_empty() || unique.len() != names.len() {
        return None;
    }
    let line = |(i, name): (usize, &String)| format!("\n          '{i}': {}", quoted(name));
    let lines: String = names.iter().enumerate().map(line).collect();
    Some(format!("\n      class_label:\n        names:{lines}"))
}

/// Quotes a text as a YAML scalar, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            // Characters that YAML considers unprintable or line breaks.
            '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ if character.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stay_on_their_line() {
        assert_eq!(quoted("a\"b\\\n\u{85}\u{2028}é😀"), "\"a\\\"b\\\\\\u000a\\u0085\\u2028é😀\"");
    }
}
