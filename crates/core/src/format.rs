use crate::{
    Codec, Encoded, Error, FormatOption, ImageHeader, MaxDecompressed, OptionValues, Provenance,
    Reader, Remark, Result, Sample, Schema, Skipped, SplitChoice,
};
use serde::{Deserialize, Serialize};
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// A contiguous run of planned samples that becomes one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Position among the shards, from 0.
    pub number: usize,
    /// Number of shards.
    pub of: usize,
    /// Positions in the plan's order; at most this many samples will be written.
    pub samples: Range<u64>,
    /// Part of the dataset it belongs to, e.g. `train`; begins the file names of sharded formats.
    pub split: String,
}

impl Shard {
    /// All of a dataset of that many samples in one file.
    #[must_use]
    pub fn whole(n_samples: u64) -> Self {
        Self { number: 0, of: 1, samples: 0..n_samples, split: Self::DEFAULT_SPLIT.into() }
    }

    /// The split of a dataset that was not split.
    pub const DEFAULT_SPLIT: &str = "train";
}

/// Properties that all planned samples share, known before the first is written. Formats that name
/// fields and keys for the dataset as a whole need them; they must not depend on threads or parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Common {
    /// The codec of all images, where one is expected for all. Single images may turn out to be
    /// of another: file names lie.
    pub codec: Option<Codec>,
    /// The extension of all keys, without the dot and as written, where it is one.
    pub extension: Option<String>,
    /// True if the keys stay different when each loses the extension of an image that it ends in,
    /// where extensions differ. False also where this was not looked at.
    pub distinct_stems: bool,
    /// Names of the fields in the source's own files, in schema order: [`Source::member_name`].
    /// Empty where they say nothing.
    ///
    /// [`Source::member_name`]: crate::Source::member_name
    pub members: Vec<Option<String>>,
    /// Positions of the fields of images that are stored as files of their own, such as the PNGs of
    /// masks, by a format that holds others as pixels; only for formats that
    /// [can](Capabilities::whole_images).
    pub whole_images: Vec<usize>,
}

/// Everything a format needs to know before the first sample of a shard.
#[derive(Debug, Clone)]
pub struct Create<'a> {
    /// Path of the dataset: the file itself for single-file formats, else the folder.
    pub out: &'a Path,
    /// Fields of every sample.
    pub schema: &'a Schema,
    /// Which part of the dataset this is.
    pub shard: &'a Shard,
    /// Properties that all samples of the dataset share.
    pub common: &'a Common,
    /// Provenance of the dataset; recorded where the format can.
    pub provenance: &'a Provenance,
    /// Identity of the whole run (source listing, plan, policy, options, tool version). An
    /// unfinished file of the same fingerprint may be continued, any other must not be.
    pub fingerprint: [u8; 16],
    /// The same identity, and with it when the files of the source were written last: what an
    /// unfinished output is compared with before a run continues with it. It must not get into a
    /// finished one, whose bytes do not depend on times.
    pub stamp: [u8; 16],
    /// Replace an existing output, and an unfinished one of another run.
    pub overwrite: bool,
    /// True if the [entry points](Encoded::entry_points) that images come with are to be stored;
    /// only for formats that [can](Capabilities::entry_points).
    pub entry_points: bool,
    /// True if the shard's samples end where those of the source do, which is not known yet
    /// ([`Source::is_open`](crate::Source::is_open)); only for formats that
    /// [can](Capabilities::counts_last).
    pub is_open: bool,
}

/// State of the output before a run that overwrites it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// At most what an interrupted run of the same kind has left, from files that were not written
    /// to since: its finished shards are not written again.
    Resumable,
    /// At most shards of which that is not known. Nothing of it counts.
    Unfinished,
    /// A complete dataset. Nothing of it counts, and it can be read until the first shard of the
    /// run is written.
    Complete,
}

/// Summary of a finished shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSummary {
    /// Final path.
    pub path: PathBuf,
    /// Samples in it.
    pub samples: u64,
    /// Its size.
    pub bytes: u64,
    /// Samples that were left out of it.
    pub skipped: Vec<Skipped>,
}

/// Everything a format needs to know to complete a dataset whose shards are all there.
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
    /// One file; a plan has one shard for each output.
    #[default]
    File,
    /// A folder with a file for each image.
    Images,
    /// A folder of shards.
    Shards,
}

/// Capabilities of a format, with the options that it has. Who packs asks for these, and never for
/// the name of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Form of a dataset on disk.
    pub layout: Layout,
    /// Shards are named after the split that they belong to.
    pub names_splits: bool,
    /// Images of several codecs lie in one dataset, at a ratio.
    pub mixes_codecs: bool,
    /// Bytes that a sample may take at most as it is stored.
    pub max_sample_bytes: Option<u64>,
    /// [Entry points](Encoded::entry_points) of JPEGs are stored beside the images.
    pub entry_points: bool,
    /// Fields named by [`Common::whole_images`] keep their encoded bytes (a PNG of a mask, say),
    /// although the format stores other images in another way.
    pub whole_images: bool,
    /// Not samples, only what they are made by: [`create`](Format::create) refuses.
    pub formulas_only: bool,
    /// How many samples a file has may turn out with the last one, and the bytes are those of a plan
    /// that knew: it does not begin with their number, or with what it takes room for.
    pub counts_last: bool,
}

/// One on-disk layout. A value of the implementing type carries the layout's options.
pub trait Format: Send + Sync {
    /// The name used by `--format`, and the file extension of single-file formats.
    fn name(&self) -> &'static str;

    /// Returns what others call it; `--format` takes these names, too.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// One line for the help.
    fn about(&self) -> &'static str;

    /// Options of this layout, from which the command line and its help are made.
    fn options(&self) -> &'static [FormatOption] {
        &[]
    }

    /// The same format with these options set; options that are absent keep their defaults.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    fn with_options(&self, values: &OptionValues) -> Result<Box<dyn Format>>;

    /// Returns whether `path` looks like this format. Reads a few bytes at most.
    fn detect(&self, path: &Path) -> bool;

    /// Returns whether a text in the place of a path is a recipe, of which the format makes a dataset
    /// without a file. Looks at the text alone.
    fn is_recipe(&self, _path: &Path) -> bool {
        false
    }

    /// Returns whether `path`, which need not exist, is how one would name an output of this
    /// format.
    fn suits(&self, path: &Path) -> bool;

    /// Returns whether an image with this header can be stored as it is, byte for byte.
    fn holds(&self, header: &ImageHeader) -> bool;

    /// Returns what an image becomes, without loss, when it cannot be stored as it is.
    fn fallback(&self) -> Codec;

    /// Returns what the format can do. The default is one file, and nothing special.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Returns what a user should know of how such samples will be stored, each on one line: for
    /// the summary.
    fn remarks(&self, _schema: &Schema, _common: &Common) -> Vec<Remark> {
        Vec::new()
    }

    /// Starts a shard. Dropping the writer unfinished leaves nothing behind; a killed process
    /// leaves an unfinished file under another name, which the same run continues.
    ///
    /// # Errors
    /// `Usage` when the schema does not fit, when the output exists (unless `overwrite`), or when
    /// an unfinished output belongs to another run; `Io` when the system refuses. The default
    /// refuses: not every format, nor every build of one, writes.
    fn create(&self, _request: &Create<'_>) -> Result<Box<dyn ShardWriter>> {
        let what = format!("{} is only read by this build, not written", self.name());
        Err(Error::usage("format", what))
    }

    /// Returns whether a dataset is a folder of shards.
    fn is_sharded(&self) -> bool {
        self.capabilities().layout == Layout::Shards
    }

    /// Bytes that a sample takes in a shard when its images take `image_bytes`, framing included:
    /// for plans by size. What is not known before reading (text, JSON) counts as small.
    fn sample_bytes(&self, _schema: &Schema, image_bytes: u64) -> u64 {
        image_bytes
    }

    /// The shard, if a run of the same fingerprint has committed it already. Never trusts a file
    /// without its done-record.
    ///
    /// # Errors
    /// `Usage` when a finished shard of another run is in the way (unless `overwrite`), `Io`.
    fn finished(&self, _request: &Create<'_>) -> Result<Option<ShardSummary>> {
        Ok(None)
    }

    /// [`finished`](Self::finished) of the first of these shards, and of as many of the following as
    /// are known in the same time: where each look is a request, they are made at once. The default
    /// is for files.
    fn finished_together(&self, requests: &[Create<'_>]) -> Vec<Result<Option<ShardSummary>>> {
        requests.first().map(|request| self.finished(request)).into_iter().collect()
    }

    /// Returns the state in which a run that overwrites finds its output. The default is for
    /// datasets of one file, which [`finished`](Self::finished) knows alone.
    ///
    /// # Errors
    /// `Io`.
    fn existing(&self, _request: &Create<'_>) -> Result<Existing> {
        Ok(Existing::Resumable)
    }

    /// Removes what says that these shards and their dataset are finished: the records first, the
    /// manifest last, so that a manifest stays where this is interrupted.
    ///
    /// # Errors
    /// `Io`; `Usage` for a split that cannot be part of a name.
    fn withdraw(&self, _out: &Path, _shards: &[Shard]) -> Result<()> {
        Ok(())
    }

    /// Finished shards at the output that are none of these, which are all that the dataset is to
    /// have. Those who read what is there would read them as well.
    ///
    /// # Errors
    /// `Io`; `Usage` for a split that cannot be part of a name.
    fn leftovers(&self, _out: &Path, _shards: &[Shard]) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Completes a dataset whose shards are all committed: sidecars, then the manifest, last.
    /// Returns what it wrote. May be called again and then writes the same bytes.
    ///
    /// # Errors
    /// `Io`; `Corrupt` when a shard is not what its record says.
    fn complete(&self, _request: &Complete<'_>) -> Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Returns whether a run of that fingerprint has completed the dataset: by its manifest alone,
    /// nothing is compared. The default has no manifest.
    ///
    /// # Errors
    /// `Usage` for the manifest of another run; `Corrupt` or `Version` for one that cannot be read;
    /// `Io`.
    fn completed(&self, _out: &Path, _fingerprint: [u8; 16]) -> Result<bool> {
        Ok(false)
    }

    /// Opens a dataset with the default options.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    fn open(&self, path: &Path) -> Result<Box<dyn Reader>> {
        self.open_with(path, &OpenOptions::default())
    }

    /// Opens a dataset with all its splits: choosing among them is the caller's part.
    ///
    /// # Errors
    /// `Corrupt`, `Version`, `Io` or `Limit`.
    fn open_with(&self, path: &Path, options: &OpenOptions) -> Result<Box<dyn Reader>>;
}

/// Options for opening a dataset.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Limit for what is compressed.
    pub max_decompressed: MaxDecompressed,
    /// Splits that are taken.
    pub splits: SplitChoice,
    /// Fields that are left out, in formats in which a field may keep others from being read: they need
    /// not be readable, nor be in every sample. What was left out is then among the
    /// [dropped fields](crate::Source::dropped_fields).
    pub drop_fields: Vec<String>,
}

impl OpenOptions {
    /// Sets the splits to open.
    #[must_use]
    pub fn splits(self, splits: SplitChoice) -> Self {
        Self { splits, ..self }
    }

    /// Sets the fields to leave out.
    #[must_use]
    pub fn drop_fields(self, drop_fields: Vec<String>) -> Self {
        Self { drop_fields, ..self }
    }

    /// Sets the limit for decompressed bytes; `None` is the default limit.
    #[must_use]
    pub fn max_decompressed(self, bytes: Option<u64>) -> Self {
        Self { max_decompressed: MaxDecompressed(bytes), ..self }
    }
}

/// Receives one shard's samples, in order, from one thread.
pub trait ShardWriter: Send {
    /// Returns how many samples of the shard (written and skipped together) an interrupted run of
    /// the same fingerprint has already stored. The caller continues after them.
    fn resumed(&self) -> u64 {
        0
    }

    /// Returns how many of the samples that were written and skipped it has only compared, as a
    /// finished output holds them.
    fn found(&self) -> u64 {
        0
    }

    /// Appends a sample.
    ///
    /// # Errors
    /// `Sample` when the format cannot hold this one; the writer stays usable and the sample
    /// counts as not written. `Io` when the system refuses; then the writer must be dropped.
    fn write(&mut self, sample: &Sample<Encoded>) -> Result<()>;

    /// Notes that the next sample of the shard is left out, and why.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    fn skip(&mut self, skipped: Skipped) -> Result<()>;

    /// Commits the shard under its final name: synced, renamed, folder synced.
    ///
    /// # Errors
    /// `Usage` when there is no sample at all, `Io` when the system refuses. Nothing is left then.
    fn finish(self: Box<Self>) -> Result<ShardSummary>;
}
