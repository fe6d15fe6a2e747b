//! `fdconvert plan` and `fdconvert merge`: one dataset written by several runs.
use crate::{
    Outcome, Session,
    args::{MergeArgs, PlanArgs, RecipeArgs},
    output, ratio,
    request::Recipe,
    sources::{self, Opening},
};
use fdconvert_core::{Error, OptionValues, Result, Source};
use fdconvert_pipeline::{Job, OnError, Plan, PlanFile, complete, finished_shards};
use fdconvert_storage::{Scratch, replace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Where parts leave a copy of their plan, for `merge` to find.
const COPY: &str = ".fdconvert/plan.fdplan";
/// Splits and shards that are shown; JSON has all.
const SHOWN: usize = 8;

/// What a plan file holds as its recipe.
#[derive(Serialize, Deserialize)]
struct StoredRecipe {
    options: BTreeMap<String, String>,
    args: RecipeArgs,
}

/// A plan, ready to be carried out.
pub(crate) struct Loaded {
    pub(crate) source: Box<dyn Source>,
    pub(crate) plan: Plan,
    pub(crate) recipe: Recipe,
}

/// `fdconvert plan`
pub(crate) fn run(args: &PlanArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    if !args.overwrite && args.output.exists() {
        let what = format!("{} exists; replace it with --overwrite", args.output.display());
        return Err(Error::usage("--output", what));
    }
    let quiet = args.common.quiet || args.common.json;
    let settled = ratio::settle(&args.recipe, &args.sources, None, false, quiet, session)?;
    let recipe = Recipe::new(&settled, options, None)?;
    let how = Opening { args: &settled, quiet, session };
    let described: Result<Vec<_>> =
        args.sources.iter().map(|path| sources::describe(path, how)).collect();
    let described = described?;
    let source = sources::open_planned(&described, how)?;
    let plan = Plan::new(&*source, &recipe.policy, &*recipe.format, &recipe.plan)?;
    let stored = StoredRecipe { options: options.0.clone(), args: settled.clone() };
    let recipe = serde_json::to_value(&stored).map_err(unserialisable)?;
    let file = PlanFile { recipe, sources: described, plan };
    let bytes = file.to_bytes()?;
    replace(&args.output, &bytes)?;
    report(args, &file.plan, bytes.len() as u64, session)?;
    Ok(Outcome::Complete)
}

fn report(args: &PlanArgs, plan: &Plan, bytes: u64, session: &Session) -> Result<()> {
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("plan".into(), json!(args.output.display().to_string()));
        fields.insert("samples".into(), json!(plan.len()));
        fields.insert("shards".into(), json!(plan.shards.len()));
        fields.insert("bytes".into(), json!(bytes));
        return session.print_json("planned", fields);
    }
    if args.common.quiet {
        return Ok(());
    }
    let n = output::count(plan.len());
    let path = args.output.display();
    let size = output::size(bytes);
    session.print(&format!("planned {n} samples in {path} ({size})\n{}", shards_text(plan)))
}

/// One line for each split.
pub(crate) fn shards_text(plan: &Plan) -> String {
    let mut text = String::new();
    for split in plan.splits().into_iter().take(SHOWN) {
        let shards = plan.shards.iter().filter(|shard| shard.split == split);
        let lens: Vec<u64> = shards.map(|shard| shard.samples.end - shard.samples.start).collect();
        let (least, most) = (lens.iter().min().unwrap_or(&0), lens.iter().max().unwrap_or(&0));
        let total = output::count(lens.iter().sum());
        text.push_str(&format!(
            "  {split:8} {total} samples in {} shards of {} to {}\n",
            lens.len(),
            output::count(*least),
            output::count(*most)
        ));
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
    let how = Opening { args: &stored.args, quiet, session };
    let source = sources::open_planned(&file.sources, how)?;
    let recipe = Recipe::new(&stored.args, &OptionValues(stored.options), None)?;
    Ok(Loaded { source, plan: file.plan, recipe })
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
    fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    let scratch = Scratch::open(&copy.with_extension(format!("{}.partial", std::process::id())))?;
    scratch.write_all_at(&bytes, 0)?;
    scratch.commit(&copy)
}

/// `fdconvert merge`
pub(crate) fn merge(args: &MergeArgs, session: &Session) -> Result<Outcome> {
    let plan: PathBuf = args.plan.clone().unwrap_or_else(|| args.out.join(COPY));
    if !plan.is_file() {
        let what = format!("{} is not there; name the plan of the parts", plan.display());
        return Err(Error::usage("--plan", what));
    }
    let Loaded { source, plan, recipe } =
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
    let shards = finished_shards(&job)?;
    let written = complete(&job, &shards)?;
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
        session.print_json("merged", fields)?;
    } else if !args.common.quiet {
        let text = format!(
            "merged {} samples in {} shards, {}, into {}; {} skipped\n",
            output::count(n_samples),
            output::count(shards.len() as u64),
            output::size(bytes),
            args.out.display(),
            skipped.len()
        );
        session.print(&text)?;
    }
    Ok(if skipped.is_empty() { Outcome::Complete } else { Outcome::DataProblems })
}
