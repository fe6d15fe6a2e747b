//! `fdconvert pack`.
use crate::{
    Outcome, Session,
    args::{OnErrorArg, PackArgs},
    formula, out, output, page, plan,
    progress::{PackProgress, bar},
    ratio,
    request::{Recipe, refuse_without_images, threads},
    sources::{self, Opening},
    splits,
    summary::{self, Summary},
};
use fdconvert_core::{Error, Format as _, Kind, OptionValues, Result, Shown, Source, split_names};
use fdconvert_formula::FormulaFormat;
use fdconvert_pipeline::{Job, Part, Plan, outputs, pack};
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

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
    out::check_place(out, paths.iter().chain(masks), args.overwrite)?;
    let (source, paths, plan, recipe) = match &args.plan {
        Some(file) => {
            let loaded = plan::load(file, quiet, session)?;
            out::check_place(out, loaded.paths.iter(), args.overwrite)?;
            if args.part.is_some() && loaded.recipe.format.is_sharded() {
                plan::leave_copy(file, out)?;
            }
            (loaded.source, loaded.paths, loaded.plan, loaded.recipe)
        }
        None => {
            let left = (!args.dry_run).then_some(out);
            let settled = ratio::settle(&args.recipe, paths, left, args.overwrite, quiet, session)?;
            let mut recipe = Recipe::new(&settled, options, Some(out))?;
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
            (source, paths.to_vec(), plan, recipe)
        }
    };
    out::check_name(out, &*recipe.format)?;
    // Files of splits have names of their own, which sources may have, too.
    for place in outputs(&*recipe.format, &plan, out).iter().filter(|place| *place != out) {
        let masks = args.recipe.pair.iter().map(|(_, path)| path);
        out::check_place(place, paths.iter().chain(masks), args.overwrite)?;
    }
    if args.part.is_some() && !recipe.format.is_sharded() {
        let what = format!("a {} is one file and cannot be written in parts", recipe.format.name());
        return Err(Error::usage("--part", what));
    }
    if args.dry_run {
        return dry_run(args, &paths, &*source, &plan, &recipe, session);
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
        splits: splits::written(&job, &report),
        split_notes: splits::notes(&paths, &*source, job.plan, &recipe.plan),
        is_default_format: recipe.is_default_format,
    };
    summary::print(&summary, args.common, session)
}

/// Says what would be done. The output is not opened.
fn dry_run(
    args: &PackArgs,
    paths: &[PathBuf],
    source: &dyn Source,
    plan: &Plan,
    recipe: &Recipe,
    session: &Session,
) -> Result<Outcome> {
    let out = args.paths.last().map_or(Path::new(""), PathBuf::as_path);
    let split_notes = splits::notes(paths, source, plan, &recipe.plan);
    let schema = source.schema();
    if args.common.json {
        let places = outputs(&*recipe.format, plan, out);
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(plan.len()));
        fields.insert("shards".into(), json!(plan.shards.len()));
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("outputs".into(), json!(places));
        fields.insert("splits".into(), splits::planned_json(plan));
        fields.insert("source_splits".into(), json!(split_names(&source.splits())));
        fields.insert("split_notes".into(), json!(split_notes));
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
        splits::places(&*recipe.format, plan, out),
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
    for note in split_notes.into_iter().chain(summary::left_out(source, plan)) {
        text.push_str(&format!("  note     {}\n", Shown(note)));
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
