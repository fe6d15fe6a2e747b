//! Sidecars that list the shards with their lengths.
use super::{Output, Shards, json};
use fdconvert_core::Result;
use serde_json::{Map, json};

/// One file per split, because `wids` has no splits. Its optional MD5 checksums are left out: the
/// manifest has checksums.
pub(super) fn wids(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for (split, files) in shards.by_split() {
        let mut list = Vec::with_capacity(files.len());
        for file in files {
            list.push(json!({
                "url": shards.name_of(file)?,
                "nsamples": file.n_samples,
                "filesize": file.bytes,
            }));
        }
        let document = json!({
            "__kind__": "wids-shard-index-v1",
            "wids_version": 1,
            "name": split,
            "shardlist": list,
        });
        outputs.push((shards.out.join(format!("wids-{split}.json")), json(&document)));
    }
    Ok(outputs)
}

pub(super) fn timm(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let mut splits = Map::new();
    for (split, files) in shards.by_split() {
        let names = files.iter().map(|file| shards.name_of(file)).collect::<Result<Vec<_>>>()?;
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

pub(super) fn img2dataset(shards: &Shards<'_>) -> Result<Vec<Output>> {
    shards
        .files
        .iter()
        .map(|file| {
            let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
            let document = json!({
                "count": file.n_samples,
                "successes": file.n_samples,
                "failed_to_download": 0,
                "failed_to_resize": 0,
                "duration": 0.0,
                "start_time": 0.0,
                "end_time": 0.0,
                "status_dict": { "success": file.n_samples },
            });
            Ok((file.path.with_file_name(format!("{stem}_stats.json")), json(&document)))
        })
        .collect()
}
