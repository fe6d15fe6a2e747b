use crate::{Checked, EntryPointCounts, Report, Stages, failure::Failures, pack::Packed};
use fdconvert_codec::Notes;
use fdconvert_core::{Bands, Codec, Shard, ShardSummary};
use std::{collections::BTreeMap, time::Duration};

/// Name and explanation of the note about missing shards.
const EMPTY: (&str, &str) = (
    "empty",
    "of the planned shards not written, because all their samples were left out; the others keep \
     their numbers",
);

/// Running totals of a run.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) samples: u64,
    pub(crate) resumed: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_stored: u64,
    pub(crate) notes: BTreeMap<&'static str, (&'static str, u64)>,
    pub(crate) not_decoded: Option<(String, String)>,
    pub(crate) bands: Option<(String, Bands)>,
    pub(crate) codecs: BTreeMap<Codec, u64>,
    pub(crate) fell_back: (u64, u64, u64),
    pub(crate) shards: Vec<(Shard, ShardSummary)>,
    pub(crate) entry_points: EntryPointCounts,
    pub(crate) checked: Checked,
    pub(crate) failures: Failures,
    pub(crate) stages: Stages,
}

impl Tally {
    pub(crate) fn add(&mut self, packed: &Packed) {
        self.samples += 1;
        self.failures.succeeded();
        self.bytes_in += packed.bytes_in;
        self.bytes_stored += packed.bytes_stored;
        self.stages.read += packed.read;
        self.stages.decode += Duration::from_nanos(packed.nanos.decode);
        self.stages.resize += Duration::from_nanos(packed.nanos.resize);
        self.stages.encode += Duration::from_nanos(packed.nanos.encode);
        self.stages.index += packed.made.time;
        for entry_points in packed.sample.entry_points().flatten() {
            self.entry_points.built += 1;
            self.entry_points.bytes += entry_points.len() as u64;
        }
        let key = &packed.sample.key;
        if let Some(kind) = &packed.not_decoded
            && self.not_decoded.as_ref().is_none_or(|(first, _)| key < first)
        {
            self.not_decoded = Some((key.clone(), kind.clone()));
        }
        if let Some(bands) = packed.bands
            && self.bands.as_ref().is_none_or(|(first, _)| key < first)
        {
            self.bands = Some((key.clone(), bands));
        }
        for reason in &packed.made.refused {
            *self.entry_points.refused.entry(reason).or_default() += 1;
        }
        for &(codec, notes, before, after) in &packed.images {
            *self.codecs.entry(codec).or_default() += 1;
            if notes.contains(Notes::FELL_BACK) {
                let (count, bytes_in, bytes_out) = self.fell_back;
                self.fell_back = (count + 1, bytes_in + before, bytes_out + after);
            }
            for (_, name, explanation) in notes.iter() {
                self.notes.entry(name).or_insert((explanation, 0)).1 += 1;
            }
        }
    }

    pub(crate) fn into_report(mut self, entry_points: bool) -> Report {
        let skipped = self.shards.iter().flat_map(|(_, summary)| summary.skipped.iter().cloned());
        let skipped = skipped.collect();
        let before = self.shards.len();
        self.shards.retain(|(_, summary)| summary.samples > 0);
        let n_empty = (before - self.shards.len()) as u64;
        if n_empty > 0 {
            self.notes.insert(EMPTY.0, (EMPTY.1, n_empty));
        }
        let (shard_splits, shards): (Vec<_>, Vec<_>) =
            self.shards.into_iter().map(|(shard, summary)| (shard.split, summary)).unzip();
        Report {
            planned: 0,
            samples: shards.iter().map(|shard| shard.samples).sum(),
            resumed: self.resumed,
            skipped,
            bytes_in: self.bytes_in,
            bytes_stored: self.bytes_stored,
            bytes_out: shards.iter().map(|shard| shard.bytes).sum(),
            shards,
            shard_splits,
            codecs: self.codecs,
            notes: self.notes.into_iter().map(|(name, (text, n))| (name, text, n)).collect(),
            not_decoded: self.not_decoded,
            bands: self.bands,
            fell_back: self.fell_back,
            entry_points: entry_points.then_some(self.entry_points),
            checked: self.checked,
            stages: self.stages,
            elapsed: Duration::ZERO,
        }
    }
}
