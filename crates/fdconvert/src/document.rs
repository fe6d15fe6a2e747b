//! What a run found, as one JSON document: `docs/json.md` is the contract.
use crate::{Samples, splits::planned_json};
use fdconvert_core::split_names;
use fdconvert_pipeline::Report;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Version of the documents; raised when a key changes its meaning or goes.
const VERSION: u32 = 1;

/// A document: what it is, its version, and its fields.
#[must_use]
pub fn document(what: &str, fields: Map<String, Value>) -> Value {
    let mut whole = Map::new();
    whole.insert("document".into(), json!(format!("fdconvert-{what}")));
    whole.insert("version".into(), json!(VERSION));
    whole.extend(fields);
    Value::Object(whole)
}

impl Samples {
    /// Returns what would be done.
    #[must_use]
    pub fn plan_document(&self) -> Value {
        let dataset = self.dataset();
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(dataset.plan.len()));
        fields.insert("shards".into(), json!(dataset.plan.shards.len()));
        fields.insert("out".into(), json!(dataset.out.display().to_string()));
        fields.insert("outputs".into(), outputs_json(&self.outputs()));
        fields.insert("splits".into(), planned_json(dataset.plan));
        fields.insert("source_splits".into(), json!(split_names(dataset.source.splits())));
        fields.insert("split_notes".into(), json!(self.split_notes()));
        fields.insert("format".into(), json!(dataset.format.name()));
        fields.insert("schema".into(), json!(dataset.source.schema()));
        fields.insert("params".into(), json!(dataset.policy.params()));
        fields.insert("jpeg_index".into(), json!(dataset.jpeg_index));
        fields.insert("ignored".into(), json!(dataset.source.facts().ignored));
        fields.extend(self.chosen().document());
        document("plan", fields)
    }

    /// The report of a run under the name of what was done: `packed` or `unpacked`.
    #[must_use]
    pub fn document(&self, what: &str, report: &Report) -> Value {
        let dataset = self.dataset();
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
        let (fell_back, before, after) = report.fell_back;
        let fields = json!({
            "out": dataset.out.display().to_string(),
            "outputs": outputs_json(&self.written(report)),
            "format": dataset.format.name(),
            "planned": report.planned,
            "samples": report.samples,
            "resumed": report.resumed,
            "checked_bytes": report.checked.bytes,
            "checked_seconds": report.checked.time.as_secs_f64(),
            "skipped": report.skipped,
            "ignored": dataset.source.facts().ignored,
            "left_out": self.n_left_out(),
            "splits": splits,
            "source_splits": split_names(dataset.source.splits()),
            "split_notes": self.split_notes(),
            "bytes_in": report.bytes_in,
            "bytes_stored": report.bytes_stored,
            "bytes_out": report.bytes_out,
            "codecs": codecs,
            "notes": notes,
            "remarks": self.remarks(),
            "fell_back": {"images": fell_back, "bytes_before": before, "bytes_after": after},
            "jpeg_index": report.entry_points,
            "shards": shards,
            "seconds": report.elapsed.as_secs_f64(),
            "stage_seconds": times,
            "bottleneck": report.stages.bottleneck(report.elapsed),
            "threads": self.threads().unwrap_or(1),
            "params": dataset.policy.params(),
        });
        match fields {
            Value::Object(mut fields) => {
                fields.extend(self.chosen().document());
                document(what, fields)
            }
            _ => document(what, Map::new()),
        }
    }

    /// Samples of the source that are not planned.
    fn n_left_out(&self) -> u64 {
        let dataset = self.dataset();
        match dataset.source.facts().is_open() {
            true => 0,
            false => dataset.source.len().saturating_sub(dataset.plan.len()),
        }
    }
}

fn outputs_json(outputs: &[PathBuf]) -> Value {
    outputs.iter().map(|place| place.display().to_string()).collect()
}
