//! A stream whose samples must all be known before they are packed waits in a temporary dataset next
//! to the output, which is then packed as a source.
//!
//! The header of a beton counts the samples, splits and shuffles are drawn among all of them, and
//! names that a program gives are known with the last one. So they are written to shards of
//! WebDataset first, one member of bytes each ([`record`]): an image as its bytes or as its pixels,
//! whatever it becomes.

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

/// A shard of this size ends.
const SHARD_BYTES: u64 = 256 << 20;

/// More samples than these would not fit anywhere.
const MOST_SAMPLES: u64 = 1 << 62;

/// From this length on the checksum of a value is hashed, not the value.
const LARGE_BYTES: usize = 4 << 10;

/// Samples on their way into a source, in shards beside the output.
///
/// The folder of the shards is removed with the source. What a killed program leaves there, the next
/// one that writes the same output removes.
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
    // Before the folder that it writes to.
    writer: Option<Owned<Box<dyn ShardWriter>>>,
    folder: Owned<ScratchDir>,
    /// Path of the shards in the folder.
    dataset: PathBuf,
    format: Wds,
    /// The schema of the shards: one field of bytes.
    stored: Schema,
    shards: Vec<(Shard, ShardSummary)>,
    shard_bytes: u64,
    most_shard_bytes: u64,
    len: u64,
    /// Hash of the schema and all records, boxed because it is aligned to 64 bytes.
    hash: Box<Xxh3>,
}

impl TemporaryDataset {
    /// Begins one beside `out`, or among the temporary files (`TMPDIR`) where that is in a store.
    ///
    /// # Errors
    /// `Usage` where another program is writing the same output; `Io`.
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

    /// Images of this field are labels, such as masks: [their pixels stay](fdconvert_core::FieldFacts::keeps_pixels).
    #[must_use]
    pub fn keep_pixels(mut self, field: usize) -> Self {
        self.masks.push(field);
        self
    }

    /// Number of samples so far, unreadable ones included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// `Sample` when it does not fit the schema, and then the dataset is as before; `Io` when the
    /// disk is full, say, and then it is of no use any more.
    pub fn push(&mut self, sample: &Sample<Image>) -> Result<()> {
        self.schema.check(sample)?;
        let mut record = Vec::new();
        record::put(sample, &self.schema, |part| {
            record.extend_from_slice(part);
            add(&mut self.hash, part);
        })?;
        self.write(record)
    }

    /// Adds a sample that is none, for the reason that reading it will give: packing then fails, or
    /// leaves it out and counts it, as it does with a damaged file.
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

    /// The shard that is being written, with samples up to `end`.
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

    /// The samples as a source. `name` is what a dataset made of them records as its source.
    ///
    /// # Errors
    /// `Usage` when there is no sample; `Io` when what is left cannot be written.
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

/// The hash of the schema, which that of the samples continues.
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

/// Sixteen bytes for the [fingerprint](Source::fingerprint) of a source that makes its samples when
/// they are read, and cannot list them: of its length, its fields, and a few samples, the first and
/// the last one, say.
#[must_use]
pub fn fingerprint_of(schema: &Schema, len: u64, samples: &[Sample<Image>]) -> [u8; 16] {
    let mut hash = hash_of(schema);
    hash.update(&len.to_le_bytes());
    for sample in samples {
        // What cannot be put is left out.
        let _ = record::put(sample, schema, |part| add(&mut hash, part));
    }
    hash.digest128().to_le_bytes()
}
