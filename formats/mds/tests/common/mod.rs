//! Helpers to write and compare, for the tests of this format.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]
use crate::mds::Mds;
use fdconvert_core::{
    Common, Complete, Create, Encoded, Format, OptionValues, Provenance, Result, Sample, Schema,
    Shard, ShardSummary, ShardWriter,
};
use std::path::Path;

pub fn mds(options: &[(&str, &str)]) -> Box<dyn Format> {
    let values = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Mds::default().with_options(&OptionValues(values.collect())).unwrap()
}

/// A run of several shards.
pub struct Run<'a> {
    pub format: &'a dyn Format,
    pub out: &'a Path,
    pub schema: &'a Schema,
    pub common: Common,
    pub fingerprint: [u8; 16],
    pub overwrite: bool,
}

impl<'a> Run<'a> {
    pub fn new(format: &'a dyn Format, out: &'a Path, schema: &'a Schema) -> Self {
        let common = Common::default();
        Self { format, out, schema, common, fingerprint: [7; 16], overwrite: false }
    }

    pub fn with<T>(&self, shard: &Shard, f: impl FnOnce(&Create<'_>) -> T) -> T {
        f(&Create {
            out: self.out,
            schema: self.schema,
            shard,
            common: &self.common,
            provenance: &Provenance::default(),
            fingerprint: self.fingerprint,
            stamp: self.fingerprint,
            overwrite: self.overwrite,
            entry_points: false,
            is_open: false,
        })
    }

    pub fn create(&self, shard: &Shard) -> Result<Box<dyn ShardWriter>> {
        self.with(shard, |request| self.format.create(request))
    }

    pub fn finished(&self, shard: &Shard) -> Result<Option<ShardSummary>> {
        self.with(shard, |request| self.format.finished(request))
    }

    /// Writes one shard of all planned samples.
    pub fn shard(&self, shard: &Shard, samples: &[Sample<Encoded>]) -> Result<ShardSummary> {
        let mut writer = self.create(shard)?;
        let range = shard.samples.start as usize..shard.samples.end as usize;
        samples[range].iter().try_for_each(|sample| writer.write(sample))?;
        writer.finish()
    }

    pub fn complete(&self, shards: &[(Shard, ShardSummary)]) -> Result<Vec<std::path::PathBuf>> {
        self.format.complete(&Complete {
            out: self.out,
            schema: self.schema,
            shards,
            common: &self.common,
            provenance: &Provenance::default(),
            fingerprint: self.fingerprint,
        })
    }

    /// Writes all shards and completes the dataset.
    pub fn all(&self, shards: &[Shard], samples: &[Sample<Encoded>]) -> Result<()> {
        let write = |shard: &Shard| Ok((shard.clone(), self.shard(shard, samples)?));
        let shards = shards.iter().map(write).collect::<Result<Vec<_>>>()?;
        self.complete(&shards).map(drop)
    }
}

/// Shards of these sizes and splits.
pub fn shards(sizes: &[(u64, &str)]) -> Vec<Shard> {
    let mut start = 0;
    let of = sizes.len();
    let each = sizes.iter().enumerate().map(|(number, &(len, split))| {
        let samples = start..start + len;
        start += len;
        Shard { number, of, samples, split: split.into() }
    });
    each.collect()
}
