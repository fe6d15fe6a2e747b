//! `.nv-meta` and `NAME.tar.idx`, an index of headers for each shard. Energon's database
//! `index.sqlite`, an internal layout, is absent: `energon prepare` makes it.
use super::{Output, Shards, json};
use fdconvert_core::{Kind, Result};
use serde_json::{Map, json};

const META: &str = ".nv-meta";
/// Energon's version of this layout.
const VERSION: &str = "7.4.1";

/// The index of each shard.
pub(super) fn indexes(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for file in shards.files {
        // The header of each sample, then the end of the last one.
        let (mut index, mut end) = (Vec::new(), 0);
        shards.walk(file, |sample| {
            if let (Some(first), Some(last)) = (sample.entries.first(), sample.entries.last()) {
                index.extend_from_slice(&first.header.to_le_bytes());
                end = (last.data + last.len).next_multiple_of(512);
            }
            Ok(())
        })?;
        index.extend_from_slice(&end.to_le_bytes());
        let mut path = file.path.as_os_str().to_owned();
        path.push(".idx");
        outputs.push((path.into(), index));
    }
    Ok(outputs)
}

/// The folder `.nv-meta`.
pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let counts = shards.files.iter().map(|file| (file.name.clone(), file.n_samples.into()));
    let counts: Map<_, _> = counts.collect();
    let mut outputs = Vec::new();
    let meta = shards.out.join(META);
    let info = json!({ "energon_version": VERSION, "shard_counts": counts });
    outputs.push((meta.join(".info.json"), json(&info)));
    outputs.push((meta.join("split.yaml"), split_yaml(shards)?.into_bytes()));
    outputs.push((meta.join("dataset.yaml"), dataset_yaml(shards).into_bytes()));
    Ok(outputs)
}

fn split_yaml(shards: &Shards<'_>) -> Result<String> {
    let mut text = "exclude: []\nsplit_parts:\n".to_owned();
    for (split, files) in shards.by_split() {
        // Energon's validation loaders expect this name.
        let split = if split == "validation" { "val" } else { split };
        text.push_str(&format!("  {}:\n", json!(split)));
        for file in files {
            text.push_str(&format!("  - {}\n", json!(file.name)));
        }
    }
    Ok(text)
}

/// The sample type: an image with a label if there are both, otherwise a type that depends on the
/// names.
fn dataset_yaml(shards: &Shards<'_>) -> String {
    // Energon separates alternatives by commas.
    let member = |i: Option<usize>| Some(shards.members.get(i?)?.replace(';', ","));
    let label = shards
        .schema
        .label()
        .filter(|&i| shards.schema.fields.get(i).is_some_and(|field| field.kind == Kind::Int));
    match (member(shards.schema.first_image()), member(label)) {
        (Some(image), Some(label)) => format!(
            "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\n\
             field_map:\n  image: {}\n  label: {}\n",
            json!(image),
            json!(label)
        ),
        _ => "__module__: megatron.energon\n__class__: CrudeWebdataset\n".to_owned(),
    }
}
