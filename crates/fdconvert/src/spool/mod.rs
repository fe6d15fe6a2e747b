//! Samples that come one after another, and whose number is not known: they are written into a file
//! without a name, and then they are a source.
//!
//! Formats need a plan, and a plan needs the number of the samples, their keys and sizes: shards
//! are cut by it, splits and shuffles drawn, and the header of a beton counts. So samples wait in a
//! file until all are there, as they came: encoded images as their bytes, others as pixels. It costs
//! one extra write and room on the disk, and everything that packing can do to a folder it can do
//! to them.

mod record;
mod source;

pub use source::SpooledSamples;

use fdconvert_core::{Error, Image, Result, Sample, Schema};
use fdconvert_storage::{map_open, place::is_url};
use record::{Head, Writing};
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3;

/// Pieces of the file that are written at once; larger images go past it.
const BUFFER_BYTES: usize = 1 << 20;

/// Samples on their way into a source.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use fdconvert::{
///     FieldSpec, Image, Kind, Pack, PackOptions, Pixels, Sample, SampleSpool, Schema, Value,
/// };
///
/// let fields = vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("label", Kind::Int)];
/// let mut spool = SampleSpool::new(Schema::new(fields)?, folder.path())?;
/// for label in 0..3 {
///     let pixels = Pixels { width: 32, height: 32, channels: 3, data: vec![9; 32 * 32 * 3] };
///     let values = vec![Value::Image(Image::Pixels(pixels)), Value::Int(label)];
///     spool.push(&Sample { key: format!("{label:08}.jpg"), values })?;
/// }
/// let options = PackOptions::default().jpeg_quality(90);
/// let out = folder.path().join("made.beton");
/// let report = Pack::from_source(spool.finish("made")?, &out).options(options).run()?;
/// assert_eq!(report.samples, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SampleSpool {
    schema: Schema,
    file: BufWriter<File>,
    folder: PathBuf,
    /// Where each record begins.
    starts: Vec<u64>,
    len: u64,
    /// In a box: it is aligned to 64 bytes, which not every owner of a spool is.
    hash: Box<Xxh3>,
    /// Fields whose images are labels.
    masks: Vec<usize>,
}

impl SampleSpool {
    /// A spool of samples with these fields. Its file has no name and lies in `folder`, on the disk
    /// that the output will be on, say; it is gone with the source, and with the process however
    /// that ends.
    ///
    /// # Errors
    /// `Io` when the file cannot be made.
    pub fn new(schema: Schema, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder);
        let file = file.map_err(Error::io("create a temporary file in", folder))?;
        let mut hash = Box::new(Xxh3::new());
        hash.update(&serde_json::to_vec(&schema).unwrap_or_default());
        Ok(Self {
            schema,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            folder: folder.to_owned(),
            starts: Vec::new(),
            len: 0,
            hash,
            masks: Vec::new(),
        })
    }

    /// A spool on the disk that `out` will be on, or among the temporary files (`TMPDIR`) where that
    /// lies in a store.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn beside(out: &Path, schema: Schema) -> Result<Self> {
        let here = |folder: &Path| match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder.to_owned(),
        };
        let mut above = out.ancestors().skip(1).map(here);
        let folder = if is_url(out) { None } else { above.find(|folder| folder.is_dir()) };
        Self::new(schema, &folder.unwrap_or_else(temporary))
    }

    /// Images of this field are labels, such as masks: [their pixels
    /// stay](fdconvert_core::Source::keeps_pixels).
    #[must_use]
    pub fn keep_pixels(mut self, field: usize) -> Self {
        self.masks.push(field);
        self
    }

    /// Number of samples so far, unreadable ones included.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// `Sample` when it does not fit the schema, and then the spool is as before; `Io` when the
    /// disk is full, say, and then the spool is of no use any more.
    pub fn push(&mut self, sample: &Sample<Image>) -> Result<()> {
        self.schema.check(sample)?;
        let head = Head::of(sample, &self.schema);
        self.add(|to| record::write(to, &head, sample))
    }

    /// Adds a sample that is none, for the reason that reading it will give: packing then fails, or
    /// leaves it out and counts it, as it does with a damaged file.
    ///
    /// # Errors
    /// `Io`, as for [`push`](Self::push).
    pub fn push_unreadable(&mut self, key: &str, reason: &str) -> Result<()> {
        self.add(|to| record::write_unreadable(to, key, reason))
    }

    fn add(&mut self, write: impl FnOnce(&mut Writing<'_>) -> std::io::Result<()>) -> Result<()> {
        let mut writing = Writing { file: &mut self.file, hash: &mut self.hash, written: 0 };
        let wrote = write(&mut writing);
        let written = writing.written;
        wrote.map_err(Error::io("write a temporary file in", &self.folder))?;
        self.starts.push(self.len);
        self.len += written;
        Ok(())
    }

    /// The samples as a source. `name` is what a dataset made of them records as its source.
    ///
    /// # Errors
    /// `Io` when what is left cannot be written, or the file cannot be mapped.
    pub fn finish(self, name: impl Into<String>) -> Result<Arc<SpooledSamples>> {
        let Self { schema, mut file, folder, starts, hash, masks, .. } = self;
        let flushed = file.flush();
        flushed.map_err(Error::io("write a temporary file in", &folder))?;
        let file = file
            .into_inner()
            .map_err(|error| Error::io("write a temporary file in", &folder)(error.into_error()))?;
        let fingerprint = hash.digest128().to_le_bytes();
        let (bytes, name) = (map_open(&file, &folder)?, name.into());
        Ok(Arc::new(SpooledSamples { schema, bytes, folder, starts, name, fingerprint, masks }))
    }
}

#[allow(clippy::disallowed_methods, reason = "nothing there becomes an output")]
fn temporary() -> PathBuf {
    std::env::temp_dir()
}

/// Sixteen bytes for the [fingerprint](fdconvert_core::Source::fingerprint) of a source that makes
/// its samples when they are asked for, and cannot list them: of its length, its fields, and a few
/// samples, the first and the last one, say.
#[must_use]
pub fn fingerprint_of(schema: &Schema, len: u64, samples: &[Sample<Image>]) -> [u8; 16] {
    let mut hash = Xxh3::new();
    hash.update(&serde_json::to_vec(schema).unwrap_or_default());
    hash.update(&len.to_le_bytes());
    for sample in samples {
        let mut nowhere = std::io::sink();
        let mut writing = Writing { file: &mut nowhere, hash: &mut hash, written: 0 };
        // Nothing fails that is not written.
        let _ = record::write(&mut writing, &Head::of(sample, schema), sample);
    }
    hash.digest128().to_le_bytes()
}
