//! One dataset written by several runs: a plan in a file, its parts, and their completion.
use crate::{
    Context, PackOptions,
    check::check,
    document::document,
    launcher::{PartOf, find_part},
    notes::Notes,
    options::from_object,
    out,
    outcome::Outcome,
    pack::{overwrite_setter, run_from_json, run_setters},
    resolve::{Asked, Resolved, decided, resolve},
    samples::Samples,
    sources::Opening,
    splits,
};
use bytes::Bytes;
use fdconvert_core::{Error, Ignored, Remark, Result, Source, option, split_names};
use fdconvert_pipeline::{Cancel, OnError, PackJob, Part, Plan, PlanFile, Report};
use fdconvert_storage::{
    Scratch, Spool, make_folder,
    place::{self, Kind, is_url},
    replace, sync_folder_of,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Path of the copy of the plan that parts leave for [`merge`].
pub(crate) const COPY: &str = ".fdconvert/plan.fdplan";

/// Contents of a plan file besides the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stored {
    options: PackOptions,
    #[serde(flatten)]
    outcome: Outcome,
}

/// JSON options for sharing a dataset among several runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Sharing {
    part: Option<String>,
    parts: Option<u64>,
}

/// Plan for a dataset that several runs will write.
///
/// ```no_run
/// use fdconvert::{Context, PackOptions, Planned, merge, plan};
///
/// let options = PackOptions::default().format("wds").shards(8);
/// plan(&["photos".into()], &options, Context::default())?.save("photos.fdplan", false)?;
/// // On each of four machines, with its own number:
/// Planned::load("photos.fdplan".as_ref(), Context::default())?.part(0, 4).run("photos")?;
/// // On any of them, when all are done:
/// merge("photos".as_ref(), None, Context::default())?;
/// # Ok::<(), fdconvert::Error>(())
/// ```
pub struct Planned {
    /// Job without an output.
    job: PackJob,
    notes: Notes,
    paths: Vec<PathBuf>,
    /// Contents of the plan's file, which parts leave for `merge`.
    bytes: Bytes,
}

/// Plans a dataset.
///
/// # Errors
/// `Usage` for invalid options; the errors of the sources; `Cancelled`.
pub fn plan(paths: &[PathBuf], options: &PackOptions, context: Context<'_>) -> Result<Planned> {
    let asked = Asked::read(options, check(options, None)?, None, context)?;
    let opening = asked.opening();
    let described: Result<Vec<_>> = paths.iter().map(|path| opening.describe(path)).collect();
    let (sources, opened): (Vec<_>, Vec<_>) = described?.into_iter().unzip();
    let source = opening.join(opened, paths)?;
    let Resolved { mut job, notes, options, outcome } = resolve(asked, paths, source.into())?;
    let file = PlanFile { options: Stored { options, outcome }, sources, plan: job.plan };
    let mut spool = Spool::default();
    file.write_to(&mut spool)?;
    job.plan = file.plan;
    Ok(Planned { job, notes, paths: paths.to_vec(), bytes: spool.finish()? })
}

impl Planned {
    /// Reads a plan and opens its sources.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Version`; `Usage` if a source has changed since; `Cancelled`.
    pub fn load(file: &Path, context: Context<'_>) -> Result<Self> {
        let bytes = place::whole(file)?;
        let PlanFile { options: Stored { options, outcome }, sources, plan } =
            parse(&bytes, &file.display().to_string())?;
        let checked = check(&options, None)?;
        let source = Opening { options: &options, context }.open_planned(&sources)?;
        let paths: Vec<_> = sources.into_iter().map(|source| source.path.into()).collect();
        let planned = (&*source, &*checked.format, &plan);
        let notes = Notes::new(&options, &paths, planned, &outcome, Vec::new());
        let job = decided((&options, &outcome), checked, source.into(), plan)?;
        Ok(Self { job, notes, paths, bytes })
    }

    /// Writes the plan and returns its size. The same plan may exist already.
    ///
    /// # Errors
    /// `Usage` if another plan or any other file exists, unless `overwrite`; `Io`.
    pub fn save(&self, file: impl AsRef<Path>, overwrite: bool) -> Result<u64> {
        let file = file.as_ref();
        if overwrite || !place::exists(file)? {
            replace(file, &self.bytes)?;
        } else if is_plan(file)? && place::whole(file)? == self.bytes {
            // A run that was interrupted before its end has written the same plan.
            sync_folder_of(file)?;
        } else {
            return Err(Error::exists(option::OUTPUT, file));
        }
        Ok(self.bytes.len() as u64)
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.job.plan
    }

    /// Returns all sources, joined.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        &*self.job.source
    }

    /// Returns notes on the splits of the sources, in sentences.
    #[must_use]
    pub fn split_notes(&self) -> Vec<Remark> {
        self.notes.on_source(&*self.job.source)
    }

    /// Returns notes on the selection of samples by their properties, in sentences.
    #[must_use]
    pub fn choice_notes(&self) -> &[Remark] {
        &self.notes.choice
    }

    /// Returns the number of samples that the selection left out, as in
    /// [`choice_notes`](Self::choice_notes).
    #[must_use]
    pub fn chosen_away(&self) -> u64 {
        self.notes.chosen.left_out()
    }

    /// Returns the plan as a document: `file` is its path, `bytes` its size.
    #[must_use]
    pub fn document(&self, file: &Path, bytes: u64) -> Value {
        let own = self.job.source.splits();
        let mut fields = Map::new();
        fields.insert("plan".into(), json!(file.display().to_string()));
        fields.insert("samples".into(), json!(self.job.plan.len()));
        fields.insert("shards".into(), json!(self.job.plan.shards.len()));
        fields.insert("bytes".into(), json!(bytes));
        fields.insert("ignored".into(), json!(self.left_out()));
        fields.extend(self.notes.chosen.document());
        fields.insert("splits".into(), splits::planned_json(&self.job.plan));
        fields.insert("source_splits".into(), json!(split_names(own)));
        fields.insert("split_notes".into(), json!(self.split_notes()));
        document("planned", fields)
    }

    /// Returns the contents of the sources that are not samples.
    #[must_use]
    pub fn left_out(&self) -> Ignored {
        self.job.source.facts().ignored.clone()
    }

    run_setters!(job.run);
    overwrite_setter!(job.run);

    /// Sets options from one JSON object: `threads`, `buffer`, `on_error`, `max_failures` and
    /// `overwrite`, and, as text, `part` with `parts`.
    ///
    /// # Errors
    /// `Usage` for unknown names and invalid values.
    pub fn with_json(mut self, mut object: Map<String, Value>) -> Result<Self> {
        let sharing: Map<String, Value> = ["part", "parts"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), object.remove(name)?)))
            .collect();
        let sharing: Sharing = from_object(sharing)?;
        self.job.run = run_from_json(&mut object)?;
        if let Some(text) = sharing.part {
            let part: PartOf = text.parse().map_err(|what| Error::usage(option::PART, what))?;
            let found = part.find(sharing.parts, |name| std::env::var(name).ok())?;
            self.job.run.part = Some(found.part);
        } else if sharing.parts.is_some() {
            return Err(Error::usage(option::PARTS, "it is of parts that a launcher numbers")
                .cure("to take one", option::PART.with("auto")));
        }
        Ok(self)
    }

    /// Restricts the run to the shards of part `index` of `of`, counted from 0.
    #[must_use]
    pub fn part(mut self, index: u64, of: u64) -> Self {
        self.job.run.part = Some(Part { index, of });
        self
    }

    /// Restricts the run to the part in the environment variables of this process's launcher;
    /// `parts` is their number, if the launcher does not set it.
    ///
    /// # Errors
    /// `Usage` if no known launcher has started this process, or it does not set the number of
    /// parts.
    pub fn part_auto(mut self, parts: Option<u64>) -> Result<Self> {
        let found = find_part(parts, |name| std::env::var(name).ok())?;
        self.job.run.part = Some(found.part);
        Ok(self)
    }

    /// Writes the dataset, or its part, to `out`.
    ///
    /// # Errors
    /// As for [`Pack::run`](crate::Pack::run).
    pub fn run(self, out: impl AsRef<Path>) -> Result<Report> {
        let cancel = Cancel::default();
        let context = Context { cancel: &cancel, progress: &() };
        self.prepare(out.as_ref(), false)?.run(context)
    }

    /// Prepares the samples that [`run`](Self::run) would write; leaves nothing in `out` if `dry`.
    ///
    /// # Errors
    /// As for [`run`](Self::run), before anything is packed.
    pub fn prepare(self, out: &Path, dry: bool) -> Result<Samples> {
        let run = &self.job.run;
        out::check_place("output", out, self.paths.iter(), run.overwrite)?;
        run.check()?;
        if run.part.is_some() && self.job.format.is_sharded() && !dry {
            leave_copy(&self.bytes, out)?;
        }
        self.at(out)
    }

    /// Returns its samples for the output `out`.
    pub(crate) fn at(self, out: &Path) -> Result<Samples> {
        let job = PackJob { out: out.to_owned(), ..self.job };
        Samples::new(job, self.notes, &self.paths.iter().collect::<Vec<_>>())
    }
}

/// Refuses a path for the plan that cannot be replaced, before any work.
///
/// # Errors
/// `Usage`, with the name of the file.
pub fn check_plan_place(file: &Path, overwrite: bool) -> Result<()> {
    if !overwrite && place::exists(file)? && !is_plan(file)? {
        return Err(Error::exists(option::OUTPUT, file));
    }
    Ok(())
}

/// Returns true if planning may replace the file.
fn is_plan(path: &Path) -> Result<bool> {
    let is_file = place::look_at(path)? == Kind::File;
    let bytes = if is_file { Some(place::whole(path)?) } else { None };
    Ok(bytes.is_some_and(|bytes| parse(&bytes, "").is_ok()))
}

/// Parses a plan; listings of many files go to unnamed files.
fn parse(bytes: &[u8], name: &str) -> Result<PlanFile<Stored>> {
    PlanFile::parse(bytes, name, |listing| {
        let mut spool = Spool::default();
        let copied = io::copy(listing, &mut spool);
        copied.map_err(Error::io("read the listing of", name))?;
        spool.finish()
    })
}

/// Leaves the plan in the dataset. Parts may do so at the same time: each writes the same bytes
/// under a separate name and renames them.
fn leave_copy(bytes: &[u8], out: &Path) -> Result<()> {
    let copy = out.join(COPY);
    let another = || {
        let what = format!(
            "{} is being written by another plan; choose another OUT or remove it",
            out.display()
        );
        Error::usage(option::PLAN, what)
    };
    if is_url(&copy) {
        // The first part writes it; the others find it.
        return if place::put_new(&copy, bytes)? { Ok(()) } else { Err(another()) };
    }
    match fs::read(&copy) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) => return Err(another()),
        Err(_) => {}
    }
    let folder = copy.parent().unwrap_or(out);
    make_folder(out)?;
    make_folder(folder)?;
    let scratch = Scratch::open(&copy.with_extension(format!("{}.partial", std::process::id())))?;
    let left = scratch.write_all_at(bytes, 0).and_then(|()| scratch.commit(&copy, true));
    // Meanwhile a run that completed the dataset has removed the file as a leftover.
    left.or_else(
        |error| if fs::read(&copy).is_ok_and(|it| it == bytes) { Ok(()) } else { Err(error) },
    )
}

/// Removes the partial copies of killed parts: the starts of the plan, under our names.
pub(crate) fn remove_copies(out: &Path) -> Result<()> {
    let copy = out.join(COPY);
    let here = copy.parent().filter(|folder| !is_url(folder) && folder.is_dir());
    let Some(folder) = here else { return Ok(()) };
    let plan = fs::read(&copy).unwrap_or_default();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let path = entry.map_err(Error::io("list", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix("plan.").and_then(|rest| rest.strip_suffix(".partial"));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let begun = fs::read(&path).map_err(Error::io("read", &path))?;
        if plan.starts_with(&begun) {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}
