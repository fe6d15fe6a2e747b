//! Further samples.
use super::{
    Edited, keep_versions,
    target::{Target, What},
};
use crate::{
    Classes, Context, PackOptions,
    check::check,
    inputs::Inputs,
    options::from_object,
    out::{self, Destination},
    pack::{run_from_json, run_setters},
    resolve::{Asked, Resolved, resolve},
    sources::Opening,
};
use fdconvert_core::{
    Common, Error, FieldSpec, NextShard, Result, Schema, Shard, Source, Version, option,
};
use fdconvert_pipeline::{OnError, PackJob, Run};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Further samples for a dataset of shards: new shards behind those of their split. The shards that
/// are there are not read.
///
/// ```no_run
/// use fdconvert::Append;
///
/// let edited = Append::new("photos.wds", ["new-photos"]).run()?;
/// println!("version {}: {} samples", edited.entry.version, edited.entry.samples);
/// # Ok::<(), fdconvert::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Append {
    dataset: PathBuf,
    inputs: Inputs,
    options: PackOptions,
    keep_versions: u64,
    run: Run,
}

impl Append {
    /// Appends the samples of `sources` (folders of images, packed datasets) to a dataset.
    pub fn new<P: AsRef<Path>>(
        dataset: impl AsRef<Path>,
        sources: impl IntoIterator<Item = P>,
    ) -> Self {
        let paths = sources.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self {
            dataset: dataset.as_ref().to_owned(),
            inputs: Inputs::Paths(paths),
            options: PackOptions::default(),
            keep_versions: 1,
            run: Run::default(),
        }
    }

    /// Appends the samples of any other [`Source`].
    pub fn from_source(dataset: impl AsRef<Path>, source: Arc<dyn Source>) -> Self {
        let inputs = Inputs::Source(source);
        Self { inputs, ..Self::new(dataset, [] as [&Path; 0]) }
    }

    /// As [`new`](Self::new), with all options from one JSON object: those of [`PackOptions`],
    /// `keep_versions`, `threads`, `buffer`, `on_error` and `max_failures`.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(
        dataset: PathBuf,
        sources: Vec<PathBuf>,
        mut object: Map<String, Value>,
    ) -> Result<Self> {
        let keep_versions = keep_versions(&mut object)?;
        let run = run_from_json(&mut object)?;
        if run.overwrite {
            let what = "an edit keeps what is there; leave it out";
            return Err(Error::usage(option::OVERWRITE, what));
        }
        let options = PackOptions::from_json(object)?;
        Ok(Self { options, keep_versions, run, ..Self::new(dataset, sources) })
    }

    /// Appends this source instead of paths, like [`from_source`](Self::from_source).
    #[must_use]
    pub fn source(self, source: Arc<dyn Source>) -> Self {
        Self { inputs: Inputs::Source(source), ..self }
    }

    /// Checks the dataset before there is a source, and returns its number of samples.
    ///
    /// # Errors
    /// `Usage` for a dataset that cannot be edited, `Io`.
    pub fn check(&self) -> Result<u64> {
        let target = Target::open(&self.dataset)?;
        self.options_of(&target)?;
        Ok(target.version.n_samples())
    }

    /// Sets the options for selecting and storing samples. The format, its options and the classes
    /// are those of the dataset; so are the options about images and entry points, unless one of
    /// them is given here.
    #[must_use]
    pub fn options(mut self, options: PackOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the number of versions that can be opened afterwards, the new one included; 1 by
    /// default.
    #[must_use]
    pub fn keep_versions(mut self, n: u64) -> Self {
        self.keep_versions = n;
        self
    }

    run_setters!(run);

    /// Appends the samples.
    ///
    /// # Errors
    /// `Usage` for samples with other fields or classes than the dataset has, and if another edit
    /// was faster; those of packing. The dataset is then the version that it was.
    pub fn run(&self) -> Result<Edited> {
        self.run_with(Context::default())
    }

    /// Appends the samples, with progress.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(&self, context: Context<'_>) -> Result<Edited> {
        let paths = self.inputs.paths();
        out::check_place("dataset", &self.dataset, paths.iter(), false)?;
        let target = Target::open(&self.dataset)?;
        let options = self.options_of(&target)?;
        let mut checked = check(&options, None)?;
        checked.format = target.format.with_options(&target.options)?;
        self.run.check()?;
        let to = Destination { out: &self.dataset, run: &self.run, is_dry: false };
        let asked = Asked::read(&options, checked, Some(to), context)?;
        let wanted = &target.version.schema;
        let source = self.inputs.open(asked.opening()).or_else(|error| {
            // Without labels the list of classes is refused, which is not the point.
            let options = PackOptions { classes: None, ..options.clone() };
            let opening = Opening { options: &options, context };
            match self.inputs.open(opening) {
                Ok(source) => {
                    check_kinds(source.schema(), wanted, source.name()).and_then(|()| Err(error))
                }
                Err(error) => Err(error),
            }
        })?;
        check_fields(source.schema(), wanted, source.name())?;
        let Resolved { mut job, .. } = resolve(asked, paths, source)?;
        job.run = Run { overwrite: false, part: None, ..self.run };
        let common = joined(&target.version.common, &job.plan.common);
        job.plan.common = Common { members: target.version.common.members.clone(), ..common };
        let id = job.fingerprint()?;
        if let Some(done) = target.done(id)? {
            return Ok(done);
        }
        let next = number(&target.version, &mut job);
        let what = What {
            id,
            command: format!("append {}", job.source.name()),
            keep_versions: self.keep_versions,
            added: job.plan.len(),
            removed: 0,
            changed: 0,
        };
        let common = job.plan.common.clone();
        target.carry_out(Some(job), &next, &common, what, context)
    }

    /// Returns the options with what must agree with the dataset.
    fn options_of(&self, target: &Target) -> Result<PackOptions> {
        let given = self.options.given()?;
        for name in ["format", "format_options"] {
            if given.contains_key(name) {
                let what = "it is that of the dataset; leave it out";
                return Err(Error::usage("format", what));
            }
        }
        let params = &target.version.provenance.params;
        let mut all = Map::new();
        let has_images = target.version.schema.first_image().is_some();
        if has_images && !IMAGES.iter().any(|(_, name)| given.contains_key(*name)) {
            all = of_images(params);
        }
        if let (Some(bits), true) = (params.get("jpeg-index"), has_images) {
            all.insert("jpeg_index".into(), json!(bits));
        }
        all.extend(given);
        let mut options: PackOptions = from_object(all)?;
        options.format = Some(target.format.name().to_owned());
        options.format_options = target.options.0.clone();
        let schema = &target.version.schema;
        let label = schema.label().and_then(|at| schema.fields.get(at));
        if let (Some(names), None) =
            (label.and_then(|label| label.class_names.as_ref()), &options.classes)
            && matches!(self.inputs, Inputs::Paths(_))
        {
            options.classes = Some(Classes::Names(names.to_vec()));
        }
        Ok(options)
    }
}

/// Recorded parameters about images, and the options that they come from.
const IMAGES: [(&str, &str); 17] = [
    ("encode", "encode"),
    ("quality", "jpeg_quality"),
    ("subsampling", "subsampling"),
    ("optimize-huffman", "optimize_huffman"),
    ("restart-rows", "restart_rows"),
    ("smart-ratio", "smart_ratio"),
    ("max-side", "max_side"),
    ("short-side", "short_side"),
    ("filter", "filter"),
    ("alpha", "alpha"),
    ("strict", "strict"),
    ("check", "check"),
    ("baseline", "baseline"),
    ("strip-metadata", "strip_metadata"),
    ("ratio", "ratio"),
    ("ratio-by", "by"),
    ("max-bmp-bytes", "max_bmp_size"),
];

/// Returns the options about images that a dataset was packed with.
fn of_images(params: &BTreeMap<String, String>) -> Map<String, Value> {
    let mut options = Map::new();
    let writes_jpeg =
        params.get("encode").is_some_and(|it| ["jpeg", "smart", "mix"].contains(&it.as_str()));
    for (param, name) in IMAGES {
        let Some(text) = params.get(param) else { continue };
        if name == "jpeg_quality" && !writes_jpeg {
            continue;
        }
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Bool(_) | Value::Number(_))) if name != "ratio" => value,
            _ => json!(text),
        };
        options.insert(name.to_owned(), value);
    }
    if let (Some(share), Some("mix")) =
        (params.get("jpeg-share"), params.get("encode").map(String::as_str))
    {
        options.insert("encode".into(), json!(format!("mix:{share}")));
    }
    for seed in ["mix-seed", "ratio-seed"] {
        let seed = params.get(seed).and_then(|seed| seed.parse::<u64>().ok());
        options.extend(seed.map(|seed| ("seed".to_owned(), json!(seed))));
    }
    if params.get("gray").is_some_and(|it| it == "expand") {
        options.insert("gray_to_rgb".into(), json!(true));
    }
    if params.get("orient").is_some_and(|it| it == "false") {
        options.insert("no_exif_rotation".into(), json!(true));
    }
    options
}

/// Refuses samples with fields of other names or kinds than the dataset's.
fn check_kinds(found: &Schema, wanted: &Schema, source: &str) -> Result<()> {
    let names = |schema: &Schema| {
        let field = |it: &FieldSpec| format!("`{}` ({})", it.name, it.kind.name());
        schema.fields.iter().map(field).collect::<Vec<_>>().join(", ")
    };
    if names(found) != names(wanted) {
        let what = format!(
            "{source} has the fields {}, and the dataset {}: a dataset has the same fields in all \
             samples",
            names(found),
            names(wanted)
        );
        return Err(Error::usage("source", what)
            .cure("to leave fields out", option::DROP_FIELDS)
            .cure("to take them from a table", option::LABELS));
    }
    Ok(())
}

/// Refuses samples with other fields than the dataset's.
fn check_fields(found: &Schema, wanted: &Schema, source: &str) -> Result<()> {
    check_kinds(found, wanted, source)?;
    if found == wanted {
        return Ok(());
    }
    let what = format!(
        "{source} has other classes, arrays or descriptions of fields than the dataset; pack both \
         into a new dataset"
    );
    Err(Error::usage("source", what))
}

/// Returns the properties that the samples of both have.
fn joined(dataset: &Common, source: &Common) -> Common {
    let distinct_stems = dataset.distinct_stems && source.distinct_stems;
    Common { distinct_stems, whole_images: source.whole_images.clone(), ..dataset.clone() }
}

/// Gives the new shards numbers behind those of their splits; returns all shards in order.
fn number(version: &Version, job: &mut PackJob) -> Vec<NextShard> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for shard in &version.shards {
        let count = counts.entry(&shard.split).or_default();
        *count = (*count).max(shard.number + 1);
    }
    for shard in &mut job.plan.shards {
        let before = counts.get(shard.split.as_str()).copied().unwrap_or_default();
        shard.number += before;
        // Unknown before the end of samples that are packed as they come.
        shard.of = if shard.of == 0 { 0 } else { before + shard.of };
    }
    let mut next: Vec<(&str, NextShard)> = Vec::new();
    for (at, shard) in version.shards.iter().enumerate() {
        next.push((&shard.split, NextShard::Kept(at)));
    }
    for shard in &job.plan.shards {
        let behind = next.iter().rposition(|(split, _)| *split == shard.split);
        let at = behind.map_or(next.len(), |last| last + 1);
        next.insert(at, (&shard.split, NextShard::New(Shard::clone(shard))));
    }
    next.into_iter().map(|(_, shard)| shard).collect()
}
