//! Samples that come one after another, and whose number is not known: they wait, and then they are
//! a source.
//!
//! Formats need a plan, and a plan needs the number of the samples, their keys and sizes: shards
//! are cut by it, splits and shuffles drawn, and the header of a beton counts. So samples wait until
//! all are there, as they came: encoded images as their bytes, others as pixels. The first ones wait
//! in memory (`kept`), those that have no room there in a file without a name, which a thread writes
//! (`background`). Everything that packing can do to a folder it can do to them.

mod background;
mod kept;
mod pieces;
mod record;
mod source;
#[cfg(test)]
mod tests;

pub use source::SpooledSamples;

use background::Background;
use fdconvert_core::{Error, Image, Result, Sample, Schema};
use fdconvert_storage::{map_open, place::is_url};
use kept::Kept;
use pieces::Pieces;
use record::Head;
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3;

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
///     spool.push(Sample { key: format!("{label:08}.jpg"), values })?;
/// }
/// let options = PackOptions::default().jpeg_quality(90);
/// let out = folder.path().join("made.beton");
/// let report = Pack::from_source(spool.finish("made")?, &out).options(options).run()?;
/// assert_eq!(report.samples, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SampleSpool {
    schema: Schema,
    folder: PathBuf,
    file: Arc<File>,
    /// Of the record that is pushed.
    pieces: Pieces,
    kept: Kept,
    memory_budget: u64,
    /// Offset of each record that is in the file.
    starts: Vec<u64>,
    file_bytes: u64,
    background: Background,
    /// Of the schema and all records. In a box: it is aligned to 64 bytes, which not every owner of a
    /// spool is.
    hash: Box<Xxh3>,
    /// Fields whose images are labels.
    masks: Vec<usize>,
}

impl SampleSpool {
    /// Bytes of samples that wait in memory by default: none. The file was faster where its disk is
    /// not slow (`docs/decisions/0051-a-thread-writes-the-spool.md`).
    pub const MEMORY_BUDGET: u64 = 0;

    /// A spool of samples with these fields. Its file has no name and lies in `folder`, on the disk
    /// that the output will be on, say; it is gone with the source, and with the process however
    /// that ends.
    ///
    /// # Errors
    /// `Io` when the file cannot be made.
    pub fn new(schema: Schema, folder: &Path) -> Result<Self> {
        let file = unnamed(folder)?;
        Ok(Self {
            hash: hash_of(&schema),
            schema,
            folder: folder.to_owned(),
            background: Background::new(Arc::clone(&file)),
            file,
            pieces: Pieces::default(),
            kept: Kept::default(),
            memory_budget: Self::MEMORY_BUDGET,
            starts: Vec::new(),
            file_bytes: 0,
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

    /// Samples that take more than these bytes wait in the file, and those behind them; what is on
    /// the way there takes 8 MiB more, or one sample, if that is larger. 0 for none in memory.
    #[must_use]
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.memory_budget = bytes;
        self
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
        (self.kept.len() + self.starts.len()) as u64
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a sample. Its bytes are held a little longer than the call: until a thread has
    /// written them.
    ///
    /// # Errors
    /// `Sample` when it does not fit the schema, and then the spool is as before; `Io` when the
    /// disk is full, say, for this sample or one before, and then the spool is of no use any more.
    pub fn push(&mut self, sample: Sample<Image>) -> Result<()> {
        self.schema.check(&sample)?;
        let head = Head::of(&sample, &self.schema);
        let put = record::put(&mut self.pieces, &head, sample);
        put.inspect_err(|_| self.pieces.forget()).map_err(writing(&self.folder))?;
        self.add()
    }

    /// Adds a sample that is none, for the reason that reading it will give: packing then fails, or
    /// leaves it out and counts it, as it does with a damaged file.
    ///
    /// # Errors
    /// `Io`, as for [`push`](Self::push).
    pub fn push_unreadable(&mut self, key: &str, reason: &str) -> Result<()> {
        record::put_unreadable(&mut self.pieces, key, reason);
        self.add()
    }

    /// Adds the record that the pieces are.
    fn add(&mut self) -> Result<()> {
        if self.background.is_foreign() {
            self.restart()?;
        }
        let record = self.pieces.end();
        for piece in &*record {
            piece.add_to(&mut self.hash);
        }
        // What is in the file is behind what is not.
        if self.starts.is_empty() && self.kept.push(record, self.memory_budget) {
            record.clear();
            return Ok(());
        }
        let start = self.file_bytes;
        self.starts.push(start);
        self.file_bytes += record.iter().map(|piece| piece.bytes.len() as u64).sum::<u64>();
        let pieces = record.drain(..).map(|piece| piece.bytes);
        self.background.push(pieces, start).map_err(writing(&self.folder))
    }

    /// Continues in a process that was forked off: with a file of its own, as the other process may
    /// continue, too, and with a thread of its own.
    fn restart(&mut self) -> Result<()> {
        let file = unnamed(&self.folder)?;
        let theirs = map_open(&self.file, &self.folder)?;
        // The system may not have been told of the rest.
        let undone = self.background.undone().next().map(background::Job::at);
        let written = usize::try_from(undone.unwrap_or(self.file_bytes)).ok();
        let written = written.and_then(|len| theirs.get(..len));
        let written = written.ok_or_else(|| source::damaged(&self.folder))?;
        let copied = file.write_all_at(written, 0);
        let copied =
            copied.and_then(|()| self.background.undone().try_for_each(|job| job.write_to(&file)));
        copied.map_err(writing(&self.folder))?;
        self.background = Background::new(Arc::clone(&file));
        self.file = file;
        Ok(())
    }

    /// The samples as a source. `name` is what a dataset made of them records as its source.
    ///
    /// # Errors
    /// `Io` when what is left cannot be written, or the file cannot be mapped.
    pub fn finish(mut self, name: impl Into<String>) -> Result<Arc<SpooledSamples>> {
        if self.background.is_foreign() {
            self.restart()?;
        }
        let Self { schema, folder, file, kept, starts, background, hash, masks, .. } = self;
        background.finish().map_err(writing(&folder))?;
        let fingerprint = hash.digest128().to_le_bytes();
        let (kept, filed, name) = (kept.finish(), map_open(&file, &folder)?, name.into());
        let source =
            SpooledSamples { schema, kept, filed, folder, starts, name, fingerprint, masks };
        Ok(Arc::new(source))
    }
}

fn unnamed(folder: &Path) -> Result<Arc<File>> {
    let file = tempfile::tempfile_in(folder);
    Ok(Arc::new(file.map_err(Error::io("create a temporary file in", folder))?))
}

fn writing(folder: &Path) -> impl FnOnce(io::Error) -> Error {
    Error::io("write a temporary file in", folder)
}

/// The hash of the schema, which that of the samples continues.
fn hash_of(schema: &Schema) -> Box<Xxh3> {
    let mut hash = Box::new(Xxh3::new());
    hash.update(&serde_json::to_vec(schema).unwrap_or_default());
    hash
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
    let mut hash = hash_of(schema);
    hash.update(&len.to_le_bytes());
    let mut pieces = Pieces::default();
    for sample in samples {
        // What cannot be put is left out.
        let _ = record::put(&mut pieces, &Head::of(sample, schema), sample.clone());
        for piece in pieces.end().drain(..) {
            piece.add_to(&mut hash);
        }
    }
    hash.digest128().to_le_bytes()
}
