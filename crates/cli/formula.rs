//! `fdconvert pack fractal:... OUT.formula`: the one format that keeps a source instead of samples.
use crate::{Outcome, Session, args::PackArgs, output};
use fdconvert::{Context, FormulaOutput};
use fdconvert_core::{Error, Result, Source as _};
use fdconvert_formula::FormulaReader;
use fdconvert_fractal::Formula;
use serde_json::{Map, json};
use std::path::Path;

pub(crate) fn run(
    args: &PackArgs,
    file: &FormulaOutput,
    context: Context<'_>,
    session: &Session,
) -> Result<Outcome> {
    let out = file.out();
    if let Some(found) = file.there() {
        return already_complete(args, found, out, session);
    }
    let formula = file.resolve(context)?;
    if args.dry_run {
        return dry_run(args, out, &formula, session);
    }
    let written = file.write(&formula)?;
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
