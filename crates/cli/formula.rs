//! `fdconvert pack fractal:... OUT.formula`: the one format that keeps a source instead of samples.
use crate::{Outcome, Session, args::PackArgs, fractal, output, request::Recipe, sources};
use fdconvert_codec::{Encode, Policy};
use fdconvert_core::{Error, Provenance, Result};
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
    if out.exists() && !args.overwrite {
        let what = format!("{} exists; replace it with --overwrite", out.display());
        return Err(Error::usage("OUT", what));
    }
    let quiet = args.common.quiet || args.common.json;
    let fractals = FractalRecipe::parse(text)?;
    let formula = fractal::resolve(&fractals, quiet, session)?;
    if args.dry_run {
        return dry_run(args, out, &formula, session);
    }
    let provenance = Provenance {
        tool: concat!("fdconvert ", env!("CARGO_PKG_VERSION")).into(),
        source: fractals.name(),
        ..Provenance::default()
    };
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
        let (samples, bytes) = (output::count(written.samples), output::size(written.bytes));
        let classes = output::count(formula.categories.len() as u64);
        session.print(&format!(
            "packed {samples} images of {classes} classes into {}: {bytes}, rendered when read\n",
            out.display()
        ))?;
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
        let (n, out) = (output::count(formula.len()), out.display());
        session.print(&format!("would write {out}, a formula of {n} images\n"))?;
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
        || plan.sharding != none.sharding
    {
        return refuse("selected, shuffled, split or put into shards; readers and loaders do that");
    }
    Ok(())
}
