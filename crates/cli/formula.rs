//! `fdconvert pack fractal:... OUT.formula`: the one format that keeps a source instead of samples.
use crate::{Outcome, Session, output, pack_args::PackArgs};
use fdconvert::{Context, plumbing::FormulaOutput};
use fdconvert_core::Result;
use serde_json::{Map, json};

pub(crate) fn run(
    args: &PackArgs,
    file: &FormulaOutput,
    context: Context<'_>,
    session: &Session,
) -> Result<Outcome> {
    let report = file.run(args.dry_run, context)?;
    let out = output::path(file.out());
    let images = output::counted(report.samples, "image");
    if args.common.json && args.dry_run {
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(report.samples));
        fields.insert("shards".into(), json!(1));
        fields.insert("out".into(), json!(file.out().display().to_string()));
        fields.insert("format".into(), json!("formula"));
        session.print_json("plan", fields)?;
    } else if args.common.json {
        session.print_document(&file.document(&report))?;
    } else if file.is_complete() {
        if !args.common.quiet {
            session.print(&format!("{out} was already complete\n"))?;
        }
    } else if args.dry_run {
        session.print(&format!("would write {out}, a formula of {images}\n"))?;
    } else if !args.common.quiet {
        let bytes = output::size(report.bytes);
        let classes = output::counted(report.classes, "class");
        let text =
            format!("packed {images} of {classes} into {out}: {bytes}, rendered when read\n");
        session.print(&text)?;
    }
    Ok(Outcome::Complete)
}
