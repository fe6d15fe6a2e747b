//! `fdconvert pack`.
use crate::{
    Outcome, Session,
    args::{Common, OnErrorArg, PackArgs},
    formula, out, output, page, plan,
    progress::{PackProgress, bar},
    ratio,
    request::{Recipe, refuse_without_images, threads},
    sources::{self, Opening},
    splits,
    summary::{self, Summary},
};
use fdconvert_core::{Error, Format as _, Kind, OptionValues, Result, Shown, Source};
use fdconvert_formula::FormulaFormat;
use fdconvert_pipeline::{Job, Part, Plan, pack};
use serde_json::{Map, json};
use std::path::Path;

const UNLOCKED: &str = "files written without a lock, which the file system does not offer: nothing \
                        keeps a second run from writing them at the same time";

pub(crate) fn run(args: &PackArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    if args.plan.is_some() && args.listing_cache.is_some() {
        return Err(Error::usage("--listing-cache", "the plan has the listing; leave it out"));
    }
    let (target, paths) = match args.paths.split_last() {
        Some((out, [])) if args.plan.is_some() => (out, &[][..]),
        Some((_, [])) => {
            let what = "name what to pack and, last, what to write: fdconvert pack SOURCE... OUT";
            return Err(Error::usage("OUT", what));
        }
        Some((_, paths)) if args.plan.is_some() && !paths.is_empty() => {
            return Err(Error::usage("--plan", "the plan names the sources; give only OUT"));
        }
        Some((out, paths)) => (out, paths),
        None => return Err(Error::usage("OUT", "it is missing")),
    };
    let quiet = args.common.quiet || args.common.json;
    let out = target.as_path();
    let masks = args.recipe.pair.iter().map(|(_, path)| path);
    out::check_place("OUT", out, paths.iter().chain(masks), args.overwrite)?;
    let (source, plan, recipe) = match &args.plan {
        Some(file) => {
            let loaded = plan::load(file, quiet, session)?;
            out::check_name(out, &*loaded.recipe.format)?;
            out::check_place("OUT", out, loaded.paths.iter(), args.overwrite)?;
            if args.part.is_some() && loaded.recipe.format.is_sharded() {
                plan::leave_copy(file, out)?;
            }
            (loaded.source, loaded.plan, loaded.recipe)
        }
        None => {
            let left = (!args.dry_run).then_some(out);
            let settled = ratio::settle(&args.recipe, paths, left, args.overwrite, quiet, session)?;
            let mut recipe = Recipe::new(&settled, options, Some(out))?;
            out::check_name(out, &*recipe.format)?;
            if recipe.format.name() == FormulaFormat.name() {
                return formula::run(args, paths, out, &recipe, session);
            }
            let cache = args.listing_cache.as_deref();
            let how = Opening { args: &args.recipe, quiet, session, cache };
            let source = sources::open(paths, how)?;
            refuse_without_images(&args.recipe, source.schema())?;
            recipe.plan.on_error = Some(args.on_error.into());
            recipe.plan.only_split = splits::only_split(paths, &*source, &*recipe.format);
            // By size it looks at every sample.
            let planning = bar("planning", quiet, session);
            let plan = Plan::new(&*source, &recipe.policy, &*recipe.format, &recipe.plan)?;
            let is_beton = recipe.format.name() == "beton";
            if is_beton && matches!(args.on_error, OnErrorArg::Fail) {
                page::check(&*source, &recipe.policy, &plan, options)?;
            }
            planning.finish_and_clear();
            (source, plan, recipe)
        }
    };
    if args.part.is_some() && !recipe.format.is_sharded() {
        let what = format!("a {} is one file and cannot be written in parts", recipe.format.name());
        return Err(Error::usage("--part", what));
    }
    if args.dry_run {
        return dry_run(out, &*source, &plan, &recipe, args.common, session);
    }
    let mut job = Job {
        source: &*source,
        policy: &recipe.policy,
        format: &*recipe.format,
        out,
        plan: &plan,
        params: &recipe.params,
        jpeg_index: recipe.jpeg_index,
        threads: threads(args.threads)?,
        budget_bytes: args.buffer,
        on_error: args.on_error.into(),
        overwrite: args.overwrite,
        part: args.part.map(|(index, of)| Part { index, of }),
    };
    let before = match &recipe.plan.only_split {
        Some(_) if !args.overwrite => splits::as_begun_before(&job)?,
        _ => None,
    };
    job.plan = before.as_ref().unwrap_or(job.plan);
    let mut progress = PackProgress::new("packing", quiet, session);
    let unlocked = fdconvert_storage::unlocked_files();
    let packed = pack(&job, session.cancel(), &mut progress);
    progress.clear();
    let mut report = packed?;
    let unlocked = fdconvert_storage::unlocked_files() - unlocked;
    if unlocked > 0 {
        report.notes.push(("unlocked", UNLOCKED, unlocked));
    }
    let summary = Summary {
        verb: "packed",
        job: &job,
        report: &report,
        is_default_format: recipe.is_default_format,
    };
    summary::print(&summary, args.common, session)
}

/// Says what would be done. The output is not opened.
fn dry_run(
    out: &Path,
    source: &dyn Source,
    plan: &Plan,
    recipe: &Recipe,
    common: Common,
    session: &Session,
) -> Result<Outcome> {
    let schema = source.schema();
    if common.json {
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(plan.len()));
        fields.insert("shards".into(), json!(plan.shards.len()));
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("format".into(), json!(recipe.format.name()));
        fields.insert("schema".into(), json!(schema));
        fields.insert("params".into(), json!(recipe.policy.params()));
        fields.insert("jpeg_index".into(), json!(recipe.jpeg_index));
        fields.insert("ignored".into(), json!(source.left_out()));
        session.print_json("plan", fields)?;
        return Ok(Outcome::Complete);
    }
    let mut text = format!(
        "would pack {} of {} into {} ({})\n",
        output::counted(plan.len(), "sample"),
        Shown(source.name()),
        output::path(out),
        recipe.format.about(),
    );
    text.push_str(&plan::shards_text(plan));
    for field in &schema.fields {
        let classes = match (&field.kind, &field.class_names) {
            (Kind::Int, Some(names)) => {
                format!(", {}", output::counted(names.len() as u64, "class"))
            }
            _ => String::new(),
        };
        text.push_str(&format!(
            "  field    {}: {}{classes}\n",
            Shown(&field.name),
            field.kind.name()
        ));
    }
    for note in summary::left_out(source, plan) {
        text.push_str(&format!("  note     {note}\n"));
    }
    if let Some(grid_bits) = recipe.jpeg_index {
        text.push_str(&format!("  jpeg-index checkpoints every {grid_bits} bits\n"));
    }
    for (name, value) in recipe.policy.params().iter().chain(&recipe.params) {
        text.push_str(&format!("  {name:8} {}\n", Shown(value)));
    }
    session.print(&text)?;
    Ok(Outcome::Complete)
}
