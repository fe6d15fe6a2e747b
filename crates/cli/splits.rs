//! Which splits a run writes, what they are called, and what there is to say about them.
use crate::output;
use fdconvert_core::{Format, Result, Shard, Source, split_named, split_names};
use fdconvert_pipeline::{Job, Plan, PlanRequest, Report, has_begun, outputs};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// Outputs and splits that a text lists; JSON has all.
pub(crate) const SHOWN: usize = 8;

/// The split that a source is by the name of its folder, where that folder is all there is. Only
/// for formats whose shards are named after splits.
pub(crate) fn only_split(
    paths: &[PathBuf],
    source: &dyn Source,
    format: &dyn Format,
) -> Option<String> {
    let [path] = paths else { return None };
    let names_shards = matches!(format.name(), "wds" | "mixed");
    if !names_shards || !source.splits().is_empty() {
        return None;
    }
    folder_split(path).map(str::to_owned)
}

/// The split that a folder is by its name.
pub(crate) fn folder_split(path: &Path) -> Option<&'static str> {
    if !path.is_dir() {
        return None;
    }
    let name = match path.file_name() {
        Some(name) => name.to_owned(),
        None => fs::canonicalize(path).ok()?.file_name()?.to_owned(),
    };
    split_named(name.to_str()?)
}

/// What became of the splits of the source, and what else there is to know about it.
pub(crate) fn notes(
    paths: &[PathBuf],
    source: &dyn Source,
    plan: &Plan,
    request: &PlanRequest,
) -> Vec<String> {
    let splits = source.splits();
    let own = split_names(&splits);
    let mut notes = Vec::new();
    match (&own[..], request) {
        ([], _) => notes.extend(packed_as_one(paths, request)),
        (own, PlanRequest { mix_splits: true, .. }) => {
            notes.push(format!("{} mixed by --no-split-folders", of_source(own, "is", "are")));
        }
        (own, request) if !request.splits.is_empty() => {
            let name = split_at(&splits, plan.source_index(0));
            let name = name.unwrap_or_else(|| own.join(", "));
            notes.push(format!("--split divides the split {name} of the source"));
        }
        (own, _) => {
            let planned = plan.splits();
            let kept: Vec<&str> = own.iter().copied().filter(|it| planned.contains(it)).collect();
            notes.push(format!(
                "{} kept; --no-split-folders mixes them, or makes classes of folders",
                of_source(&kept, "is", "are")
            ));
            let others: Vec<&str> = own.iter().copied().filter(|it| !kept.contains(it)).collect();
            if !others.is_empty() {
                notes.push(format!("no sample is taken of {}", others.join(", ")));
            }
        }
    }
    notes.extend(source.remarks());
    notes
}

/// `the splits train, val of the source are`
fn of_source(names: &[&str], is: &str, are: &str) -> String {
    let (splits, are) = if names.len() == 1 { ("split", is) } else { ("splits", are) };
    format!("the {splits} {} of the source {are}", names.join(", "))
}

/// That folders of several splits were given as sources, which makes one dataset of them.
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

/// `o-train.beton, o-val.beton`: what is really written.
pub(crate) fn places(format: &dyn Format, plan: &Plan, out: &Path) -> String {
    let places = outputs(format, plan, out);
    let shown: Vec<_> = places.iter().take(SHOWN).map(|place| output::path(place)).collect();
    let n_more = places.len() - shown.len();
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// What JSON says of the splits of a plan.
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

/// The plan as it was called before shards were named after their source, where OUT has such shards
/// of the same run: what was begun is continued under its name.
pub(crate) fn as_begun_before(job: &Job<'_>) -> Result<Option<Plan>> {
    let is_begun = |plan: &Plan| -> Result<bool> {
        let first = format!("{}-000000.tar.partial", Shard::DEFAULT_SPLIT);
        Ok(job.out.join(first).is_file() || has_begun(&Job { plan, ..*job })?)
    };
    let mut plan = job.plan.clone();
    for shard in &mut plan.shards {
        shard.split = Shard::DEFAULT_SPLIT.to_owned();
    }
    Ok(if job.out.is_dir() && is_begun(&plan)? { Some(plan) } else { None })
}

/// A split of an output.
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) samples: u64,
    /// Where they are: `in 3 shards`.
    pub(crate) place: String,
}

/// The splits in the order of the plan, as far as this run wrote them.
pub(crate) fn written(job: &Job<'_>, report: &Report) -> Vec<Written> {
    let n_shards = job.plan.shards.len();
    let mine =
        |number: &usize| job.part.is_none_or(|part| *number as u64 % part.of.max(1) == part.index);
    let shards = (0..n_shards).filter(mine).filter_map(|number| job.plan.shards.get(number));
    let mut splits: Vec<(Written, u64)> = Vec::new();
    let mut at = BTreeMap::new();
    for (shard, summary) in shards.zip(&report.shards) {
        let number = *at.entry(&shard.split).or_insert_with(|| {
            let (name, place) = (shard.split.clone(), String::new());
            splits.push((Written { name, samples: 0, place }, 0));
            splits.len() - 1
        });
        if let Some((split, n_shards)) = splits.get_mut(number) {
            split.samples += summary.samples;
            *n_shards += 1;
            split.place = match job.format.is_sharded() {
                true => format!("in {}", output::counted(*n_shards, "shard")),
                false => format!("in {}", summary.path.display()),
            };
        }
    }
    splits.into_iter().map(|(split, _)| split).collect()
}

/// The splits of a source whose samples all lie in one place, less those that were left out.
pub(crate) fn kept_together(job: &Job<'_>, report: &Report) -> Vec<Written> {
    let splits = job.source.splits();
    let mut written: Vec<Written> = Vec::new();
    for (name, range) in &splits {
        let skipped = report.skipped.iter().filter(|skipped| range.contains(&skipped.index));
        let samples = range.end - range.start - skipped.count() as u64;
        match written.iter_mut().find(|split| split.name == *name) {
            Some(split) => split.samples += samples,
            None => {
                let place = format!("in {}", job.out.display());
                written.push(Written { name: name.clone(), samples, place });
            }
        }
    }
    written
}
