//! A job ready to run, and its notes.
use crate::{
    Context,
    choose::Chosen,
    document::document,
    notes::Notes,
    out,
    splits::{self, SplitReport, planned_json},
};
use fdconvert_core::{Error, Remark, Result, option, split_names};
use fdconvert_pipeline::{PackJob, Report, outputs};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Samples to write into a dataset.
pub struct Samples {
    job: PackJob,
    notes: Notes,
}

impl Samples {
    /// Checks the outputs of the job.
    pub(crate) fn new(job: PackJob, notes: Notes, inputs: &[&PathBuf]) -> Result<Self> {
        let (format, out) = (&*job.format, &*job.out);
        out::check_name(out, format, notes.unpacks)?;
        let planned = outputs(format, &job.plan, out);
        out::check_each(&planned, out, inputs, format, job.run.overwrite)?;
        if job.run.part.is_some() && !format.is_sharded() {
            let name = format.name();
            let what = format!("a {name} is one file and cannot be written in parts");
            return Err(Error::usage(option::PART, what));
        }
        Ok(Self { job, notes })
    }

    /// Returns the job.
    #[must_use]
    pub fn job(&self) -> &PackJob {
        &self.job
    }

    /// Returns true if neither an option nor the extension of the output chose the format.
    #[must_use]
    pub fn is_default_format(&self) -> bool {
        self.notes.is_default_format
    }

    /// Returns true if entry points of JPEGs were asked for, and are not stored by default.
    #[must_use]
    pub fn asks_for_entry_points(&self) -> bool {
        self.notes.asks_for_entry_points
    }

    /// Returns notes on the selection of samples by their properties, in sentences.
    #[must_use]
    pub fn choice_notes(&self) -> &[Remark] {
        &self.notes.choice
    }

    /// Returns the number of samples that the selection left out, as in
    /// [`choice_notes`](Self::choice_notes).
    #[must_use]
    pub fn chosen_away(&self) -> u64 {
        self.chosen().left_out()
    }

    pub(crate) fn chosen(&self) -> &Chosen {
        &self.notes.chosen
    }

    /// Returns the splits that this run wrote, in the order of the plan.
    #[must_use]
    pub fn splits(&self, report: &Report) -> Vec<SplitReport> {
        match self.notes.unpacks && !self.job.source.splits().is_empty() {
            true => splits::kept_together(&self.job, report),
            false => splits::written(&self.job, report),
        }
    }

    /// Returns notes on the splits of the source and on the source itself, in sentences.
    #[must_use]
    pub fn split_notes(&self) -> Vec<Remark> {
        self.notes.on_source(&*self.job.source)
    }

    /// Returns the paths to write: formats of one file have one for each split.
    #[must_use]
    pub fn outputs(&self) -> Vec<PathBuf> {
        outputs(&*self.job.format, &self.job.plan, &self.job.out)
    }

    /// Returns the paths that a run has written: outputs without remaining samples do not exist.
    #[must_use]
    pub fn written(&self, report: &Report) -> Vec<PathBuf> {
        let planned = self.outputs();
        match planned.len() {
            0 | 1 => planned,
            _ => report.shards.iter().map(|shard| shard.path.clone()).collect(),
        }
    }

    /// Returns the format's remarks on storing such samples, and on what is at the output.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        let PackJob { format, source, plan, out, .. } = &self.job;
        let mut remarks = format.remarks(source.schema(), &plan.common);
        remarks.extend(format.notices(out));
        remarks
    }

    /// Packs the samples.
    ///
    /// # Errors
    /// As for [`Pack::run`](crate::Pack::run).
    pub fn run(&self, context: Context<'_>) -> Result<Report> {
        let mut observer = context.progress.packing();
        fdconvert_pipeline::pack(&self.job, context.cancel, &mut *observer)
    }
}

impl Samples {
    /// Returns the plan of the run as a document.
    #[must_use]
    pub fn plan_document(&self) -> Value {
        let job = self.job();
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(job.plan.len()));
        fields.insert("shards".into(), json!(job.plan.shards.len()));
        fields.insert("out".into(), json!(job.out.display().to_string()));
        fields.insert("outputs".into(), outputs_json(&self.outputs()));
        fields.insert("splits".into(), planned_json(&job.plan));
        fields.insert("source_splits".into(), json!(split_names(job.source.splits())));
        fields.insert("split_notes".into(), json!(self.split_notes()));
        fields.insert("format".into(), json!(job.format.name()));
        fields.insert("schema".into(), json!(job.source.schema()));
        fields.insert("params".into(), json!(job.policy.params()));
        fields.insert("jpeg_index".into(), json!(job.jpeg_index));
        fields.insert("ignored".into(), json!(job.source.facts().ignored));
        fields.extend(self.chosen().document());
        document("plan", fields)
    }

    /// Returns the report of a run as a document of the kind `what`: `packed` or `unpacked`.
    #[must_use]
    pub fn document(&self, what: &str, report: &Report) -> Value {
        let job = self.job();
        let notes: Map<String, Value> =
            report.notes.iter().map(|(name, _, n)| ((*name).to_owned(), json!(n))).collect();
        let codecs: Map<String, Value> =
            report.codecs.iter().map(|(codec, n)| (codec.extension().into(), json!(n))).collect();
        let times: Map<String, Value> = report
            .stages
            .by_name()
            .into_iter()
            .map(|(name, time)| (name.to_owned(), json!(time.as_secs_f64())))
            .collect();
        let shards: Vec<_> = report
            .shards
            .iter()
            .map(|shard| {
                let path = shard.path.display().to_string();
                json!({"path": path, "samples": shard.samples, "bytes": shard.bytes})
            })
            .collect();
        let splits: Vec<_> = self
            .splits(report)
            .into_iter()
            .map(|split| json!({"name": split.name, "samples": split.samples}))
            .collect();
        let not_decoded = report.not_decoded.as_ref();
        let not_decoded = not_decoded.map(|(key, why)| json!({"key": key, "reason": why}));
        let bands = report
            .bands
            .as_ref()
            .map(|(key, bands)| json!({"key": key, "n": bands.n, "dtype": bands.dtype.name()}));
        let (fell_back, before, after) = report.fell_back;
        let fields = json!({
            "out": job.out.display().to_string(),
            "outputs": outputs_json(&self.written(report)),
            "format": job.format.name(),
            "planned": report.planned,
            "samples": report.samples,
            "resumed": report.resumed,
            "checked_bytes": report.checked.bytes,
            "checked_seconds": report.checked.time.as_secs_f64(),
            "skipped": report.skipped,
            "ignored": job.source.facts().ignored,
            "left_out": self.n_left_out(),
            "splits": splits,
            "source_splits": split_names(job.source.splits()),
            "split_notes": self.split_notes(),
            "bytes_in": report.bytes_in,
            "bytes_stored": report.bytes_stored,
            "bytes_out": report.bytes_out,
            "codecs": codecs,
            "notes": notes,
            "not_decoded": not_decoded,
            "bands": bands,
            "remarks": self.remarks(),
            "fell_back": {"images": fell_back, "bytes_before": before, "bytes_after": after},
            "jpeg_index": report.entry_points,
            "shards": shards,
            "seconds": report.elapsed.as_secs_f64(),
            "stage_seconds": times,
            "bottleneck": report.stages.bottleneck(report.elapsed),
            "threads": job.run.n_threads().unwrap_or(1),
            "params": job.policy.params(),
        });
        match fields {
            Value::Object(mut fields) => {
                fields.extend(self.chosen().document());
                document(what, fields)
            }
            _ => document(what, Map::new()),
        }
    }

    /// Returns the number of the source's samples that are not planned.
    fn n_left_out(&self) -> u64 {
        let job = self.job();
        match job.source.facts().is_open() {
            true => 0,
            false => job.source.len().saturating_sub(job.plan.len()),
        }
    }
}

fn outputs_json(outputs: &[PathBuf]) -> Value {
    outputs.iter().map(|place| place.display().to_string()).collect()
}
