//! A packing job as a whole: its contents, its identity, its completion.
use crate::{Checked, OnError, Plan, Positions, Run, finished::Finished, pack::no_sample};
use fdconvert_codec::Policy;
use fdconvert_core::{
    Complete, Create, Error, Format, Look, Provenance, Result, Shard, ShardSummary, Source,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use xxhash_rust::xxh3::Xxh3;

/// Dataset to write, with everything that is decided before its first byte.
pub struct PackJob {
    /// Source of the samples.
    pub source: Arc<dyn Source>,
    /// Name of the source to record, if it is not that of the source.
    pub name: Option<String>,
    /// Policy for storing images.
    pub policy: Policy,
    /// Layout of the output.
    pub format: Box<dyn Format>,
    /// Path of the output.
    pub out: PathBuf,
    /// Assignment of samples to files.
    pub plan: Plan,
    /// Parameters to record besides the policy's: format options, seed.
    pub params: BTreeMap<String, String>,
    /// Distance in bits (512, 1024, 2048 or 4096) between entry points of the JPEGs, at which a
    /// decoder may start inside the scan; `None` to store none. Not part of the policy: the images
    /// do not change.
    pub jpeg_index: Option<u32>,
    /// Options of the run, which do not affect the bytes.
    pub run: Run,
}

/// Identity of a dataset among others at the same place.
#[derive(Debug, Clone)]
pub struct Identity {
    pub(crate) provenance: Provenance,
    /// Fingerprint as in [`PackJob::fingerprint`].
    pub fingerprint: [u8; 16],
    stamp: [u8; 16],
}

impl PackJob {
    /// Creates a job for all samples of a source in its order, in one file, with their bytes.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, format: Box<dyn Format>, out: impl Into<PathBuf>) -> Self {
        let plan = Plan::single_file(source.len());
        let (policy, run) = (Policy::default(), Run::default());
        let (params, out) = (BTreeMap::new(), out.into());
        Self { source, name: None, policy, format, out, plan, params, jpeg_index: None, run }
    }

    /// Returns the identity of the dataset: equal for runs that must write the same bytes. It
    /// includes the source's listing, the schema, every recorded parameter, the tool's version and
    /// the shard borders, but not threads, paths and the treatment of bad samples.
    ///
    /// # Errors
    /// The errors of `Source::fingerprint`; bad samples are left out if they are skipped.
    pub fn fingerprint(&self) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        let mut field = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        let is_sparing = self.run.on_error == OnError::Skip;
        let look = if is_sparing { Look::SizesSparing } else { Look::Sizes };
        field(&self.source.fingerprint(look)?);
        // Maps keep their order, so that equal values give equal text.
        field(&serde_json::to_vec(self.source.schema()).unwrap_or_default());
        field(&serde_json::to_vec(&self.recorded()).unwrap_or_default());
        for (at, name) in (0_u64..).zip(&self.plan.common.members) {
            if let Some(name) = name {
                field(&at.to_le_bytes());
                field(name.as_bytes());
            }
        }
        for shard in &self.plan.shards {
            field(shard.split.as_bytes());
            field(&shard.samples.start.to_le_bytes());
            field(&shard.samples.end.to_le_bytes());
        }
        for index in self.plan.order.iter().flatten() {
            field(&index.to_le_bytes());
        }
        for word in self.plan.bmp.iter().flat_map(Positions::words) {
            field(&word.to_le_bytes());
        }
        Ok(hash.digest128().to_le_bytes())
    }

    /// Returns the records of all shards when all parts are finished, and the cost of comparing the
    /// shards with them.
    ///
    /// # Errors
    /// `Usage` with the missing shards; the errors of `Format::finished`.
    pub fn finished_shards(&self) -> Result<(Vec<(Shard, ShardSummary)>, Checked)> {
        let began = Instant::now();
        let identity = self.identity()?;
        let (mut done, mut missing) = (Vec::new(), Vec::new());
        let shards: Vec<&Shard> = self.plan.shards.iter().collect();
        let mut finished = Finished::new(self, &identity, false);
        for (at, &shard) in shards.iter().enumerate() {
            match finished.next(shards.get(at..).unwrap_or_default())? {
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
            self.plan.shards.len()
        );
        Err(Error::usage("merge", what))
    }

    /// Completes a dataset after all its shards are committed: the last step of
    /// [`pack`](crate::pack()), and of a separate run after all parts.
    ///
    /// # Errors
    /// The errors of `Format::complete`.
    pub fn complete(&self, shards: &[(Shard, ShardSummary)]) -> Result<Vec<PathBuf>> {
        let skipped = shards.iter().flat_map(|(_, summary)| summary.skipped.iter().cloned());
        let provenance = Provenance { skipped: skipped.collect(), ..self.provenance() };
        // Shards without any remaining samples have only a record.
        let shards: Vec<_> =
            shards.iter().filter(|(_, summary)| summary.samples > 0).cloned().collect();
        if shards.is_empty() {
            return Err(no_sample(provenance.skipped.first()));
        }
        self.format.complete(&Complete {
            out: &self.out,
            schema: self.source.schema(),
            shards: &shards,
            common: &self.plan.common,
            provenance: &provenance,
            fingerprint: self.fingerprint()?,
        })
    }

    /// Returns the shard with that number in the plan, if it is finished and matches its record.
    ///
    /// # Errors
    /// The errors of `Format::finished`.
    pub fn finished_shard(
        &self,
        identity: &Identity,
        number: usize,
    ) -> Result<Option<ShardSummary>> {
        let Some(shard) = self.plan.shards.get(number) else { return Ok(None) };
        let found = self.finished(identity, &[shard], false).into_iter().next();
        found.unwrap_or(Ok(None))
    }

    /// Computes the identity. Call it once, because it reads the listing of the source.
    ///
    /// # Errors
    /// The errors of [`fingerprint`](Self::fingerprint).
    pub fn identity(&self) -> Result<Identity> {
        let fingerprint = self.fingerprint()?;
        let mut hash = Xxh3::new();
        hash.update(&fingerprint);
        // The same identity plus the times of the source's files.
        hash.update(&self.source.fingerprint(Look::Times)?);
        let stamp = hash.digest128().to_le_bytes();
        Ok(Identity { provenance: self.provenance(), fingerprint, stamp })
    }

    /// Returns the format's request for a shard at `out`.
    pub(crate) fn request<'a>(
        &'a self,
        identity: &'a Identity,
        shard: &'a Shard,
        out: &'a Path,
        overwrite: bool,
    ) -> Create<'a> {
        Create {
            out,
            schema: self.source.schema(),
            shard,
            common: &self.plan.common,
            provenance: &identity.provenance,
            fingerprint: identity.fingerprint,
            stamp: identity.stamp,
            overwrite,
            entry_points: self.jpeg_index.is_some(),
            is_open: self.source.facts().is_open(),
        }
    }

    /// Returns the path of a shard's dataset.
    pub(crate) fn shard_out(&self, shard: &Shard) -> PathBuf {
        match self.format.is_sharded() || self.plan.splits().len() == 1 {
            true => self.out.clone(),
            false => split_out(&self.out, &shard.split),
        }
    }

    fn provenance(&self) -> Provenance {
        let mut provenance = self.recorded();
        let ignored = self.source.facts().ignored.clone();
        if !ignored.is_empty() {
            provenance.params.insert("ignored".into(), ignored.to_string());
        }
        provenance
    }

    /// Returns the parts of the record that distinguish runs: not the source's contents besides its
    /// samples.
    fn recorded(&self) -> Provenance {
        let params = recorded_params(&self.policy, &*self.format, self.jpeg_index, &self.params);
        let source = self.name.as_deref().unwrap_or(self.source.name()).to_owned();
        Provenance { tool: TOOL.into(), source, params, skipped: Vec::new() }
    }
}

/// Name and version that datasets record as their tool.
pub const TOOL: &str = concat!("fdconvert ", env!("CARGO_PKG_VERSION"));

/// Returns the parameters that datasets record, which are all that affect their bytes.
#[must_use]
pub fn recorded_params(
    policy: &Policy,
    format: &dyn Format,
    jpeg_index: Option<u32>,
    params: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut recorded = policy.params();
    recorded.insert("format".into(), format.name().into());
    if let Some(grid_bits) = jpeg_index {
        recorded.insert("jpeg-index".into(), grid_bits.to_string());
    }
    recorded.extend(params.iter().map(|(name, value)| (name.clone(), value.clone())));
    recorded
}

/// Returns the outputs of a plan at `out`: formats of one file get one for each split, named after
/// it.
#[must_use]
pub fn outputs(format: &dyn Format, plan: &Plan, out: &Path) -> Vec<PathBuf> {
    match format.is_sharded() || plan.splits().len() <= 1 {
        true => vec![out.to_path_buf()],
        false => plan.shards.iter().map(|shard| split_out(out, &shard.split)).collect(),
    }
}

fn split_out(out: &Path, split: &str) -> PathBuf {
    let mut name = out.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{split}"));
    if let Some(extension) = out.extension() {
        name.push(".");
        name.push(extension);
    }
    out.with_file_name(name)
}
