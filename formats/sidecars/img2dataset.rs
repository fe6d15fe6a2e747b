//! `STEM_stats.json` next to each shard, as img2dataset writes it.
use super::{Output, Shards, json};
use fdconvert_core::Result;
use serde_json::json;

/// Times are 0: a clock would change the bytes of the same dataset.
pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
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
