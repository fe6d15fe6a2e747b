//! The options `where` and `dedup`: a selection of samples by their properties, and its record.
use crate::{Context, PackOptions, Stage, Steps};
use fdconvert_core::{Remark, Result, Shown, Source};
use fdconvert_pipeline::{Condition, Deduped, PlanRequest, dedup};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of pairs of equal samples that are shown and recorded.
const SHOWN: usize = 5;

/// Record of such a selection in outputs and plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chosen {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_expression: Option<ByExpression>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dedup: Option<Deduplicated>,
}

/// Selection by an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ByExpression {
    pub(crate) expression: String,
    /// Number of evaluated samples.
    pub(crate) asked: u64,
    /// Number of evaluated samples that do not match.
    pub(crate) left_out: u64,
}

/// Selection of samples with images that no earlier one has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deduplicated {
    /// Number of hashed samples.
    pub(crate) hashed: u64,
    /// Number of hashed samples with the images of an earlier one.
    pub(crate) left_out: u64,
    /// Number of left-out samples with another label than the earlier one.
    pub(crate) other_label: u64,
    /// The first of them, each with the key of the kept one.
    pub(crate) first: Vec<(String, String)>,
}

/// Selects samples by the options, from those of a plan or from all; returns the record of the
/// selection.
pub(crate) fn choose(
    options: &PackOptions,
    source: &dyn Source,
    request: &mut PlanRequest,
    context: Context<'_>,
) -> Result<Option<Chosen>> {
    if options.r#where.is_none() && options.dedup.is_none() {
        return Ok(None);
    }
    let mut chosen = Chosen::default();
    let condition = options.r#where.as_ref();
    let condition = condition.map(|text| Condition::parse(text, source)).transpose()?;
    let listed = request.selection.listed.take();
    let mut indices = listed.unwrap_or_else(|| (0..source.len()).collect());
    let on_error = request.on_error;
    if let (Some(condition), Some(text)) = (condition, &options.r#where) {
        let asked = indices.len() as u64;
        let steps = context.progress.stage(Stage::Choosing);
        indices =
            counted(asked, &*steps, context, |step| condition.filter(&indices, on_error, step))?;
        let left_out = asked - indices.len() as u64;
        let expression = text.clone();
        chosen.by_expression = Some(ByExpression { expression, asked, left_out });
    }
    if options.dedup.is_some() {
        let hashed = indices.len() as u64;
        let steps = context.progress.stage(Stage::Hashing);
        let found =
            counted(hashed, &*steps, context, |step| dedup(source, &indices, on_error, step))?;
        chosen.dedup = Some(Deduplicated::new(source, hashed, &found));
        indices = found.kept;
    }
    request.selection.listed = Some(indices);
    Ok(Some(chosen))
}

/// Runs `work` and reports its progress.
fn counted<T>(
    total: u64,
    steps: &dyn Steps,
    context: Context<'_>,
    work: impl FnOnce(&dyn Fn(u64) -> bool) -> Result<T>,
) -> Result<T> {
    steps.total(total);
    let done = AtomicU64::new(0);
    work(&|n| {
        steps.done(done.fetch_add(n, Ordering::Relaxed) + n);
        !context.cancel.is_cancelled()
    })
}

impl Deduplicated {
    fn new(source: &dyn Source, hashed: u64, found: &Deduped) -> Self {
        let first = found.pairs.iter().take(SHOWN);
        let first = first.map(|&(gone, first)| (source.key(gone), source.key(first))).collect();
        let (left_out, other_label) = (found.pairs.len() as u64, found.other_label);
        Self { hashed, left_out, other_label, first }
    }

    /// Returns `, 3 of them with another label` if labels differ.
    fn labels(&self) -> String {
        match self.other_label {
            0 => String::new(),
            n => format!(", {n} of them with another label"),
        }
    }

    /// Returns `b.jpg = a.jpg, ...`: the left-out samples and the kept ones.
    fn pairs(&self) -> String {
        let pairs =
            self.first.iter().map(|(gone, first)| format!("{} = {}", Shown(gone), Shown(first)));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        let more = if self.left_out > self.first.len() as u64 { ", ..." } else { "" };
        format!("{pairs}{more}")
    }
}

impl Chosen {
    /// Yields the recorded parameters besides the expression, by name.
    pub(crate) fn params(&self) -> impl Iterator<Item = (String, String)> {
        let by = self.by_expression.as_ref();
        let dedup = self.dedup.as_ref();
        let pairs = dedup.filter(|dedup| dedup.left_out > 0);
        [
            by.map(|by| ("where-left-out", format!("{} of {}", by.left_out, by.asked))),
            dedup.map(|dedup| {
                (
                    "dedup",
                    format!(
                        "exact, left out {} of {}{}",
                        dedup.left_out,
                        dedup.hashed,
                        dedup.labels()
                    ),
                )
            }),
            pairs.map(|dedup| ("dedup-pairs", dedup.pairs())),
        ]
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// Returns the entries in JSON documents: null for an option that was not given.
    pub(crate) fn document(&self) -> [(String, Value); 2] {
        let dedup = self.dedup.as_ref().map(|dedup| {
            let pairs = dedup.first.iter();
            let pairs = pairs.map(|(gone, first)| json!({"left_out": gone, "kept": first}));
            json!({
                "hashed": dedup.hashed,
                "left_out": dedup.left_out,
                "other_label": dedup.other_label,
                "first": pairs.collect::<Vec<_>>(),
            })
        });
        [("where".to_owned(), json!(self.by_expression)), ("dedup".to_owned(), json!(dedup))]
    }

    /// Returns the number of left-out samples.
    pub(crate) fn left_out(&self) -> u64 {
        let by = self.by_expression.as_ref().map_or(0, |by| by.left_out);
        by + self.dedup.as_ref().map_or(0, |dedup| dedup.left_out)
    }

    /// Returns notes on the selection, in sentences.
    pub(crate) fn notes(&self) -> Vec<Remark> {
        let mut notes = Vec::new();
        if let Some(by) = &self.by_expression {
            let (n, all) = (by.left_out, by.asked);
            let expression = &by.expression;
            notes.push(format!("{n} of {all} samples left out by `{expression}`").into());
        }
        if let Some(dedup) = &self.dedup {
            let (n, all, labels) = (dedup.left_out, dedup.hashed, dedup.labels());
            let pairs = match n {
                0 => String::new(),
                _ => format!(": {}", dedup.pairs()),
            };
            notes
                .push(format!("{n} of {all} samples left out as duplicates{labels}{pairs}").into());
        }
        notes
    }
}
