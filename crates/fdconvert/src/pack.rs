//! Packing: sources and options become a dataset.
use crate::{
    ByteCount, Context, PackOptions, Stage,
    choose::{self, Chosen},
    classes,
    formula::{self, FormulaOutput, FormulaReport},
    images,
    inputs::{Inputs, no_recipe},
    keys,
    options::from_object,
    out, page, ratio,
    settings::{Settings, refuse_without_images},
    sources::Opening,
    splits::{self, SplitReport},
    unused,
};
use fdconvert_core::{Error, Remark, Result, Source, SplitChoice, option, split_names};
use fdconvert_formats::folder::Folder;
use fdconvert_pipeline::{Dataset, OnError, Part, Plan, Report, Run, outputs};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

/// A dataset to be packed: from where, to where, and how.
///
/// ```no_run
/// use fdconvert::{Pack, PackOptions};
///
/// let report = Pack::new(["photos"], "photos.beton")
///     .options(PackOptions::default().jpeg_quality(90).max_side(512))
///     .run()?;
/// println!("{} samples, {} bytes", report.samples, report.bytes_out);
/// # Ok::<(), fdconvert::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pack {
    pub(crate) inputs: Inputs,
    pub(crate) out: PathBuf,
    pub(crate) options: PackOptions,
    pub(crate) how: How,
    pub(crate) dry: bool,
    /// Splits of the dataset that is unpacked.
    unpacks: Option<SplitChoice>,
}

/// Options for packing a dataset: nothing here shapes a byte of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct How {
    pub(crate) threads: Option<usize>,
    pub(crate) buffer: Option<ByteCount>,
    pub(crate) on_error: OnError,
    pub(crate) max_failures: Option<u64>,
    pub(crate) overwrite: bool,
    #[serde(skip)]
    pub(crate) part: Option<Part>,
}

/// Fields of [`How`] as names of options.
const HOW: [&str; 5] = ["threads", "buffer", "on_error", "max_failures", "overwrite"];

impl Default for How {
    fn default() -> Self {
        Self {
            threads: None,
            buffer: None,
            on_error: OnError::Fail,
            max_failures: None,
            overwrite: false,
            part: None,
        }
    }
}

impl How {
    pub(crate) fn run(&self) -> Result<Run> {
        let threads = threads(self.threads)?;
        Ok(Run {
            threads,
            budget_bytes: self.buffer.map_or_else(|| buffer(threads), |bytes| bytes.0),
            ahead_bytes: self.buffer.map_or(AHEAD_BYTES, |bytes| bytes.0 / 2),
            overwrite: self.overwrite,
            max_failures: self.max_failures,
            part: self.part,
        })
    }
}

/// Bytes that are read ahead from a store.
const AHEAD_BYTES: u64 = 32 << 20;

/// Encoded bytes that may wait for the writer, where no number is asked for: the fewer they are, the
/// sooner their memory is used again, while it is in a cache; but a large image must not make all
/// other threads wait.
fn buffer(threads: usize) -> u64 {
    (threads as u64).clamp(1, 8) * (8 << 20)
}

/// The number asked for, else one per core.
///
/// # Errors
/// `Usage` for a number that is not from 1 to 4096.
pub fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(n) if !(1..=4096).contains(&n) => {
            Err(Error::usage(option::THREADS, format!("{n} is not from 1 to 4096")))
        }
        Some(n) => Ok(n),
        None => Ok(thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Setters of how a dataset is packed, for [`Pack`] and [`Planned`](crate::Planned).
macro_rules! how_setters {
    () => {
        /// Sets the number of worker threads; the default is one per core. The output does not
        /// depend on it.
        #[must_use]
        pub fn threads(mut self, n: impl Into<Option<usize>>) -> Self {
            self.how.threads = n.into();
            self
        }

        /// Sets how many encoded bytes may wait for the writer; the default is 8 MiB for each
        /// thread, at most 64 MiB. Half as much is read ahead from a store, or 32 MiB.
        #[must_use]
        pub fn buffer(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.how.buffer = bytes.into().map($crate::ByteCount);
            self
        }

        /// Sets the reaction to samples that cannot be read, decoded or stored.
        #[must_use]
        pub fn on_error(mut self, on_error: OnError) -> Self {
            self.how.on_error = on_error;
            self
        }

        /// Sets how many samples may be skipped before the run ends with an error; the default is
        /// 100,000, or half of those so far if that is more.
        #[must_use]
        pub fn max_failures(mut self, n: impl Into<Option<u64>>) -> Self {
            self.how.max_failures = n.into();
            self
        }

        /// Allows replacing an existing output.
        #[must_use]
        pub fn overwrite(mut self, overwrite: bool) -> Self {
            self.how.overwrite = overwrite;
            self
        }
    };
}
pub(crate) use how_setters;

impl Pack {
    /// Packs `sources` (folders of images, packed datasets, recipes for fractals), one after the
    /// other, into `out`.
    pub fn new<P: AsRef<Path>>(
        sources: impl IntoIterator<Item = P>,
        out: impl AsRef<Path>,
    ) -> Self {
        let paths = sources.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self {
            inputs: Inputs::Paths(paths),
            out: out.as_ref().to_owned(),
            options: PackOptions::default(),
            how: How::default(),
            dry: false,
            unpacks: None,
        }
    }

    /// Packs the samples of any other [`Source`] into `out`: of one that a program has made, or of a
    /// [`TemporaryDataset`](crate::TemporaryDataset). Options that say how folders are read mean nothing here
    /// and are refused.
    ///
    /// Many threads read it at the same time, about in the plan's order. A run that was interrupted
    /// is continued where the source's [fingerprint](Source::fingerprint), the options
    /// and the version are the same; that its samples then are the same, too, is the source's
    /// promise.
    ///
    /// ```
    /// use fdconvert::{FieldSpec, Image, Kind, Pack, Pixels, Result, Sample, Schema, Source, Value};
    /// use std::sync::Arc;
    ///
    /// /// Gray squares, each a little brighter than the one before.
    /// struct Squares(Schema);
    ///
    /// impl Source for Squares {
    ///     fn schema(&self) -> &Schema {
    ///         &self.0
    ///     }
    ///
    ///     fn len(&self) -> u64 {
    ///         256
    ///     }
    ///
    ///     fn read(&self, index: u64) -> Result<Sample<Image>> {
    ///         let data = vec![index as u8; 16 * 16 * 3];
    ///         let pixels = Pixels { width: 16, height: 16, channels: 3, data };
    ///         Ok(Sample { key: self.key(index), values: vec![Value::Image(Image::Pixels(pixels))] })
    ///     }
    ///
    ///     fn key(&self, index: u64) -> String {
    ///         format!("{index:08}.png")
    ///     }
    ///
    ///     fn name(&self) -> String {
    ///         "squares".into()
    ///     }
    ///
    ///     fn fingerprint(&self) -> [u8; 16] {
    ///         *b"squares, 256 v1 "
    ///     }
    /// }
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let out = folder.path().join("squares.beton");
    /// let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
    /// let report = Pack::from_source(Arc::new(Squares(schema)), &out).threads(2).run()?;
    /// assert_eq!(report.samples, 256);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_source(source: Arc<dyn Source>, out: impl AsRef<Path>) -> Self {
        Self::new([] as [&Path; 0], out).source(source)
    }

    /// Packs this source in place of paths, as [`from_source`](Self::from_source) does.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn Source>) -> Self {
        self.inputs = Inputs::Source(source);
        self
    }

    /// As [`new`](Self::new), with all options from one JSON object: those of [`PackOptions`], and
    /// `threads`, `buffer`, `on_error`, `max_failures`, `overwrite` and `dry_run`.
    ///
    /// # Errors
    /// `Usage` for unknown names and for values that mean nothing.
    pub fn from_json(
        sources: Vec<PathBuf>,
        out: PathBuf,
        mut object: Map<String, Value>,
    ) -> Result<Self> {
        let mut how = Map::new();
        for name in HOW {
            how.extend(object.remove(name).map(|value| (name.to_owned(), value)));
        }
        let dry = object.remove("dry_run");
        Ok(Self {
            how: from_object(how)?,
            dry: dry.and_then(|dry| dry.as_bool()).unwrap_or(false),
            options: PackOptions::from_json(object)?,
            ..Self::new(sources, out)
        })
    }

    /// Sets what is packed and how it is stored.
    #[must_use]
    pub fn options(mut self, options: PackOptions) -> Self {
        self.options = options;
        self
    }

    /// Makes it a dry run: nothing is written, not even by [`prepare`](Self::prepare).
    #[must_use]
    pub fn dry(mut self, dry: bool) -> Self {
        self.dry = dry;
        self
    }

    /// Unpacks these splits of one dataset: every file is written where its name says, whatever
    /// split it is of, and a record beside them says which is of which.
    #[must_use]
    pub fn unpacking(mut self, splits: SplitChoice) -> Self {
        self.unpacks = Some(splits);
        self.options.format = Some("folder".to_owned());
        self
    }

    how_setters!();

    /// Packs, and tells what it did.
    ///
    /// # Errors
    /// `Usage` for what cannot be; the first bad sample under [`OnError::Fail`]; `Io`. What is
    /// finished of a dataset of shards stays, and the same call resumes it.
    pub fn run(&self) -> Result<Report> {
        let context = Context::default();
        self.prepare(context)?.run(context)
    }

    /// Opens the sources and decides which sample goes where.
    ///
    /// # Errors
    /// As for [`run`](Self::run), before anything is written.
    pub fn prepare(&self, context: Context<'_>) -> Result<Prepared> {
        let masks = self.options.pair.iter().map(|pair| &pair.path);
        let paths = self.inputs.paths();
        out::check_place("output", &self.out, paths.iter().chain(masks), self.how.overwrite)?;
        if let Some(splits) = &self.unpacks {
            return self.prepare_unpacking(splits);
        }
        let left = (!self.dry).then_some(&*self.out);
        let options = &*classes::resolved(&self.options, context)?;
        let opening = Opening { options, context };
        let open = || self.inputs.open(opening);
        let ratio = ratio::settle(options, &open, left, self.how.overwrite, context)?;
        let mut settings = Settings::new(options, ratio.as_ref(), Some(&self.out))?;
        unused::refuse(options, &settings.policy)?;
        unused::refuse_limit(&self.how)?;
        out::check_name(&self.out, &*settings.format)?;
        if settings.format.capabilities().formulas_only {
            if matches!(self.inputs, Inputs::Source(_)) {
                return Err(no_recipe(&self.out));
            }
            let formula = formula::prepare(paths, &self.out, &settings, &self.how)?;
            return Ok(Prepared::Formula(formula));
        }
        let list = keys::read(options)?;
        let source = self.inputs.open(opening)?;
        refuse_without_images(options, source.schema())?;
        settings.plan.on_error = Some(self.how.on_error);
        settings.plan.only_split = splits::only_split(paths, &*source, &*settings.format);
        // By key or size it looks at every sample.
        let planning = context.progress.stage(Stage::Planning);
        // The plan refuses to choose among samples that are not all there.
        if !source.is_open() {
            if let Some(list) = list {
                keys::settle(&list, &*source, &mut settings)?;
            }
            choose::settle(options, &*source, &mut settings, context)?;
        }
        let plan = Plan::new(&*source, &settings.policy, &*settings.format, &settings.plan)?;
        let largest = settings.format.capabilities().max_sample_bytes;
        if let (Some(page_bytes), OnError::Fail) = (largest, self.how.on_error) {
            page::check(&*source, &settings.policy, &plan, page_bytes)?;
        }
        drop(planning);
        let jpeg_index = options.jpeg_index.bits();
        let masks = options.pair.iter().map(|pair| &pair.path);
        let paths = paths.iter().chain(masks).cloned().collect();
        let how = self.how.clone();
        Samples::new((paths, source), plan, settings, jpeg_index, &self.out, how)
            .map(Prepared::Samples)
    }
}

impl Pack {
    /// The samples of one dataset on their way into one folder.
    fn prepare_unpacking(&self, splits: &SplitChoice) -> Result<Prepared> {
        let [dataset] = self.inputs.paths() else {
            return Err(Error::usage("source", "one dataset is unpacked at a time"));
        };
        let how = crate::sources::opening(self.options.max_decompressed, splits);
        let source: Box<dyn Source> = fdconvert_reader::open_with(dataset, &how)?;
        let source: Arc<dyn Source> = source.into();
        let mut settings = Settings::new(&self.options, None, Some(&self.out))?;
        let splits = source.splits();
        let is_divided = split_names(&splits).len() > 1;
        let splits = if is_divided { splits } else { Vec::new() };
        settings.format = Box::new(Folder::default().record_splits(splits));
        settings.is_default_format = false;
        let plan = Plan::single_file(source.len());
        let sources = (vec![dataset.clone()], source);
        let mut samples = Samples::new(sources, plan, settings, None, &self.out, self.how.clone())?;
        samples.unpacks = true;
        Ok(Prepared::Samples(samples))
    }
}

/// Result of [`Pack::prepare`].
pub enum Prepared {
    /// Samples that will be written.
    Samples(Samples),
    /// A source that will be written instead of its samples.
    Formula(FormulaOutput),
}

impl Prepared {
    /// Packs, and tells what it did.
    ///
    /// # Errors
    /// As for [`Pack::run`]; `Cancelled`.
    pub fn run(&self, context: Context<'_>) -> Result<Report> {
        match self {
            Self::Samples(samples) => samples.run(context),
            Self::Formula(formula) => {
                let FormulaReport { samples, bytes, .. } = formula.run(false, context)?;
                Ok(Report { planned: samples, samples, bytes_out: bytes, ..Report::default() })
            }
        }
    }
}

/// Samples on their way into a dataset.
pub struct Samples {
    paths: Vec<PathBuf>,
    source: Arc<dyn Source>,
    plan: Plan,
    settings: Settings,
    jpeg_index: Option<u32>,
    out: PathBuf,
    how: How,
    /// That no field is an image.
    image_note: Option<Remark>,
    /// Every file is written where its name says, whatever split it is of.
    unpacks: bool,
}

impl Samples {
    pub(crate) fn new(
        (paths, source): (Vec<PathBuf>, Arc<dyn Source>),
        plan: Plan,
        settings: Settings,
        jpeg_index: Option<u32>,
        out: &Path,
        how: How,
    ) -> Result<Self> {
        out::check_name(out, &*settings.format)?;
        let (format, planned) = (&*settings.format, outputs(&*settings.format, &plan, out));
        out::check_each(&planned, out, &paths, format, how.overwrite)?;
        if how.part.is_some() && !settings.format.is_sharded() {
            let name = settings.format.name();
            let what = format!("a {name} is one file and cannot be written in parts");
            return Err(Error::usage(option::PART, what));
        }
        let out = out.to_owned();
        // Samples of a program may come once only.
        let image_note = images::note(&*source, &plan, !paths.is_empty());
        let unpacks = false;
        let mut samples =
            Self { paths, source, plan, settings, jpeg_index, out, how, image_note, unpacks };
        // What is packed as it comes was not before that.
        let may_be_older = !samples.how.overwrite && !samples.source.is_open();
        if samples.settings.plan.only_split.is_some() && may_be_older {
            let before = splits::as_begun_before(&samples.dataset())?;
            samples.plan = before.unwrap_or(samples.plan);
        }
        Ok(samples)
    }

    /// Returns what will be written.
    #[must_use]
    pub fn dataset(&self) -> Dataset<'_> {
        Dataset {
            source: &*self.source,
            policy: &self.settings.policy,
            format: &*self.settings.format,
            out: &self.out,
            plan: &self.plan,
            params: &self.settings.params,
            jpeg_index: self.jpeg_index,
            on_error: self.how.on_error,
        }
    }

    /// Neither an option nor the extension of the output chose the format.
    #[must_use]
    pub fn is_default_format(&self) -> bool {
        self.settings.is_default_format
    }

    /// Returns what was left out by what samples are, in sentences.
    #[must_use]
    pub fn choice_notes(&self) -> Vec<Remark> {
        self.settings.choice_notes()
    }

    /// Samples that were left out by what they are: those of [`choice_notes`](Self::choice_notes).
    #[must_use]
    pub fn chosen_away(&self) -> u64 {
        self.settings.chosen.left_out()
    }

    pub(crate) fn chosen(&self) -> &Chosen {
        &self.settings.chosen
    }

    /// The splits in the order of the plan, as far as this run wrote them.
    #[must_use]
    pub fn splits(&self, report: &Report) -> Vec<SplitReport> {
        match self.unpacks && !self.source.splits().is_empty() {
            true => splits::kept_together(&self.dataset(), report),
            false => splits::written(&self.dataset(), report),
        }
    }

    /// Returns what became of the splits of the source, and what else there is to know about it, in
    /// sentences.
    #[must_use]
    pub fn split_notes(&self) -> Vec<Remark> {
        let mut notes = match &self.paths[..] {
            [dataset] if self.unpacks => splits::unpacking_notes(dataset, &self.out, &*self.source),
            paths => splits::notes(paths, &*self.source, &self.plan, &self.settings.plan),
        };
        notes.extend(self.image_note.clone());
        notes
    }

    /// Paths that are written: formats of one file have one for each split.
    #[must_use]
    pub fn outputs(&self) -> Vec<PathBuf> {
        outputs(&*self.settings.format, &self.plan, &self.out)
    }

    /// Returns the paths that a run has written: outputs of which no sample was left are not there.
    #[must_use]
    pub fn written(&self, report: &Report) -> Vec<PathBuf> {
        let planned = self.outputs();
        match planned.len() {
            0 | 1 => planned,
            _ => report.shards.iter().map(|shard| shard.path.clone()).collect(),
        }
    }

    /// Returns what the format has to say of how such samples are stored.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        self.settings.format.remarks(self.source.schema(), &self.plan.common)
    }

    /// Worker threads that it will have.
    ///
    /// # Errors
    /// `Usage` for a number that cannot be.
    pub fn threads(&self) -> Result<usize> {
        threads(self.how.threads)
    }

    /// Packs them.
    ///
    /// # Errors
    /// As for [`Pack::run`].
    pub fn run(&self, context: Context<'_>) -> Result<Report> {
        let mut observer = context.progress.packing();
        fdconvert_pipeline::pack(&self.dataset(), &self.how.run()?, context.cancel, &mut *observer)
    }
}

/// Writes the images of a dataset back as files in class folders.
///
/// # Errors
/// As for [`Pack::run`].
pub fn unpack(dataset: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Report> {
    Pack::new([dataset], out).unpacking(SplitChoice::All).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_what_waits_follows_threads_unless_it_is_given() {
        let run = |threads: usize, bytes: Option<u64>| {
            let buffer = bytes.map(ByteCount);
            let run = How { threads: Some(threads), buffer, ..How::default() }.run().unwrap();
            (run.budget_bytes >> 20, run.ahead_bytes >> 20)
        };
        let found = [1, 2, 7, 8, 4096].map(|threads| run(threads, None));
        assert_eq!(found, [(8, 32), (16, 32), (56, 32), (64, 32), (64, 32)]);
        assert_eq!(run(2, Some(256 << 20)), (256, 128));
    }
}
