use crate::{
    Codec, Edit, Encoded, Error, FormatOption, ImageHeader, LogEntry, MaxDecompressed,
    OptionValues, Provenance, Reader, Remark, Result, Sample, Schema, Skipped, SplitChoice,
    Version,
};
use serde::{Deserialize, Serialize};
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// A contiguous run of planned samples that becomes one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Position among the shards of its split, from 0.
    pub number: usize,
    /// Number of shards of its split when it was planned; 0 if that was not known.
    pub of: usize,
    /// Range in the plan's order; the shard gets at most this many samples.
    pub samples: Range<u64>,
    /// Its split, e.g. `train`; file names of sharded formats begin with it.
    pub split: String,
}

impl Shard {
    /// Creates the only shard of a dataset with that many samples.
    #[must_use]
    pub fn whole(n_samples: u64) -> Self {
        Self { number: 0, of: 1, samples: 0..n_samples, split: Self::DEFAULT_SPLIT.into() }
    }

    /// The split of a dataset without splits.
    pub const DEFAULT_SPLIT: &str = "train";
}

/// Properties that all planned samples share, known before the first is written. Formats with
/// dataset-wide names of fields and keys need them; they must not depend on threads or parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Common {
    /// The expected codec of all images. Single images may turn out to have another one, because
    /// file names can be wrong.
    pub codec: Option<Codec>,
    /// The common extension of all keys, as written but without the dot.
    pub extension: Option<String>,
    /// True if keys with different extensions stay distinct without their image extensions. Also
    /// false if this was not checked.
    pub distinct_stems: bool,
    /// Names of the fields in the source's own files, in schema order: [`FieldFacts::member`].
    /// Empty if unknown.
    ///
    /// [`FieldFacts::member`]: crate::FieldFacts::member
    pub members: Vec<Option<String>>,
    /// Positions of image fields to store as files, such as the PNGs of masks, in a format that
    /// stores other images as pixels; only for formats that [can](Capabilities::whole_images).
    pub whole_images: Vec<usize>,
}

/// All parameters of a new shard.
#[derive(Debug, Clone)]
pub struct Create<'a> {
    /// Path of the dataset: the file itself for single-file formats, else the folder.
    pub out: &'a Path,
    /// Fields of every sample.
    pub schema: &'a Schema,
    /// Part of the dataset to write.
    pub shard: &'a Shard,
    /// Properties that all samples of the dataset share.
    pub common: &'a Common,
    /// Provenance of the dataset; recorded if the format can.
    pub provenance: &'a Provenance,
    /// Identity of the whole run (source listing, plan, policy, options, tool version). An
    /// unfinished file may be continued only with the same fingerprint.
    pub fingerprint: [u8; 16],
    /// The fingerprint combined with the modification times of the source's files: an unfinished
    /// output is continued only if this is equal. It must not reach a finished output, because the
    /// bytes do not depend on times.
    pub stamp: [u8; 16],
    /// True to replace an existing output, and an unfinished one of another run.
    pub overwrite: bool,
    /// True to store the [entry points](Encoded::entry_points) of images; only for formats that
    /// [can](Capabilities::entry_points).
    pub entry_points: bool,
    /// True if the shard ends with the source, at a number of samples that is still unknown
    /// ([`SourceFacts::is_open`](crate::SourceFacts::is_open)); only for formats that
    /// [can](Capabilities::counts_last).
    pub is_open: bool,
}

/// State of the output before a run that overwrites it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// At most leftovers of an interrupted run of the same kind, with unchanged source files: its
    /// finished shards are kept.
    Resumable,
    /// At most shards that do not meet these conditions. They are all replaced.
    Unfinished,
    /// A complete dataset. It is replaced, and stays readable until the run writes its first shard.
    Complete,
}

/// Summary of a finished shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// Final path.
    pub path: PathBuf,
    /// Number of samples.
    pub samples: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Skipped samples of the shard.
    pub skipped: Vec<Skipped>,
}

/// All parameters for completing a dataset after its last shard.
#[derive(Debug, Clone)]
pub struct Complete<'a> {
    /// Path of the dataset.
    pub out: &'a Path,
    /// Fields of every sample.
    pub schema: &'a Schema,
    /// All shards, in order, with the splits they belong to.
    pub shards: &'a [(Shard, ShardSummary)],
    /// Properties that all samples share.
    pub common: &'a Common,
    /// Provenance of the dataset, skipped samples included.
    pub provenance: &'a Provenance,
    /// Identity of the run, as in [`Create`].
    pub fingerprint: [u8; 16],
}

/// Form of a format's datasets on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// A single file; a plan has one shard per output.
    #[default]
    File,
    /// A folder with a file for each image.
    Images,
    /// A folder of shards.
    Shards,
}

/// Capabilities of a format with its options. Packing depends on these, and never on the name of a
/// format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Form of a dataset on disk.
    pub layout: Layout,
    /// True if shards are named after their split.
    pub names_splits: bool,
    /// True if a dataset may contain images of several codecs, at a ratio.
    pub mixes_codecs: bool,
    /// Maximum stored bytes of a sample.
    pub max_sample_bytes: Option<u64>,
    /// True if [entry points](Encoded::entry_points) of JPEGs can be stored beside the images.
    pub entry_points: bool,
    /// True if fields in [`Common::whole_images`] keep their encoded bytes (such as a PNG of a
    /// mask), although the format stores other images differently.
    pub whole_images: bool,
    /// True if the format stores formulas instead of samples: [`create`](Format::create) fails.
    pub formulas_only: bool,
    /// True if the number of samples may stay unknown until the last one, with the same bytes as if
    /// it had been known: the file neither begins with the number nor with space that depends on
    /// it.
    pub counts_last: bool,
}

/// One on-disk layout. A value of the implementing type carries the layout's options.
pub trait Format: Send + Sync {
    /// The name used by `--format`, and the file extension of single-file formats.
    fn name(&self) -> &'static str;

    /// Returns alternative names; `--format` takes these, too.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns one line for the help.
    fn about(&self) -> &'static str;

    /// Returns the options of this layout; the command line and its help derive from them.
    fn options(&self) -> &'static [FormatOption] {
        &[]
    }

    /// Returns the format with these options; absent options keep their defaults.
    ///
    /// # Errors
    /// `Usage`, with the option.
    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>>;

    /// Returns true if `path` looks like this format. Reads a few bytes at most.
    fn detect(&self, path: &Path) -> bool;

    /// Returns true if a text in place of a path is a recipe for a dataset without a file. Checks
    /// only the text.
    fn is_recipe(&self, _path: &Path) -> bool {
        false
    }

    /// Returns true if `path`, which need not exist, is a typical name for an output of this
    /// format.
    fn suits(&self, path: &Path) -> bool;

    /// Returns true if an image with this header can be stored unchanged, byte for byte.
    fn holds(&self, header: &ImageHeader) -> bool;

    /// Returns the lossless codec for images that cannot be stored unchanged.
    fn fallback(&self) -> Codec;

    /// Returns the format's capabilities. The default is a single file, and nothing special.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Returns remarks for the user on how such samples will be stored, one line each: for the
    /// summary.
    fn remarks(&self, _schema: &Schema, _common: &Common) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns remarks on what readers of a finished dataset find beside it that is not its own.
    fn notices(&self, _out: &Path) -> Vec<Remark> {
        Vec::new()
    }

    /// Starts a shard. Dropping the writer unfinished leaves no files; a killed process leaves an
    /// unfinished file under another name, and the same run resumes it.
    ///
    /// # Errors
    /// `Usage` when the schema does not fit, when the output exists (unless `overwrite`), or when
    /// an unfinished output belongs to another run; `Io` when the system fails. The default fails:
    /// some formats, and some builds, only read.
    fn create(&self, _request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let what = format!("{} is only read by this build, not written", self.name());
        Err(Error::usage("format", what))
    }

    /// Returns the format for a dataset of several files, if it is for one file and can be for
    /// several: for options about shards.
    fn in_shards(&self) -> Option<Box<dyn Format>> {
        None
    }

    /// Returns true if a dataset is a folder of shards.
    fn is_sharded(&self) -> bool {
        self.capabilities().layout == Layout::Shards
    }

    /// Returns the bytes of a sample in a shard with `image_bytes` of images, including framing:
    /// for plans by size. Values of unknown size (text, JSON) count as small.
    fn sample_bytes(&self, _schema: &Schema, image_bytes: u64) -> u64 {
        image_bytes
    }

    /// Returns the shard if a run of the same fingerprint has already committed it. Never trusts a
    /// file without its done-record.
    ///
    /// # Errors
    /// `Usage` when a finished shard of another run is in the way (unless `overwrite`), `Io`.
    fn finished(&self, _request: &Create<'_>) -> Result<Option<ShardSummary>> {
        Ok(None)
    }

    /// Calls [`finished`](Self::finished) for the first of these shards, and for as many of the
    /// next as take no extra time: if each check is a request, they run concurrently. The default
    /// is for files.
    fn finished_together(&self, requests: &[Create<'_>]) -> Vec<Result<Option<ShardSummary>>> {
        requests.first().map(|request| self.finished(request)).into_iter().collect()
    }

    /// Returns the state in which an overwriting run finds its output. The default is for datasets
    /// of one file, for which [`finished`](Self::finished) suffices.
    ///
    /// # Errors
    /// `Io`.
    fn existing(&self, _request: &Create<'_>) -> Result<Existing> {
        Ok(Existing::Resumable)
    }

    /// Removes the proofs that these shards and their dataset are finished: records first, the
    /// manifest last, so that it survives an interruption.
    ///
    /// # Errors
    /// `Io`; `Usage` for a split that cannot be part of a name.
    fn withdraw(&self, _out: &Path, _shards: &[Shard]) -> Result<()> {
        Ok(())
    }

    /// Lists finished shards at the output other than `shards`, the complete list of the dataset.
    /// Readers of the folder would read them as well.
    ///
    /// # Errors
    /// `Io`; `Usage` for a split that cannot be part of a name.
    fn leftovers(&self, _out: &Path, _shards: &[Shard]) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Completes a dataset with all shards committed: writes sidecars, then the manifest. Returns
    /// the paths of the files written. Repeated calls write the same bytes.
    ///
    /// # Errors
    /// `Io`; `Corrupt` when a shard does not match its record.
    fn complete(&self, _request: &Complete<'_>) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Returns true if a run of that fingerprint has completed the dataset, from its manifest
    /// alone. The default has no manifest.
    ///
    /// # Errors
    /// `Usage` for the manifest of another run; `Corrupt` or `Version` for an unreadable one; `Io`.
    fn completed(&self, _out: &Path, _fingerprint: [u8; 16]) -> Result<bool> {
        Ok(false)
    }

    /// Returns the current version of a dataset, after completing an edit that was interrupted
    /// behind its commit. `None`, the default, for layouts that are written once.
    ///
    /// # Errors
    /// `Corrupt`, `Version` or `Io` for the manifest; `Usage` for a dataset without one.
    fn version(&self, _out: &Path) -> Result<Option<Version>> {
        Ok(None)
    }

    /// Makes the next version of a dataset from kept and staged shards; takes the files of the
    /// staged ones over. Until the manifest is replaced the dataset is the current version, then
    /// the next one.
    ///
    /// # Errors
    /// `Usage` if another edit was faster, `Corrupt`, `Io`.
    fn edit(&self, _edit: &Edit<'_>) -> Result<LogEntry> {
        let what = format!("a {} is written once, and has no versions", self.name());
        Err(Error::usage("dataset", what))
    }

    /// Opens a dataset with the default options.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    fn open(&self, path: &Path) -> Result<Box<dyn Reader>> {
        self.open_with(path, &OpenOptions::default())
    }

    /// Opens a dataset with all its splits; the caller selects among them.
    ///
    /// # Errors
    /// `Corrupt`, `Version`, `Io` or `Limit`.
    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>>;
}

/// Options for opening a dataset.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Limit for decompressed data.
    pub max_decompressed: MaxDecompressed,
    /// Splits to open.
    pub splits: SplitChoice,
    /// Fields to drop, in formats where one field may make others unreadable: they need not be
    /// readable, nor present in every sample. The source lists them as [dropped
    /// fields](crate::SourceFacts::dropped_fields).
    pub drop_fields: Vec<String>,
    /// Number of the version to open; `None` for the current one.
    pub version: Option<u64>,
}

impl OpenOptions {
    /// Sets the splits to open.
    #[must_use]
    pub fn splits(self, splits: SplitChoice) -> Self {
        Self { splits, ..self }
    }

    /// Sets the fields to drop.
    #[must_use]
    pub fn drop_fields(self, drop_fields: Vec<String>) -> Self {
        Self { drop_fields, ..self }
    }

    /// Sets the limit of decompressed bytes; `None` is the default limit.
    #[must_use]
    pub fn max_decompressed(self, bytes: Option<u64>) -> Self {
        Self { max_decompressed: MaxDecompressed(bytes), ..self }
    }
}

/// Receives one shard's samples, in order, from one thread.
pub trait ShardWriter: Send {
    /// Returns the number of samples of the shard (written and skipped) that an interrupted run of
    /// the same fingerprint has already stored. The caller continues after them.
    fn resumed(&self) -> u64 {
        0
    }

    /// Returns the number of samples, written and skipped, that were only compared because a
    /// finished output contains them.
    fn found(&self) -> u64 {
        0
    }

    /// Appends a sample.
    ///
    /// # Errors
    /// `Sample` when the format cannot store it; the writer stays usable and the sample counts as
    /// not written. `Io` when the system fails; then drop the writer.
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()>;

    /// Records that the next sample of the shard is skipped, and why.
    ///
    /// # Errors
    /// `Io` when the system fails.
    fn skip(&mut self, skipped: Skipped) -> Result<()>;

    /// Commits the shard under its final name: syncs and renames the file, then syncs the folder.
    ///
    /// # Errors
    /// `Usage` when there is no sample at all, `Io` when the system fails. No files remain then.
    fn finish(self: Box<Self>) -> Result<ShardSummary>;
}
