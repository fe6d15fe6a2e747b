//! Packing: sources and options become a dataset.
use crate::{
    ByteCount, Context, PackOptions, annotated,
    check::{Checked, check},
    formula::{self, FormulaOutput, FormulaReport},
    images,
    inputs::{Inputs, no_recipe},
    notes::Notes,
    options::from_object,
    out::{self, Destination},
    outcome::Outcome,
    request::plan_request,
    resolve::{Asked, Resolved, decided, resolve},
    samples::Samples,
    sources::opening,
    splits,
};
use fdconvert_core::{Error, Result, Source, SplitChoice, split_names};
use fdconvert_pipeline::{OnError, PackJob, Plan, Report, Run};
use serde_json::{Map, Value};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Packing job: sources, output and options.
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
    pub(crate) run: Run,
    pub(crate) dry: bool,
    /// Splits of the dataset to unpack.
    unpacks: Option<SplitChoice>,
}

/// Fields of [`Run`] as names of options.
const RUN: [&str; 5] = ["threads", "buffer", "on_error", "max_failures", "overwrite"];

/// Takes the options of [`Run`] out of a JSON object.
pub(crate) fn run_from_json(object: &mut Map<String, Value>) -> Result<Run> {
    let mut run = Map::new();
    for name in RUN {
        run.extend(object.remove(name).map(|value| (name.to_owned(), value)));
    }
    if let Some(Value::String(text)) = run.get("buffer") {
        let bytes = text.parse::<ByteCount>();
        let bytes = bytes.map_err(|what| Error::usage("buffer", what))?;
        run.insert("buffer".to_owned(), bytes.0.into());
    }
    from_object(run)
}

/// Defines the setters of [`Run`]'s options, for [`Pack`] and [`Planned`](crate::Planned).
macro_rules! run_setters {
    ($($run:ident).+) => {
        /// Sets the number of worker threads; the default is one per core. The output does not
        /// depend on it.
        #[must_use]
        pub fn threads(mut self, n: impl Into<Option<usize>>) -> Self {
            self.$($run).+.threads = n.into();
            self
        }

        /// Sets the encoded bytes that may wait for the writer; the default is 8 MiB per thread, at
        /// most 64 MiB. Half as many, or 32 MiB by default, are read ahead from a store.
        #[must_use]
        pub fn buffer(mut self, bytes: impl Into<Option<u64>>) -> Self {
            self.$($run).+.buffer = bytes.into();
            self
        }

        /// Sets the reaction to samples that cannot be read, decoded or stored.
        #[must_use]
        pub fn on_error(mut self, on_error: OnError) -> Self {
            self.$($run).+.on_error = on_error;
            self
        }

        /// Sets the number of samples that may be skipped before the run ends with an error; the
        /// default is 100,000, or half of those so far if that is more.
        #[must_use]
        pub fn max_failures(mut self, n: impl Into<Option<u64>>) -> Self {
            self.$($run).+.max_failures = n.into();
            self
        }
    };
}

/// Defines the setter of the option to replace an output, beside [`run_setters`].
macro_rules! overwrite_setter {
    ($($run:ident).+) => {
        /// Allows replacing an existing output.
        #[must_use]
        pub fn overwrite(mut self, overwrite: bool) -> Self {
            self.$($run).+.overwrite = overwrite;
            self
        }
    };
}
pub(crate) use {overwrite_setter, run_setters};

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
            run: Run::default(),
            dry: false,
            unpacks: None,
        }
    }

    /// Packs the samples of any other [`Source`] into `out`: of one made by a program, or of a
    /// [`TemporaryDataset`](crate::TemporaryDataset). Options for reading folders have no meaning
    /// here and are refused.
    ///
    /// Many threads read the source at the same time, approximately in the plan's order. An
    /// interrupted run is continued if the source's [fingerprint](Source::fingerprint), the options
    /// and the version are equal; the source guarantees that its samples are then equal, too.
    ///
    /// ```
    /// use fdconvert::{FieldSpec, Image, Kind, Look, Pack, Pixels, Result, Sample, Schema, Source};
    /// use fdconvert::{SourceFacts, Value};
    /// use std::sync::Arc;
    ///
    /// /// Gray squares, each a little brighter than the one before.
    /// struct Squares(SourceFacts);
    ///
    /// impl Source for Squares {
    ///     fn facts(&self) -> &SourceFacts {
    ///         &self.0
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
    ///     fn fingerprint(&self, _: Look) -> Result<[u8; 16]> {
    ///         Ok(*b"squares, 256 v1 ")
    ///     }
    /// }
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let out = folder.path().join("squares.beton");
    /// let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
    /// let squares = Squares(SourceFacts::new("squares", schema, 256));
    /// let report = Pack::from_source(Arc::new(squares), &out).threads(2).run()?;
    /// assert_eq!(report.samples, 256);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_source(source: Arc<dyn Source>, out: impl AsRef<Path>) -> Self {
        Self::new([] as [&Path; 0], out).source(source)
    }

    /// Packs this source instead of paths, like [`from_source`](Self::from_source).
    #[must_use]
    pub fn source(mut self, source: Arc<dyn Source>) -> Self {
        self.inputs = Inputs::Source(source);
        self
    }

    /// As [`new`](Self::new), with all options from one JSON object: those of [`PackOptions`], and
    /// `threads`, `buffer`, `on_error`, `max_failures`, `overwrite` and `dry_run`.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(
        sources: Vec<PathBuf>,
        out: PathBuf,
        mut object: Map<String, Value>,
    ) -> Result<Self> {
        let run = run_from_json(&mut object)?;
        let dry = object.remove("dry_run");
        Ok(Self {
            run,
            dry: dry.and_then(|dry| dry.as_bool()).unwrap_or(false),
            options: PackOptions::from_json(object)?,
            ..Self::new(sources, out)
        })
    }

    /// Sets the options for selecting and storing samples.
    #[must_use]
    pub fn options(mut self, options: PackOptions) -> Self {
        self.options = options;
        self
    }

    /// Makes this a dry run: nothing is written, not even by [`prepare`](Self::prepare).
    #[must_use]
    pub fn dry(mut self, dry: bool) -> Self {
        self.dry = dry;
        self
    }

    /// Unpacks these splits of one dataset: every file is written to the path in its name, for any
    /// split, and a record next to them assigns files to splits.
    #[must_use]
    pub fn unpacking(mut self, splits: SplitChoice) -> Self {
        self.unpacks = Some(splits);
        self.options.format = Some("folder".to_owned());
        self
    }

    run_setters!(run);
    overwrite_setter!(run);

    /// Packs, and returns the report.
    ///
    /// # Errors
    /// `Usage` for invalid options; the first bad sample under [`OnError::Fail`]; `Io`. The
    /// finished shards of a dataset remain, and the same call resumes it.
    pub fn run(&self) -> Result<Report> {
        let context = Context::default();
        self.prepare(context)?.run(context)
    }

    /// Opens the sources and plans the output.
    ///
    /// # Errors
    /// As for [`run`](Self::run), before anything is written.
    pub fn prepare(&self, context: Context<'_>) -> Result<Prepared> {
        let masks = self.options.pair.iter().map(|pair| &pair.path);
        let paths = self.inputs.paths();
        let inputs: Vec<&PathBuf> = paths.iter().chain(masks).collect();
        out::check_place("output", &self.out, inputs.iter().copied(), self.run.overwrite)?;
        // The name for unpacked files is checked with their dataset.
        let named = self.unpacks.is_none().then_some(self.out.as_path());
        let checked = check(&self.options, named)?;
        self.run.check()?;
        if let Some(splits) = &self.unpacks {
            return self.prepare_unpacking(splits, checked);
        }
        if checked.format.capabilities().formulas_only {
            if matches!(self.inputs, Inputs::Source(_)) {
                return Err(no_recipe(&self.out));
            }
            let what = (&checked.policy, &plan_request(&self.options));
            let formula = formula::prepare(paths, &self.out, what, self.run.overwrite)?;
            return Ok(Prepared::Formula(formula.into()));
        }
        let to = Destination { out: &self.out, run: &self.run, is_dry: self.dry };
        let asked = Asked::read(&self.options, checked, Some(to), context)?;
        let source = self.inputs.open(asked.opening())?;
        let Resolved { job, notes, .. } = resolve(asked, paths, source)?;
        Ok(Prepared::Samples(Samples::new(job, notes, &inputs)?.into()))
    }

    /// Prepares to write the samples of one dataset into one folder.
    fn prepare_unpacking(&self, splits: &SplitChoice, checked: Checked) -> Result<Prepared> {
        let [dataset] = self.inputs.paths() else {
            return Err(Error::usage("source", "one dataset is unpacked at a time"));
        };
        let how = opening(self.options.max_decompressed, splits);
        let source: Box<dyn Source> = fdconvert_reader::open_with(dataset, &how)?;
        let own = source.splits();
        let is_divided = split_names(own).len() > 1;
        let own = if is_divided { own.to_vec() } else { Vec::new() };
        let format = annotated::folder(&self.options, &*source, own)?;
        let checked = Checked { format: Box::new(format), ..checked };
        let plan = Plan::single_file(source.len());
        let notes = Notes {
            unpacks: true,
            splits: splits::unpacking_notes(dataset, &self.out, &*source),
            image: images::note(&*source, &plan, true),
            ..Notes::default()
        };
        let nothing = Outcome::default();
        let job = decided((&self.options, &nothing), checked, source.into(), plan)?;
        let job = PackJob { out: self.out.clone(), run: self.run, ..job };
        Ok(Prepared::Samples(Samples::new(job, notes, &[dataset])?.into()))
    }
}

/// Result of [`Pack::prepare`].
pub enum Prepared {
    /// Samples to write.
    Samples(Box<Samples>),
    /// Source to write instead of its samples.
    Formula(Box<FormulaOutput>),
}

impl Prepared {
    /// Packs, and returns the report.
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

/// Writes the images of a dataset back as files in class folders.
///
/// # Errors
/// As for [`Pack::run`].
pub fn unpack(dataset: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Report> {
    Pack::new([dataset], out).unpacking(SplitChoice::All).run()
}

/// Writes the annotations of a dataset, or of a file of annotations, in the layout of another tool:
/// `coco`, `yolo`, `voc`, `csv` or `jsonl`, with the images.
///
/// ```no_run
/// fdconvert::convert("annotations/instances_val2017.json", "val2017-yolo", "yolo")?;
/// # Ok::<(), fdconvert::Error>(())
/// ```
///
/// # Errors
/// As for [`Pack::run`].
pub fn convert(source: impl AsRef<Path>, out: impl AsRef<Path>, to: &str) -> Result<Report> {
    let options = PackOptions::default().format("folder");
    Pack::new([source], out).options(options.format_option("annotations", to)).run()
}
