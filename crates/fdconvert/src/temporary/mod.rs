//! A stream with samples that must all be known before they are packed: it waits in a temporary
//! dataset next to the output, which is then packed as a source.
//!
//! The header of a beton counts the samples, splits and shuffles are drawn among all of them, and a
//! program's names are known only after the last one. So they are first written to shards of
//! WebDataset, one member of bytes each ([`record`]): an image as its bytes or as its pixels,
//! regardless of its final form.

mod folder;
mod record;
mod source;
#[cfg(test)]
mod tests;

use fdconvert_core::{
    Common, Complete, Create, Error, FieldSpec, Format, Image, Kind, Provenance, Result, Sample,
    Schema, Shard, ShardSummary, ShardWriter, Source, SourceFacts, Value,
};
use fdconvert_formats::wds::Wds;
use fdconvert_storage::ScratchDir;
use folder::{Owned, folder_of};
use source::Waiting;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Size in bytes at which a shard ends.
const SHARD_BYTES: u64 = 256 << 20;

/// More samples would not fit anywhere.
const MOST_SAMPLES: u64 = 1 << 62;

/// From this length on, the checksum of a value is hashed instead of the value.
const LARGE_BYTES: usize = 4 << 10;

/// Samples that will become a source, in shards next to the output.
///
/// The folder of the shards is removed with the source. The next program that writes the same
/// output removes the folder of a killed one.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use fdconvert::{
///     FieldSpec, Image, Kind, Pack, PackOptions, Pixels, Sample, Schema, TemporaryDataset, Value,
/// };
///
/// let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
/// let out = folder.path().join("made.beton");
/// let mut samples = TemporaryDataset::beside(&out, Schema::new(fields)?)?;
/// for label in 0..3 {
///     let pixels = Pixels { width: 32, height: 32, channels: 3, data: vec![9; 32 * 32 * 3] };
///     let values = vec![Value::Image(Image::Pixels(pixels)), Value::Int(label)];
///     samples.push(&Sample { key: format!("{label:08}.jpg"), values })?;
/// }
/// let options = PackOptions::default().jpeg_quality(90);
/// let report = Pack::from_source(samples.finish("made")?, &out).options(options).run()?;
/// assert_eq!(report.samples, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TemporaryDataset {
    schema: Schema,
    masks: Vec<usize>,
    // Declared before the folder that it writes to, so that it drops first.
    writer: Option<Owned<Box<dyn ShardWriter>>>,
    folder: Owned<ScratchDir>,
    /// Path of the shards in the folder.
    dataset: PathBuf,
    format: Wds,
    /// Schema of the shards: one field of bytes.
    stored: Schema,
    shards: Vec<(Shard, ShardSummary)>,
    shard_bytes: u64,
    most_shard_bytes: u64,
    len: u64,
    /// Hash of the schema and all records, boxed because it is aligned to 64 bytes.
    hash: Box<Xxh3>,
}

impl TemporaryDataset {
    /// Creates one next to `out`, or among the temporary files (`TMPDIR`) if `out` is in a store.
    ///
    /// # Errors
    /// `Usage` if another program is writing the same output; `Io`.
    pub fn beside(out: &Path, schema: Schema) -> Result<Self> {
        let stored = Schema::new(vec![FieldSpec::new("record", Kind::Bytes)])?;
        let folder = folder_of(out)?;
        Ok(Self {
            hash: hash_of(&schema),
            schema,
            masks: Vec::new(),
            writer: None,
            dataset: folder.path().join("wds"),
            folder: Owned::new(folder),
            format: Wds::with_sidecars("fdx")?,
            stored,
            shards: Vec::new(),
            shard_bytes: 0,
            most_shard_bytes: SHARD_BYTES,
            len: 0,
        })
    }

    /// Declares the images of this field as labels, such as masks: [their pixels
    /// stay](fdconvert_core::FieldFacts::keeps_pixels).
    #[must_use]
    pub fn keep_pixels(mut self, field: usize) -> Self {
        self.masks.push(field);
        self
    }

    /// Returns the number of samples so far, including unreadable ones.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// `Sample` if it does not fit the schema, which leaves the dataset unchanged; `Io`, for
    /// example for a full disk, after which the dataset is unusable.
    pub fn push(&mut self, sample: &Sample<Image>) -> Result<()> {
        self.schema.check(sample)?;
        let mut record = Vec::new();
        record::put(sample, &self.schema, |part| {
            record.extend_from_slice(part);
            add(&mut self.hash, part);
        })?;
        self.write(record)
    }

    /// Adds a placeholder for an unreadable sample; reading it gives the reason. Packing then
    /// fails, or skips and counts it, as for a damaged file.
    ///
    /// # Errors
    /// `Io`, as for [`push`](Self::push).
    pub fn push_unreadable(&mut self, key: &str, reason: &str) -> Result<()> {
        let mut record = Vec::new();
        record::put_unreadable(key, reason, |part| {
            record.extend_from_slice(part);
            add(&mut self.hash, part);
        });
        self.write(record)
    }

    fn write(&mut self, record: Vec<u8>) -> Result<()> {
        let n_bytes = record.len() as u64;
        let sample =
            Sample { key: format!("{:08}", self.len), values: vec![Value::Bytes(record.into())] };
        if self.writer.is_none() {
            self.writer = Some(Owned::new(self.format.create(&Create {
                out: &self.dataset,
                schema: &self.stored,
                shard: &self.shard(MOST_SAMPLES),
                common: &Common::default(),
                provenance: &Provenance::default(),
                fingerprint: [0; 16],
                stamp: [0; 16],
                overwrite: false,
                entry_points: false,
                is_open: false,
            })?));
        }
        if let Some(writer) = self.writer.as_mut().and_then(Owned::get) {
            writer.write(&sample)?;
        }
        self.len += 1;
        self.shard_bytes += n_bytes;
        if self.shard_bytes >= self.most_shard_bytes { self.end_shard() } else { Ok(()) }
    }

    /// Returns the current shard, with samples up to `end`.
    fn shard(&self, end: u64) -> Shard {
        let start = self.shards.last().map_or(0, |(shard, _)| shard.samples.end);
        Shard { number: self.shards.len(), samples: start..end, ..Shard::whole(0) }
    }

    fn end_shard(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take().and_then(Owned::take) {
            let summary = writer.finish()?;
            self.shards.push((self.shard(self.len), summary));
            self.shard_bytes = 0;
        }
        Ok(())
    }

    /// Returns the samples as a source. `name` is the source that datasets made of it record.
    ///
    /// # Errors
    /// `Usage` without samples; `Io` if the rest cannot be written.
    pub fn finish(mut self, name: impl Into<String>) -> Result<Arc<dyn Source>> {
        self.end_shard()?;
        if self.shards.is_empty() {
            return Err(Error::usage("samples", "there is none to pack"));
        }
        let of = self.shards.len();
        self.shards.iter_mut().for_each(|(shard, _)| shard.of = of);
        self.format.complete(&Complete {
            out: &self.dataset,
            schema: &self.stored,
            shards: &self.shards,
            common: &Common::default(),
            provenance: &Provenance::default(),
            fingerprint: [0; 16],
        })?;
        let facts = SourceFacts::new(name, self.schema, self.len).keep_pixels(&self.masks);
        Ok(Arc::new(Waiting {
            reader: self.format.open(&self.dataset)?,
            folder: self.folder,
            dataset: self.dataset,
            facts,
            fingerprint: self.hash.digest128().to_le_bytes(),
        }))
    }
}

/// Returns the hash of the schema, to be continued with the samples.
fn hash_of(schema: &Schema) -> Box<Xxh3> {
    let mut hash = Box::new(Xxh3::new());
    hash.update(&serde_json::to_vec(schema).unwrap_or_default());
    hash
}

fn add(hash: &mut Xxh3, part: &[u8]) {
    match part.len() {
        ..LARGE_BYTES => hash.update(part),
        LARGE_BYTES.. => hash.update(&xxh3_64(part).to_le_bytes()),
    }
}

/// Returns sixteen bytes for the [fingerprint](Source::fingerprint) of a source that generates
/// samples on demand and cannot list them: a hash of its length, its fields, and a few samples,
/// such as the first and the last.
#[must_use]
pub fn fingerprint_of(schema: &Schema, len: u64, samples: &[Sample<Image>]) -> [u8; 16] {
    let mut hash = hash_of(schema);
    hash.update(&len.to_le_bytes());
    for sample in samples {
        // A value that cannot be encoded is left out.
        let _ = record::put(sample, schema, |part| add(&mut hash, part));
    }
    hash.digest128().to_le_bytes()
}
