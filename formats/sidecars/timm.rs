//! `_info.json`: lengths and splits for timm.
use super::{Output, Shards, json};
use fdconvert_core::Result;
use serde_json::{Map, json};

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let mut splits = Map::new();
    for (split, files) in shards.by_split() {
        let names = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>();
        let lengths: Vec<u64> = files.iter().map(|file| file.n_samples).collect();
        let facts = json!({
            "name": split,
            "num_samples": lengths.iter().sum::<u64>(),
            "filenames": names,
            "shard_lengths": lengths,
        });
        splits.insert(split.to_owned(), facts);
    }
    Ok(vec![(shards.out.join("_info.json"), json(&json!({ "splits": splits })))])
}
