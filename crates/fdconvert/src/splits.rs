//! The splits of a run, and their names.
use crate::classes;
use fdconvert_core::{Format, Remark, Source, option, split_named, split_names};
use fdconvert_pipeline::{PackJob, Plan, PlanRequest, Report};
use fdconvert_storage::{name_of, place::left_out};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::{Path, PathBuf},
};

/// Extensions of archives that stand for folders.
const ARCHIVES: [&str; 5] = [".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst"];

/// Returns the split in the name of a source's folder, if that folder is the whole source. Only for
/// formats with shards named after splits.
pub(crate) fn only_split(
    paths: &[PathBuf],
    source: &dyn Source,
    format: &dyn Format,
) -> Option<String> {
    let [path] = paths else { return None };
    if !format.capabilities().names_splits || !source.splits().is_empty() {
        return None;
    }
    folder_split(path).map(str::to_owned)
}

/// Returns the split that the name of a folder, or of an archive of one, stands for.
fn folder_split(path: &Path) -> Option<&'static str> {
    if path.is_file() {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        return ARCHIVES.iter().find_map(|suffix| split_named(name.strip_suffix(suffix)?));
    }
    if !path.is_dir() {
        return None;
    }
    split_named(&name_of(path).ok()??)
}

/// Returns notes on the splits of the source, and on the source itself.
pub(crate) fn notes(
    paths: &[PathBuf],
    source: &dyn Source,
    plan: &Plan,
    request: &PlanRequest,
) -> Vec<Remark> {
    let splits = source.splits();
    let own = split_names(splits);
    let mut notes = Vec::new();
    match (&own[..], request) {
        ([], _) => notes.extend(packed_as_one(paths, request).map(Remark::from)),
        (own, PlanRequest { mix_splits: true, .. }) => {
            let own = of_source(own, "is", "are");
            notes.push(format!("{own} mixed").into());
        }
        (own, request) if !request.splits.is_empty() => {
            let name = split_at(splits, plan.source_index(0));
            let name = name.unwrap_or_else(|| own.join(", "));
            notes.push(format!("the split {name} of the source is divided").into());
        }
        (own, _) => {
            let planned = plan.splits();
            let kept: Vec<&str> = own.iter().copied().filter(|it| planned.contains(it)).collect();
            let note = format!("{} kept", of_source(&kept, "is", "are"));
            let purpose = "to mix them, or to make classes of folders";
            notes.push(Remark::from(note).cure(purpose, option::NO_SPLIT_FOLDERS.on()));
            let others: Vec<&str> = own.iter().copied().filter(|it| !kept.contains(it)).collect();
            if !others.is_empty() {
                notes.push(format!("no sample is taken of {}", others.join(", ")).into());
            }
        }
    }
    notes.extend(paths.iter().filter_map(|path| left_out(path)).map(Remark::from));
    notes.extend(classes::alike(source.schema()));
    notes
}

/// `the splits train, val of the source are`
fn of_source(names: &[&str], is: &str, are: &str) -> String {
    let (splits, are) = if names.len() == 1 { ("split", is) } else { ("splits", are) };
    format!("the {splits} {} of the source {are}", names.join(", "))
}

/// Returns the note that folders of several splits were given as sources, which makes one dataset
/// of them.
fn packed_as_one(paths: &[PathBuf], request: &PlanRequest) -> Option<String> {
    let names: BTreeSet<&str> = paths.iter().filter_map(|path| folder_split(path)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    (names.len() > 1 && request.splits.is_empty()).then(|| {
        format!(
            "the sources {} become one dataset; of a folder of images that holds them they stay \
             splits",
            names.join(", ")
        )
    })
}

fn split_at(splits: &[(String, Range<u64>)], index: u64) -> Option<String> {
    splits.iter().find(|(_, range)| range.contains(&index)).map(|(name, _)| name.clone())
}

/// Returns notes on splits in a folder of files at the paths in their names.
pub(crate) fn unpacking_notes(dataset: &Path, out: &Path, source: &dyn Source) -> Vec<Remark> {
    let splits = source.splits();
    let mut notes = match &split_names(splits)[..] {
        [] => Vec::new(),
        [only] if folder_split(out).is_some_and(|name| name == *only) => Vec::new(),
        [only] => {
            vec![format!("all are of the split {only}, which a folder of that name keeps").into()]
        }
        names => {
            let note = format!(
                "fdconvert.json says which files are of the splits {}, and pack keeps them",
                names.join(", ")
            );
            let purpose = "to get a folder for each by packing the dataset";
            vec![Remark::from(note).cure(purpose, option::FORMAT.with("folder"))]
        }
    };
    notes.extend(left_out(dataset).map(Remark::from));
    notes
}

/// Returns the splits of a plan for JSON.
pub(crate) fn planned_json(plan: &Plan) -> Value {
    let of = |name: &str| {
        let shards = plan.shards.iter().filter(|shard| shard.split == name);
        let (n, samples) = shards.fold((0, 0), |(n, samples), shard| {
            (n + 1, samples + shard.samples.end - shard.samples.start)
        });
        json!({"name": name, "samples": samples, "shards": n})
    };
    let mut names: Vec<&str> = plan.shards.iter().map(|shard| shard.split.as_str()).collect();
    names.dedup();
    names.into_iter().map(of).collect()
}

/// Split of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitReport {
    /// Its name.
    pub name: String,
    /// Number of samples in it.
    pub samples: u64,
    /// Number of shards in it.
    pub shards: u64,
    /// File of the split, if it has a separate one.
    pub file: Option<PathBuf>,
}

/// Returns the splits that this run wrote, in the order of the plan.
pub(crate) fn written(job: &PackJob, report: &Report) -> Vec<SplitReport> {
    let mut splits: Vec<SplitReport> = Vec::new();
    let mut at = BTreeMap::new();
    for (split, summary) in report.shard_splits.iter().zip(&report.shards) {
        let number = *at.entry(split).or_insert_with(|| {
            let file = (!job.format.is_sharded()).then(|| summary.path.clone());
            let name = split.clone();
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

/// Returns the splits of a source with all samples in one place, without those that were left out.
pub(crate) fn kept_together(job: &PackJob, report: &Report) -> Vec<SplitReport> {
    let splits = job.source.splits();
    let mut written: Vec<SplitReport> = Vec::new();
    for (name, range) in splits {
        let skipped = report.skipped.iter().filter(|skipped| range.contains(&skipped.index));
        let samples = range.end - range.start - skipped.count() as u64;
        match written.iter_mut().find(|split| split.name == *name) {
            Some(split) => split.samples += samples,
            None => {
                let file = Some(job.out.clone());
                written.push(SplitReport { name: name.clone(), samples, shards: 1, file });
            }
        }
    }
    written
}
