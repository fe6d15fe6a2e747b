//! The dataset that is edited.
use super::{Edited, shards::Shards};
use crate::Context;
use fdconvert_codec::Policy;
use fdconvert_core::{
    Common, Edit, Error, Format, Layout, LogEntry, NextShard, OptionKind, OptionValues, Result,
    Source, Version,
};
use fdconvert_formats::edits;
use fdconvert_pipeline::{PackJob, Plan, Report, Run, pack};
use fdconvert_storage::fingerprint_hex;
use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A dataset of shards, its format with the options that it was packed with, and its version.
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) format: Box<dyn Format>,
    pub(super) options: OptionValues,
    pub(super) version: Version,
}

/// What an edit does, besides its shards.
pub(super) struct What {
    pub(super) id: [u8; 16],
    pub(super) command: String,
    pub(super) keep_versions: u64,
    /// Numbers of samples.
    pub(super) added: u64,
    pub(super) removed: u64,
    pub(super) changed: u64,
}

impl Target {
    /// # Errors
    /// `Usage` for a dataset that cannot be edited, with what can be done instead.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("dataset", what));
        let shown = path.display();
        if let Some((dataset, version)) = fdconvert_reader::version_of(path) {
            let dataset = dataset.display();
            return refuse(format!(
                "version {version} of {dataset} stays as it is; edit {dataset}, or pack {shown} \
                 into a new dataset"
            ));
        }
        fdconvert_storage::place::look_at(path)?;
        let Some(format) = fdconvert_reader::recognise(path) else {
            // With the reason.
            return fdconvert_reader::open(path).and_then(|_| {
                refuse(format!("{shown} is not a dataset of shards that can be edited"))
            });
        };
        let name = format.name();
        if format.capabilities().layout == Layout::Images {
            return refuse(format!(
                "{shown} is a folder of images, which is edited as such; a packed dataset of shards \
                 has versions"
            ));
        }
        let Some(version) = format.version(path)? else {
            return refuse(format!(
                "{shown} is a {name}, one file that stays as it was written; make a new one with \
                 the further samples, at the speed of copying: fdconvert pack {shown} MORE OUT"
            ));
        };
        let prefix = format!("{name}.");
        let option = |(key, value): (&String, &String)| {
            let key = key.strip_prefix(&prefix)?.replace('-', "_");
            let known = format.options().iter().find(|option| option.name == key)?;
            let is_flag = known.kind == OptionKind::Flag;
            Some((key, if is_flag { String::new() } else { value.clone() }))
        };
        let options = OptionValues(version.provenance.params.iter().filter_map(option).collect());
        let format = format.with_options(&options)?;
        let format = format.in_shards().unwrap_or(format);
        Ok(Self { path: path.to_path_buf(), format, options, version })
    }

    /// Returns the result if the current version was made by this edit.
    pub(super) fn done(&self, id: [u8; 16]) -> Result<Option<Edited>> {
        if self.version.edit != Some(fingerprint_hex(id)) {
            return Ok(None);
        }
        let entry = edits::log(&self.path)?.pop().unwrap_or_default();
        let shards = (0, self.version.shards.len() as u64);
        let (report, remarks) = (Report::default(), self.format.notices(&self.path));
        Ok(Some(Edited { entry, shards, report, was_done: true, remarks }))
    }

    /// Returns the job that packs the rewritten shards of `shards` from `source`, which has the
    /// samples of the dataset at the same positions.
    pub(super) fn rewriting(
        &self,
        source: Arc<dyn Source>,
        shards: &Shards,
        run: Run,
    ) -> Result<PackJob> {
        let params: BTreeMap<String, String> = self.version.provenance.params.clone();
        let jpeg_index = params.get("jpeg-index").and_then(|bits| bits.parse().ok());
        let with_index = self.format.capabilities().entry_points;
        let (order, planned) = shards.plan();
        let plan = Plan {
            order: Some(order),
            shards: planned,
            common: self.version.common.clone(),
            ..Plan::single_file(0)
        };
        let format = self.format.with_options(&self.options)?;
        Ok(PackJob {
            plan,
            name: Some(self.version.provenance.source.clone()),
            params,
            jpeg_index: jpeg_index.filter(|_| with_index),
            policy: Policy::default(),
            run: Run { overwrite: false, part: None, ..run },
            ..PackJob::new(source, format, PathBuf::new())
        })
    }

    /// Packs the new shards, if there are any, and makes the next version.
    pub(super) fn carry_out(
        &self,
        job: Option<PackJob>,
        next: &[NextShard],
        common: &Common,
        what: What,
        context: Context<'_>,
    ) -> Result<Edited> {
        let base = &self.version.fingerprint;
        let stage = edits::stage(&self.path, base, what.id);
        let report = match job {
            Some(mut job) => {
                job.out.clone_from(&stage);
                let mut observer = context.progress.packing();
                pack(&job, context.cancel, &mut *observer)?
            }
            None => Report::default(),
        };
        let n_skipped = report.skipped.len() as u64;
        let entry = LogEntry {
            time: now(),
            command: what.command,
            added: what.added.saturating_sub(n_skipped),
            removed: what.removed,
            changed: what.changed,
            ..LogEntry::default()
        };
        let entry = self.format.edit(&Edit {
            out: &self.path,
            stage: &stage,
            base,
            id: what.id,
            shards: next,
            common,
            keep_versions: what.keep_versions,
            entry,
        })?;
        let n_new = next.iter().filter(|shard| matches!(shard, NextShard::New(_))).count();
        let shards = (n_new as u64, next.len() as u64);
        let remarks = self.format.notices(&self.path);
        Ok(Edited { entry, shards, report, was_done: false, remarks })
    }
}

/// The time, for the log: no other file has one. `SOURCE_DATE_EPOCH` sets it, for logs that must be
/// reproducible (<https://reproducible-builds.org/specs/source-date-epoch/>).
#[allow(clippy::disallowed_methods, reason = "the log says when a version was made")]
fn now() -> String {
    let given = env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let given = given.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    humantime::format_rfc3339_seconds(given.unwrap_or_else(SystemTime::now)).to_string()
}
