//! `fdconvert plan` and `fdconvert merge`: one dataset written by several runs.
use crate::{
    Outcome, Session,
    args::{MergeArgs, PlanArgs, RecipeArgs},
    output,
    progress::bar,
    ratio,
    request::{Recipe, refuse_without_images},
    sources::{self, Opening},
    splits::{self, SHOWN},
    summary,
};
use fdconvert_core::{Error, OptionValues, Result, Shown, Source, split_names};
use fdconvert_pipeline::{Job, OnError, Plan, PlanFile, complete, finished_shards};
use fdconvert_storage::{Scratch, make_folder, replace, sync_folder_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Where parts leave a copy of their plan, for `merge` to find.
const COPY: &str = ".fdconvert/plan.fdplan";

/// What a plan file holds as its recipe.
#[derive(Serialize, Deserialize)]
struct StoredRecipe {
    options: BTreeMap<String, String>,
    args: RecipeArgs,
}

/// A plan, ready to be carried out.
pub(crate) struct Loaded {
    pub(crate) source: Box<dyn Source>,
    /// Where the sources lie.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) plan: Plan,
    pub(crate) recipe: Recipe,
}

/// `fdconvert plan`
pub(crate) fn run(args: &PlanArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    let exists = !args.overwrite && args.output.exists();
    if exists && !is_plan(&args.output)? {
        return Err(refuse_existing(&args.output));
    }
    let quiet = args.common.quiet || args.common.json;
    let settled = ratio::settle(&args.recipe, &args.sources, None, false, quiet, session)?;
    let mut recipe = Recipe::new(&settled, options, None)?;
    let cache = args.listing_cache.as_deref();
    let how = Opening { args: &settled, quiet, session, cache };
    sources::check_cache(&args.sources, how)?;
    let described: Result<Vec<_>> =
        args.sources.iter().map(|path| sources::describe(path, how)).collect();
    let (described, opened): (Vec<_>, Vec<_>) = described?.into_iter().unzip();
    let source = sources::join(opened, how)?;
    refuse_without_images(&args.recipe, source.schema())?;
    recipe.plan.only_split = splits::only_split(&args.sources, &*source, &*recipe.format);
    // By size it looks at every sample.
    let planning = bar("planning", quiet, session);
    let plan = Plan::new(&*source, &recipe.policy, &*recipe.format, &recipe.plan)?;
    planning.finish_and_clear();
    let mut notes = splits::notes(&args.sources, &*source, &plan, &recipe.plan);
    let split_fields = [
        ("splits", splits::planned_json(&plan)),
        ("source_splits", json!(split_names(&source.splits()))),
        ("split_notes", json!(notes)),
    ];
    notes.extend(summary::left_out(&*source, &plan));
    let ignored = source.left_out();
    let stored = StoredRecipe { options: options.0.clone(), args: settled.clone() };
    let recipe = serde_json::to_value(&stored).map_err(unserialisable)?;
    let file = PlanFile { recipe, sources: described, plan };
    let bytes = file.to_bytes()?;
    if !exists {
        replace(&args.output, &bytes)?;
    } else if fs::read(&args.output).map_err(Error::io("read", &args.output))? == bytes {
        // The same plan, by a run that ended before it could say so.
        sync_folder_of(&args.output)?;
    } else {
        return Err(refuse_existing(&args.output));
    }
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("plan".into(), json!(args.output.display().to_string()));
        fields.insert("samples".into(), json!(file.plan.len()));
        fields.insert("shards".into(), json!(file.plan.shards.len()));
        fields.insert("bytes".into(), json!(bytes.len()));
        fields.insert("ignored".into(), json!(ignored));
        fields.extend(split_fields.map(|(name, value)| (name.to_owned(), value)));
        session.print_json("planned", fields)?;
    } else if !args.common.quiet {
        report(args, &file.plan, bytes.len() as u64, &notes, session)?;
    }
    Ok(Outcome::Complete)
}

fn refuse_existing(path: &Path) -> Error {
    Error::usage("--output", format!("{} exists; replace it with --overwrite", path.display()))
}

/// Whether planning may lead to what is there already.
fn is_plan(path: &Path) -> Result<bool> {
    let is_file = fs::metadata(path).map_err(Error::io("look at", path))?.is_file();
    Ok(is_file && PlanFile::parse(&fdconvert_storage::map(path)?, "").is_ok())
}

fn report(
    args: &PlanArgs,
    plan: &Plan,
    bytes: u64,
    notes: &[String],
    session: &Session,
) -> Result<()> {
    let n = output::counted(plan.len(), "sample");
    let path = output::path(&args.output);
    let size = output::size(bytes);
    let mut text = format!("planned {n} in {path} ({size})\n{}", shards_text(plan));
    for note in notes {
        text.push_str(&format!("  note     {}\n", Shown(note)));
    }
    text.push_str(
        "  fixed    names, order, shards and options, not what the files hold: leave the source \
         alone until merge is done\n",
    );
    session.print(&text)
}

/// One line for each split.
pub(crate) fn shards_text(plan: &Plan) -> String {
    let mut text = String::new();
    let splits = plan.splits();
    for split in splits.iter().copied().take(SHOWN) {
        let shards = plan.shards.iter().filter(|shard| shard.split == split);
        let lens: Vec<u64> = shards.map(|shard| shard.samples.end - shard.samples.start).collect();
        let (least, most) = (lens.iter().min().unwrap_or(&0), lens.iter().max().unwrap_or(&0));
        let total = output::counted(lens.iter().sum(), "sample");
        let shards = output::counted(lens.len() as u64, "shard");
        let each = match (lens.len(), least == most) {
            (0 | 1, _) => String::new(),
            (_, true) => format!(" of {}", output::count(*least)),
            (_, false) => format!(" of {} to {}", output::count(*least), output::count(*most)),
        };
        let split = Shown(split).to_string();
        text.push_str(&format!("  {split:8} {total} in {shards}{each}\n"));
    }
    if splits.len() > SHOWN {
        let n = output::counted((splits.len() - SHOWN) as u64, "more split");
        text.push_str(&format!("  ...      {n}; --json lists all\n"));
    }
    text
}

fn unserialisable(cause: serde_json::Error) -> Error {
    Error::usage("--plan", format!("the options cannot be recorded: {cause}"))
}

/// Reads a plan and opens its sources.
pub(crate) fn load(path: &Path, quiet: bool, session: &Session) -> Result<Loaded> {
    let bytes = fdconvert_storage::map(path)?;
    let file = PlanFile::parse(&bytes, &path.display().to_string())?;
    let stored: StoredRecipe = serde_json::from_value(file.recipe).map_err(|cause| {
        let what =
            format!("{} has options that this version does not know: {cause}", path.display());
        Error::usage("--plan", what)
    })?;
    let how = Opening { args: &stored.args, quiet, session, cache: None };
    let source = sources::open_planned(&file.sources, how)?;
    let recipe = Recipe::new(&stored.args, &OptionValues(stored.options), None)?;
    let paths = file.sources.iter().map(|source| source.path.clone().into()).collect();
    Ok(Loaded { source, paths, plan: file.plan, recipe })
}

/// Leaves the plan in the dataset. Parts may do so at the same time: each writes the same bytes
/// under a name of its own and renames them.
pub(crate) fn leave_copy(plan: &Path, out: &Path) -> Result<()> {
    let bytes = fdconvert_storage::map(plan)?;
    let copy = out.join(COPY);
    match fs::read(&copy) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) => {
            let what = format!(
                "{} is being written by another plan; choose another OUT or remove it",
                out.display()
            );
            return Err(Error::usage("--plan", what));
        }
        Err(_) => {}
    }
    let folder = copy.parent().unwrap_or(out);
    make_folder(out)?;
    make_folder(folder)?;
    let scratch = Scratch::open(&copy.with_extension(format!("{}.partial", std::process::id())))?;
    scratch.write_all_at(&bytes, 0)?;
    scratch.commit(&copy)
}

/// Removes what killed parts left of their copies: the starts of the plan, under names of ours.
fn remove_copies(out: &Path) -> Result<()> {
    let copy = out.join(COPY);
    let Some(folder) = copy.parent().filter(|folder| folder.is_dir()) else { return Ok(()) };
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

/// `fdconvert merge`
pub(crate) fn merge(args: &MergeArgs, session: &Session) -> Result<Outcome> {
    let plan: PathBuf = args.plan.clone().unwrap_or_else(|| args.out.join(COPY));
    let is_file = match fs::metadata(&plan) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("look at", &plan)(cause));
        }
        found => found.is_ok_and(|found| found.is_file()),
    };
    if !is_file {
        if args.plan.is_some() {
            return Err(Error::usage("--plan", format!("{} is not a file", plan.display())));
        }
        let what = format!(
            "{} holds no copy of the plan that its parts were packed by; name the plan with --plan",
            args.out.display()
        );
        return Err(Error::usage("OUT", what));
    }
    let Loaded { source, plan, recipe, .. } =
        load(&plan, args.common.quiet || args.common.json, session)?;
    let job = Job {
        source: &*source,
        policy: &recipe.policy,
        format: &*recipe.format,
        out: &args.out,
        plan: &plan,
        params: &recipe.params,
        jpeg_index: recipe.jpeg_index,
        threads: 1,
        budget_bytes: 0,
        on_error: OnError::Fail,
        overwrite: false,
        part: None,
    };
    let (shards, checked) = finished_shards(&job)?;
    let written = complete(&job, &shards)?;
    remove_copies(&args.out)?;
    let n_samples: u64 = shards.iter().map(|(_, shard)| shard.samples).sum();
    let bytes: u64 = shards.iter().map(|(_, shard)| shard.bytes).sum();
    let skipped: Vec<_> = shards.iter().flat_map(|(_, shard)| &shard.skipped).collect();
    if args.common.json {
        let mut fields = Map::new();
        let files: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("samples".into(), json!(n_samples));
        fields.insert("shards".into(), json!(shards.len()));
        fields.insert("bytes_out".into(), json!(bytes));
        fields.insert("skipped".into(), json!(skipped));
        fields.insert("files".into(), json!(files));
        fields.insert("checked_bytes".into(), json!(checked.bytes));
        fields.insert("checked_seconds".into(), json!(checked.time.as_secs_f64()));
        session.print_json("merged", fields)?;
    } else if !args.common.quiet {
        let text = format!(
            "merged {} in {}, {}, into {}; {} skipped\n  checked   all shards against their records \
             in {:.2} s\n",
            output::counted(n_samples, "sample"),
            output::counted(shards.len() as u64, "shard"),
            output::size(bytes),
            output::path(&args.out),
            skipped.len(),
            checked.time.as_secs_f64()
        );
        session.print(&text)?;
    }
    Ok(if skipped.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}
