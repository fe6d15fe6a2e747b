//! `wids-SPLIT.json`: random access with `wids`.
use super::{Output, Shards, json};
use fdconvert_core::Result;
use serde_json::json;

/// One file per split, because `wids` has no splits. Its optional MD5 checksums are left out: the
/// manifest has checksums.
pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for (split, files) in shards.by_split() {
        let mut list = Vec::with_capacity(files.len());
        for file in files {
            list.push(json!({
                "url": file.name,
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
