//! Which splits a run writes, and what they are called.
use fdconvert_core::{Format, Result, Shard, Source};
use fdconvert_pipeline::{Dataset, Part, Plan, Report};
use std::{collections::BTreeMap, fs, path::PathBuf};

/// The split that a source is by the name of its folder, where that folder is all there is. Only
/// for formats whose shards are named after splits.
pub(crate) fn only_split(
    paths: &[PathBuf],
    source: &dyn Source,
    format: &dyn Format,
) -> Option<String> {
    let [path] = paths else { return None };
    let names_shards = matches!(format.name(), "wds" | "mixed");
    if !names_shards || !path.is_dir() || !source.splits().is_empty() {
        return None;
    }
    let name = match path.file_name() {
        Some(name) => name.to_owned(),
        None => fs::canonicalize(path).ok()?.file_name()?.to_owned(),
    };
    fdconvert_folder::split_named(name.to_str()?).map(str::to_owned)
}

/// The plan as it was called before shards were named after their source, where the output has such
/// shards of the same run: what was begun is continued under its name.
pub(crate) fn as_begun_before(dataset: &Dataset<'_>) -> Result<Option<Plan>> {
    let is_begun = |plan: &Plan| -> Result<bool> {
        let first = format!("{}-000000.tar.partial", Shard::DEFAULT_SPLIT);
        Ok(dataset.out.join(first).is_file() || Dataset { plan, ..*dataset }.has_begun()?)
    };
    let mut plan = dataset.plan.clone();
    for shard in &mut plan.shards {
        shard.split = Shard::DEFAULT_SPLIT.to_owned();
    }
    Ok(if dataset.out.is_dir() && is_begun(&plan)? { Some(plan) } else { None })
}

/// A split of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitReport {
    /// Its name.
    pub name: String,
    /// Samples in it.
    pub samples: u64,
    /// Shards in it.
    pub shards: u64,
    /// Its file, where it has one of its own.
    pub file: Option<PathBuf>,
}

/// The splits in the order of the plan, as far as this run wrote them.
pub(crate) fn written(
    dataset: &Dataset<'_>,
    part: Option<Part>,
    report: &Report,
) -> Vec<SplitReport> {
    let n_shards = dataset.plan.shards.len();
    let mine =
        |number: &usize| part.is_none_or(|part| *number as u64 % part.of.max(1) == part.index);
    let shards = (0..n_shards).filter(mine).filter_map(|number| dataset.plan.shards.get(number));
    let mut splits: Vec<SplitReport> = Vec::new();
    let mut at = BTreeMap::new();
    for (shard, summary) in shards.zip(&report.shards) {
        let number = *at.entry(&shard.split).or_insert_with(|| {
            let file = (!dataset.format.is_sharded()).then(|| summary.path.clone());
            let name = shard.split.clone();
            splits.push(SplitReport { name, samples: 0, shards: 0, file });
            splits.len() - 1
        });
        if let Some(split) = splits.get_mut(number) {
            split.samples += summary.samples;
            split.shards += 1;
        }
    }
    splits
}
