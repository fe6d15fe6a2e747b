//! What is packed, and what concerns it as a whole: its identity, its completion.
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

/// A dataset to be written, with everything that is decided before its first byte.
pub struct PackJob {
    /// Source of the samples.
    pub source: Arc<dyn Source>,
    /// Policy by which images are stored.
    pub policy: Policy,
    /// The layout they are stored in.
    pub format: Box<dyn Format>,
    /// Path of the output.
    pub out: PathBuf,
    /// Which sample goes where.
    pub plan: Plan,
    /// Parameters to record beside the policy's own: format options, seed.
    pub params: BTreeMap<String, String>,
    /// Store entry points of the JPEGs, where a decoder may start inside the scan, so many bits
    /// apart (512, 1024, 2048 or 4096). Not a matter of the policy: images stay what they are.
    pub jpeg_index: Option<u32>,
    /// How it runs, which shapes no byte.
    pub run: Run,
}

/// Identity of a dataset among others at the same place.
#[derive(Debug, Clone)]
pub struct Identity {
    pub(crate) provenance: Provenance,
    /// As [`PackJob::fingerprint`] has it.
    pub fingerprint: [u8; 16],
    stamp: [u8; 16],
}

impl PackJob {
    /// All samples of a source in its order, in one file, with their bytes.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, format: Box<dyn Format>, out: impl Into<PathBuf>) -> Self {
        let plan = Plan::single_file(source.len());
        let (policy, run) = (Policy::default(), Run::default());
        let (params, out) = (BTreeMap::new(), out.into());
        Self { source, policy, format, out, plan, params, jpeg_index: None, run }
    }

    /// Identity of the dataset: equal for runs that must write the same bytes. The source's listing,
    /// the schema, every recorded parameter, the tool's version and the shard borders go in; threads,
    /// paths and what is done about bad samples do not.
    ///
    /// # Errors
    /// Those of `Source::fingerprint`; samples are spared where bad ones are skipped.
    pub fn fingerprint(&self) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        let mut field = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        let is_sparing = self.run.on_error == OnError::Skip;
        let look = if is_sparing { Look::SizesSparing } else { Look::Sizes };
        field(&self.source.fingerprint(look)?);
        // Maps keep their order, so equal values give equal text.
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

    /// Returns what every shard's record says, where all parts are done, and what it took to
    /// compare the shards with their records.
    ///
    /// # Errors
    /// `Usage` naming the shards that are missing; those of `Format::finished`.
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

    /// Completes a dataset whose shards are all committed: what [`pack`](crate::pack()) does last,
    /// and what a run of its own does after all parts.
    ///
    /// # Errors
    /// Those of `Format::complete`.
    pub fn complete(&self, shards: &[(Shard, ShardSummary)]) -> Result<Vec<PathBuf>> {
        let skipped = shards.iter().flat_map(|(_, summary)| summary.skipped.iter().cloned());
        let provenance = Provenance { skipped: skipped.collect(), ..self.provenance() };
        // Of shards whose samples were all left out there is no more than the record.
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

    /// Returns the shard of that number in the plan, if it is finished and as its record says.
    ///
    /// # Errors
    /// Those of `Format::finished`.
    pub fn finished_shard(
        &self,
        identity: &Identity,
        number: usize,
    ) -> Result<Option<ShardSummary>> {
        let Some(shard) = self.plan.shards.get(number) else { return Ok(None) };
        let found = self.finished(identity, &[shard], false).into_iter().next();
        found.unwrap_or(Ok(None))
    }

    /// Returns what tells it apart: to be asked once, as it looks at the source.
    ///
    /// # Errors
    /// Those of [`fingerprint`](Self::fingerprint).
    pub fn identity(&self) -> Result<Identity> {
        let fingerprint = self.fingerprint()?;
        let mut hash = Xxh3::new();
        hash.update(&fingerprint);
        // The same identity and the times of the source's files.
        hash.update(&self.source.fingerprint(Look::Times)?);
        let stamp = hash.digest128().to_le_bytes();
        Ok(Identity { provenance: self.provenance(), fingerprint, stamp })
    }

    /// Returns what a format has to know of a shard that lies at `out`.
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

    /// Returns where a shard's dataset lies.
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

    /// Returns what of the record tells runs apart: not what the source holds beside its samples.
    fn recorded(&self) -> Provenance {
        let params = recorded_params(&self.policy, &*self.format, self.jpeg_index, &self.params);
        let source = self.source.name().to_owned();
        Provenance { tool: TOOL.into(), source, params, skipped: Vec::new() }
    }
}

/// Name and version that datasets record as the tool which made them.
pub const TOOL: &str = concat!("fdconvert ", env!("CARGO_PKG_VERSION"));

/// Returns the parameters that datasets record, which are all that shapes their bytes.
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

/// Returns what a plan makes at `out`: formats of one file get one for each split, named after it.
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
