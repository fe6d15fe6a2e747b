//! What concerns a dataset as a whole: its identity, its parts, its completion.
use crate::{Checked, Job, OnError, Positions};
use fdconvert_core::{Complete, Create, Error, Provenance, Result, Shard, ShardSummary};
use std::{path::PathBuf, time::Instant};
use xxhash_rust::xxh3::Xxh3;

/// One of several runs that write a dataset together: shard `s` is written by part `s mod of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// This one, from 0.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

impl Part {
    pub(crate) fn has(self, shard: usize) -> bool {
        shard as u64 % self.of.max(1) == self.index
    }
}

pub(crate) fn provenance(job: &Job<'_>) -> Provenance {
    let mut provenance = identity(job);
    let ignored = job.source.left_out();
    if !ignored.is_empty() {
        provenance.params.insert("ignored".into(), ignored.to_string());
    }
    provenance
}

/// What of the record tells runs apart: not what the source holds beside its samples.
fn identity(job: &Job<'_>) -> Provenance {
    let mut params = job.policy.params();
    params.insert("format".into(), job.format.name().into());
    if let Some(grid_bits) = job.jpeg_index {
        params.insert("jpeg-index".into(), grid_bits.to_string());
    }
    params.extend(job.params.iter().map(|(name, value)| (name.clone(), value.clone())));
    Provenance {
        tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
        source: job.source.name(),
        params,
        skipped: Vec::new(),
    }
}

/// Identity of a run: equal for runs that must write the same bytes. The source's listing, the
/// schema, every recorded parameter, the tool's version and the shard borders go in; threads,
/// paths and what is done about bad samples do not.
///
/// # Errors
/// Those of `Source::checked_fingerprint`; samples are spared where bad ones are skipped.
pub fn fingerprint(job: &Job<'_>) -> Result<[u8; 16]> {
    let mut hash = Xxh3::new();
    let mut field = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    field(&job.source.checked_fingerprint(job.on_error == OnError::Skip)?);
    // Maps keep their order, so equal values give equal text.
    field(&serde_json::to_vec(job.source.schema()).unwrap_or_default());
    field(&serde_json::to_vec(&identity(job)).unwrap_or_default());
    for (at, name) in (0_u64..).zip(&job.plan.common.members) {
        if let Some(name) = name {
            field(&at.to_le_bytes());
            field(name.as_bytes());
        }
    }
    for shard in &job.plan.shards {
        field(shard.split.as_bytes());
        field(&shard.samples.start.to_le_bytes());
        field(&shard.samples.end.to_le_bytes());
    }
    for index in job.plan.order.iter().flatten() {
        field(&index.to_le_bytes());
    }
    for word in job.plan.bmp.iter().flat_map(Positions::words) {
        field(&word.to_le_bytes());
    }
    Ok(hash.digest128().to_le_bytes())
}

/// The same identity and the times of the source's files: for [`Create::stamp`].
///
/// # Errors
/// `Io` when a file of the source cannot be looked at.
pub(crate) fn stamp(job: &Job<'_>, fingerprint: [u8; 16]) -> Result<[u8; 16]> {
    let mut hash = Xxh3::new();
    hash.update(&fingerprint);
    hash.update(&job.source.stamp()?);
    Ok(hash.digest128().to_le_bytes())
}

/// Completes a dataset whose shards are all committed: what [`pack`](crate::pack()) does last, and what a run
/// of its own does after all parts.
///
/// # Errors
/// Those of `Format::complete`.
pub fn complete(job: &Job<'_>, shards: &[(Shard, ShardSummary)]) -> Result<Vec<PathBuf>> {
    let base = provenance(job);
    let fingerprint = fingerprint(job)?;
    let skipped = shards.iter().flat_map(|(_, summary)| summary.skipped.iter().cloned());
    let provenance = Provenance { skipped: skipped.collect(), ..base };
    job.format.complete(&Complete {
        out: job.out,
        schema: job.source.schema(),
        shards,
        common: &job.plan.common,
        provenance: &provenance,
        fingerprint,
    })
}

/// Whether a shard of this very run is finished already.
///
/// # Errors
/// Those of [`fingerprint`].
pub fn has_begun(job: &Job<'_>) -> Result<bool> {
    let provenance = provenance(job);
    let fingerprint = fingerprint(job)?;
    let stamp = stamp(job, fingerprint)?;
    Ok(job.plan.shards.iter().any(|shard| {
        let request = Create {
            out: &shard_out(job, shard),
            schema: job.source.schema(),
            shard,
            common: &job.plan.common,
            provenance: &provenance,
            fingerprint,
            stamp,
            overwrite: false,
            checkpoints: job.jpeg_index.is_some(),
        };
        // What is there and is of another run is no business of this question.
        matches!(job.format.finished(&request), Ok(Some(_)))
    }))
}

/// What every shard's record says, where all parts are done, and what it took to compare the shards
/// with their records.
///
/// # Errors
/// `Usage` naming the shards that are missing; those of `Format::finished`.
pub fn finished_shards(job: &Job<'_>) -> Result<(Vec<(Shard, ShardSummary)>, Checked)> {
    let began = Instant::now();
    let provenance = provenance(job);
    let fingerprint = fingerprint(job)?;
    let stamp = stamp(job, fingerprint)?;
    let (mut done, mut missing) = (Vec::new(), Vec::new());
    for shard in &job.plan.shards {
        let out = shard_out(job, shard);
        let request = Create {
            out: &out,
            schema: job.source.schema(),
            shard,
            common: &job.plan.common,
            provenance: &provenance,
            fingerprint,
            stamp,
            overwrite: false,
            checkpoints: job.jpeg_index.is_some(),
        };
        match job.format.finished(&request)? {
            Some(summary) => done.push((shard.clone(), summary)),
            None => missing.push(format!("{}-{:06}", shard.split, shard.number)),
        }
    }
    if missing.is_empty() {
        let bytes = done.iter().map(|(_, summary)| summary.bytes).sum();
        return Ok((done, Checked { bytes, time: began.elapsed() }));
    }
    let shown = missing.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    let more = if missing.len() > 10 { ", ..." } else { "" };
    let what = format!(
        "{} of {} shards are not there, or not as their records say: {shown}{more}; run their parts again",
        missing.len(),
        job.plan.shards.len()
    );
    Err(Error::usage("merge", what))
}

/// Where a shard's dataset lies: formats of one file get one for each split, named after it.
pub(crate) fn shard_out(job: &Job<'_>, shard: &Shard) -> PathBuf {
    if job.format.is_sharded() || job.plan.splits().len() == 1 {
        return job.out.to_path_buf();
    }
    let stem = job.out.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{}", shard.split);
    if let Some(extension) = job.out.extension() {
        name.push('.');
        name.push_str(&extension.to_string_lossy());
    }
    job.out.with_file_name(name)
}
