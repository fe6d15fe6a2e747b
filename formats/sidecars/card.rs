//! `README.md` as a data card: the contents of the sidecar `hf`, sizes, and how the dataset was
//! made.
use super::{
    Output, Shards,
    hf::{self, MARK, quoted},
};
use fdconvert_core::{Provenance, Result, Shown};
use std::fmt::Write;

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let path = hf::own_readme(shards, "card")?;
    let n_samples = shards.files.iter().map(|file| file.n_samples).sum();
    let bytes: u64 = shards.files.iter().map(|file| file.bytes).sum();
    let mut text = "---\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "size_categories:\n- {}", size_category(n_samples));
    if shards.schema.label().is_some() {
        text.push_str("task_categories:\n- image-classification\n");
    }
    text.push_str("tags:\n- webdataset\n");
    let _ = write!(text, "configs:\n{}", hf::config(shards)?);
    text.push_str(hf::features(shards).as_deref().unwrap_or("dataset_info:\n"));
    text.push_str("  splits:\n");
    for (split, files) in shards.by_split() {
        let name = quoted(&split.replace('-', "_"));
        let n_bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let n_examples: u64 = files.iter().map(|file| file.n_samples).sum();
        let _ = writeln!(text, "  - name: {name}\n    num_bytes: {n_bytes}");
        let _ = writeln!(text, "    num_examples: {n_examples}");
    }
    let _ = writeln!(text, "  download_size: {bytes}\n  dataset_size: {bytes}\n---\n\n{MARK}\n");
    text.push_str("# Images in WebDataset shards\n\n");
    text.push_str("| split | samples | shards | bytes |\n|---|---|---|---|\n");
    for (split, files) in shards.by_split() {
        let n_bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let n_examples: u64 = files.iter().map(|file| file.n_samples).sum();
        let n_shards = files.len();
        let _ = writeln!(text, "| {} | {n_examples} | {n_shards} | {n_bytes} |", cell(split));
    }
    let label = shards.schema.label().and_then(|at| shards.schema.fields.get(at));
    if let Some(names) = label.and_then(|field| field.class_names.as_ref()) {
        let _ = writeln!(text, "\nThe label is one of {} classes.", names.len());
    }
    if let Some(made) = shards.provenance {
        put_provenance(&mut text, made);
    }
    Ok(vec![(path, text.into_bytes())])
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
