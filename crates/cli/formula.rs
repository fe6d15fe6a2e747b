//! `fdconvert pack fractal:... OUT.formula`: the one format that keeps a source instead of samples.
use crate::{Outcome, Session, args::PackArgs, fractal, output, request::Recipe, sources};
use fdconvert_codec::{Encode, Policy};
use fdconvert_core::{Error, Provenance, Reader as _, Result, Source as _};
use fdconvert_formula::FormulaReader;
use fdconvert_fractal::{Formula, Recipe as FractalRecipe};
use fdconvert_pipeline::PlanRequest;
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

pub(crate) fn run(
    args: &PackArgs,
    paths: &[PathBuf],
    out: &Path,
    recipe: &Recipe,
    session: &Session,
) -> Result<Outcome> {
    let [path] = paths else {
        let what = "a formula keeps one recipe; pack several into another format";
        return Err(Error::usage("--format formula", what));
    };
    let Some(text) = sources::recipe(path) else {
        let what = format!(
            "{} has images, and a formula keeps none; only a recipe becomes one: \
             fdconvert pack 'fractal:fractaldb?classes=1000' {}",
            path.display(),
            out.display()
        );
        return Err(Error::usage("--format formula", what));
    };
    refuse_what_needs_images(recipe)?;
    // Before a search, not after.
    let fractals = FractalRecipe::parse(text)?;
    let provenance = Provenance {
        tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
        source: fractals.name(),
        ..Provenance::default()
    };
    let is_there = std::fs::symlink_metadata(out).is_ok();
    if is_there && !args.overwrite && !args.dry_run {
        // The file depends on the recipe and the version alone, and its own checksums say that it
        // is whole: the same command has written it.
        if let Ok(found) = FormulaReader::open(out)
            && found.provenance() == Some(&provenance)
            && found.verify_layout().is_empty()
        {
            return already_complete(args, &found, out, session);
        }
    }
    if is_there && !args.overwrite {
        let what = format!("{} exists; replace it with --overwrite", out.display());
        return Err(Error::usage("OUT", what));
    }
    let quiet = args.common.quiet || args.common.json;
    let formula = fractal::resolve(&fractals, quiet, session)?;
    if args.dry_run {
        return dry_run(args, out, &formula, session);
    }
    let written = fdconvert_formula::write(out, &formula, &provenance, args.overwrite)?;
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("format".into(), json!("formula"));
        fields.insert("planned".into(), json!(written.samples));
        fields.insert("samples".into(), json!(written.samples));
        fields.insert("classes".into(), json!(formula.categories.len()));
        fields.insert("bytes_out".into(), json!(written.bytes));
        session.print_json("packed", fields)?;
    } else if !args.common.quiet {
        let samples = output::counted(written.samples, "image");
        let bytes = output::size(written.bytes);
        let classes = output::counted(formula.categories.len() as u64, "class");
        session.print(&format!(
            "packed {samples} of {classes} into {}: {bytes}, rendered when read\n",
            output::path(out)
        ))?;
    }
    Ok(Outcome::Complete)
}

/// Says that there is nothing left to do.
fn already_complete(
    args: &PackArgs,
    found: &FormulaReader,
    out: &Path,
    session: &Session,
) -> Result<Outcome> {
    let bytes = std::fs::metadata(out).map_err(Error::io("look at", out))?.len();
    if args.common.json {
        let mut fields = Map::new();
        let classes = found.schema().fields.iter().find_map(|field| field.class_names.as_ref());
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("format".into(), json!("formula"));
        fields.insert("planned".into(), json!(found.len()));
        fields.insert("samples".into(), json!(found.len()));
        fields.insert("classes".into(), json!(classes.map_or(0, |names| names.len())));
        fields.insert("bytes_out".into(), json!(bytes));
        session.print_json("packed", fields)?;
    } else if !args.common.quiet {
        session.print(&format!("{} was already complete\n", out.display()))?;
    }
    Ok(Outcome::Complete)
}

/// Says what would be written.
fn dry_run(args: &PackArgs, out: &Path, formula: &Formula, session: &Session) -> Result<Outcome> {
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(formula.len()));
        fields.insert("shards".into(), json!(1));
        fields.insert("out".into(), json!(out.display().to_string()));
        fields.insert("format".into(), json!("formula"));
        session.print_json("plan", fields)?;
    } else {
        let (n, out) = (output::counted(formula.len(), "image"), output::path(out));
        session.print(&format!("would write {out}, a formula of {n}\n"))?;
    }
    Ok(Outcome::Complete)
}

/// Options that would have to change images or their order.
fn refuse_what_needs_images(recipe: &Recipe) -> Result<()> {
    let refuse = |what: &str| {
        let what = format!("a formula keeps no images, so none can be {what}");
        Err(Error::usage("--format formula", what))
    };
    if recipe.policy.encode != Encode::Keep || recipe.policy.size.is_some() {
        return refuse("encoded or resized; say size= in the recipe");
    }
    // Limits and filters without effect may stay.
    let changes = Policy { limits: recipe.policy.limits, ..Policy::default() };
    if recipe.policy.alpha != changes.alpha || recipe.policy.gray != changes.gray {
        return refuse("converted");
    }
    // A seed alone changes nothing.
    let (plan, none) = (&recipe.plan, PlanRequest::default());
    if plan.selection != none.selection
        || plan.shuffle.is_some()
        || !plan.splits.is_empty()
        || !plan.select_splits.is_empty()
        || plan.sharding != none.sharding
    {
        return refuse("selected, shuffled, split or put into shards; readers and loaders do that");
    }
    Ok(())
}
