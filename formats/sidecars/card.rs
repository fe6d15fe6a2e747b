//! `README.md` as a data card: the contents of the sidecar `hf`, sizes, and how the dataset was
//! made.
use super::{
    Output, Shards,
    hf::{self, MARK, quoted},
};
use fdconvert_core::{Provenance, Result, Schema, Shown};
use std::fmt::Write;

/// A dataset, for its card.
pub(crate) struct Card<'a> {
    pub(crate) title: &'static str,
    /// Tag of the format, if the Hub does not find it by itself.
    pub(crate) tag: Option<&'static str>,
    pub(crate) schema: &'a Schema,
    /// The YAML list of the splits with their files.
    pub(crate) config: String,
    /// The YAML list of the features; `None` if they are not known without the data.
    pub(crate) features: Option<String>,
    pub(crate) splits: Vec<SplitFacts>,
    pub(crate) provenance: Option<&'a Provenance>,
}

/// The shards of a split together.
#[derive(Debug, Default)]
pub(crate) struct SplitFacts {
    pub(crate) name: String,
    pub(crate) n_samples: u64,
    pub(crate) n_shards: usize,
    pub(crate) bytes: u64,
}

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let path = hf::own_readme(shards, "card")?;
    let splits = shards.by_split().into_iter().map(|(split, files)| SplitFacts {
        name: split.to_owned(),
        n_samples: files.iter().map(|file| file.n_samples).sum(),
        n_shards: files.len(),
        bytes: files.iter().map(|file| file.bytes).sum(),
    });
    let card = Card {
        title: "Images in WebDataset shards",
        tag: Some("webdataset"),
        schema: shards.schema,
        config: hf::config(shards)?,
        features: hf::features(shards),
        splits: splits.collect(),
        provenance: shards.provenance,
    };
    let text = format!("{}\n{MARK}\n\n{}", card.front_matter(), card.body());
    Ok(vec![(path, text.into_bytes())])
}

impl Card<'_> {
    /// The YAML that `datasets` and the Hub read.
    pub(crate) fn front_matter(&self) -> String {
        let n_samples = self.splits.iter().map(|split| split.n_samples).sum();
        let bytes: u64 = self.splits.iter().map(|split| split.bytes).sum();
        let mut text = "---\n".to_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "size_categories:\n- {}", size_category(n_samples));
        if self.schema.label().is_some() {
            text.push_str("task_categories:\n- image-classification\n");
        }
        if let Some(tag) = self.tag {
            let _ = writeln!(text, "tags:\n- {tag}");
        }
        let _ = write!(text, "configs:\n{}dataset_info:\n", self.config);
        if let Some(features) = &self.features {
            let _ = write!(text, "  features:\n{features}");
        }
        text.push_str("  splits:\n");
        for (split, name) in self.splits.iter().zip(split_names(&self.splits)) {
            let _ = writeln!(text, "  - name: {}\n    num_bytes: {}", quoted(&name), split.bytes);
            let _ = writeln!(text, "    num_examples: {}", split.n_samples);
        }
        let _ = writeln!(text, "  download_size: {bytes}\n  dataset_size: {bytes}\n---");
        text
    }

    /// The text for people: a table of the splits, the classes, how the dataset was made.
    pub(crate) fn body(&self) -> String {
        let mut text = format!("# {}\n\n", self.title);
        text.push_str("| split | samples | shards | bytes |\n|---|---|---|---|\n");
        for SplitFacts { name, n_samples, n_shards, bytes } in &self.splits {
            let _ = writeln!(text, "| {} | {n_samples} | {n_shards} | {bytes} |", cell(name));
        }
        let label = self.schema.label().and_then(|at| self.schema.fields.get(at));
        if let Some(names) = label.and_then(|field| field.class_names.as_ref()) {
            let _ = writeln!(text, "\nThe label is one of {} classes.", names.len());
        }
        if let Some(made) = self.provenance {
            put_provenance(&mut text, made);
        }
        text
    }
}

/// Returns the names of the splits for `datasets`, in which they are words.
pub(crate) fn split_names(splits: &[SplitFacts]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for split in splits {
        let mut name = split.name.replace('-', "_");
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

fn put_provenance(text: &mut String, made: &Provenance) {
    let (tool, source) = (cell(&made.tool), cell(&made.source));
    let _ = writeln!(text, "\n## How it was made\n\nPacked by {tool} from {source}, with\n");
    text.push_str("| parameter | value |\n|---|---|\n");
    for (name, value) in &made.params {
        let _ = writeln!(text, "| {} | {} |", cell(name), cell(value));
    }
    if !made.skipped.is_empty() {
        let n = made.skipped.len();
        let _ = writeln!(text, "\n{n} samples of the source could not be packed and are left out.");
    }
}

/// Escapes an outside text for a table: one line, no markup.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in Shown(text).to_string().chars() {
        if "|\\`*_<>[]#&!".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Hugging Face's name for the size class.
fn size_category(n_samples: u64) -> &'static str {
    match n_samples {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        10_000_000..100_000_000 => "10M<n<100M",
        100_000_000..1_000_000_000 => "100M<n<1B",
        _ => "n>1B",
    }
}
