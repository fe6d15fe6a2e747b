//! Completes a dataset from its parts.
use crate::{
    Context, Planned,
    document::document,
    planned::{COPY, remove_copies},
};
use fdconvert_core::{Error, Remark, Result, Shard, ShardSummary, option};
use fdconvert_pipeline::Checked;
use fdconvert_storage::place;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Dataset that was completed from its parts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Merged {
    /// Shards, in order.
    pub shards: Vec<(Shard, ShardSummary)>,
    /// Written files.
    pub files: Vec<PathBuf>,
    /// Cost of comparing files with records.
    pub checked: Checked,
    /// Remarks on what is beside the dataset.
    pub remarks: Vec<Remark>,
}

impl Merged {
    /// Returns the number of shards, without those that do not exist because all their samples were
    /// left out.
    #[must_use]
    pub fn n_shards(&self) -> u64 {
        self.shards.iter().filter(|(_, shard)| shard.samples > 0).count() as u64
    }

    /// Returns the result for the dataset at `out` as a document.
    #[must_use]
    pub fn document(&self, out: &Path) -> Value {
        let shards = self.shards.iter().map(|(_, shard)| shard);
        let skipped: Vec<_> = shards.clone().flat_map(|shard| &shard.skipped).collect();
        let files: Vec<_> = self.files.iter().map(|path| path.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("samples".into(), json!(shards.clone().map(|it| it.samples).sum::<u64>()));
        fields.insert("shards".into(), json!(self.n_shards()));
        fields.insert("bytes_out".into(), json!(shards.map(|it| it.bytes).sum::<u64>()));
        fields.insert("skipped".into(), json!(skipped));
        fields.insert("files".into(), json!(files));
        fields.insert("remarks".into(), json!(self.remarks));
        fields.insert("checked_bytes".into(), json!(self.checked.bytes));
        fields.insert("checked_seconds".into(), json!(self.checked.time.as_secs_f64()));
        document("merged", fields)
    }
}

/// Completes a dataset after all its parts are packed; `plan` defaults to the copy that they left
/// in `out`.
///
/// # Errors
/// `Usage` for missing shards or a missing plan; the errors of [`Planned::load`]; `Io`;
/// `Cancelled`.
pub fn merge(out: &Path, plan: Option<&Path>, context: Context<'_>) -> Result<Merged> {
    let file = plan.map_or_else(|| out.join(COPY), Path::to_path_buf);
    if place::file_len(&file)?.is_none() {
        if plan.is_some() {
            return Err(Error::usage(option::PLAN, format!("{} is not a file", file.display())));
        }
        let what = "holds no copy of the plan that its parts were packed by";
        return Err(Error::usage("output", format!("{} {what}", out.display()))
            .cure("to name the plan", option::PLAN));
    }
    let planned = Planned::load(&file, context)?;
    let samples = planned.at(out)?;
    let (shards, checked) = samples.job().finished_shards()?;
    let files = samples.job().complete(&shards)?;
    remove_copies(out)?;
    let remarks = samples.job().format.notices(out);
    Ok(Merged { shards, files, checked, remarks })
}
