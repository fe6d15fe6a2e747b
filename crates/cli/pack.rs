//! `fdconvert pack`.
use crate::{
    Outcome, Session,
    args::{Common, PackArgs},
    formula, output, plan,
    progress::PackProgress,
    ratio,
    request::{Recipe, threads},
    sources::{self, Opening},
    summary::{self, Summary},
};
use fdconvert_core::{Error, Format as _, Kind, OptionValues, Result, Source};
use fdconvert_formula::FormulaFormat;
use fdconvert_pipeline::{Job, Part, Plan, pack};
use serde_json::{Map, json};
use std::path::Path;

pub(crate) fn run(args: &PackArgs, options: &OptionValues, session: &Session) -> Result<Outcome> {
    let (out, paths) = match args.paths.split_last() {
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
    let (source, plan, recipe) = match &args.plan {
        Some(file) => {
            let loaded = plan::load(file, quiet, session)?;
            if args.part.is_some() && loaded.recipe.format.is_sharded() {
                plan::leave_copy(file, out)?;
            }
            (loaded.source, loaded.plan, loaded.recipe)
        }
        None => {
            let left = (!args.dry_run).then_some(&**out);
            let settled = ratio::settle(&args.recipe, paths, left, args.overwrite, quiet, session)?;
            let recipe = Recipe::new(&settled, options, Some(out))?;
            if recipe.format.name() == FormulaFormat.name() {
                return formula::run(args, paths, out, &recipe, session);
            }
            let how = Opening { args: &args.recipe, quiet, session };
            let source = sources::open(paths, how)?;
            let plan = Plan::new(&*source, &recipe.policy, &*recipe.format, &recipe.plan)?;
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
    let job = Job {
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
    let mut progress = PackProgress::new("packing", quiet, session);
    let packed = pack(&job, session.cancel(), &mut progress);
    progress.clear();
    let report = packed?;
    let summary = Summary { verb: "packed", job: &job, report: &report };
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
        session.print_json("plan", fields)?;
        return Ok(Outcome::Complete);
    }
    let mut text = format!(
        "would pack {} samples of {} into {} ({})\n",
        output::count(plan.len()),
        source.name(),
        out.display(),
        recipe.format.about(),
    );
    text.push_str(&plan::shards_text(plan));
    for field in &schema.fields {
        let classes = match (&field.kind, &field.class_names) {
            (Kind::Int, Some(names)) => format!(", {} classes", output::count(names.len() as u64)),
            _ => String::new(),
        };
        text.push_str(&format!("  field    {}: {}{classes}\n", field.name, field.kind.name()));
    }
    if let Some(grid_bits) = recipe.jpeg_index {
        text.push_str(&format!("  jpeg-index checkpoints every {grid_bits} bits\n"));
    }
    for (name, value) in recipe.policy.params().iter().chain(&recipe.params) {
        text.push_str(&format!("  {name:8} {value}\n"));
    }
    session.print(&text)?;
    Ok(Outcome::Complete)
}
