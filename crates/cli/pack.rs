//! `fdconvert pack`.
use crate::{
    Outcome,
    args::PackArgs,
    output,
    progress::PackProgress,
    request::PackRequest,
    summary::{self, Summary},
};
use fdconvert_core::{Kind, OptionValues, Result};
use fdconvert_pipeline::{Cancel, Job, Plan, pack};
use serde_json::{Map, json};

pub(crate) fn run(args: &PackArgs, options: &OptionValues, cancel: &Cancel) -> Result<Outcome> {
    let request = PackRequest::new(args, options)?;
    let plan = Plan::single_file(request.source.len());
    if args.dry_run {
        return dry_run(args, &request, &plan);
    }
    let job = Job {
        source: &*request.source,
        policy: &request.policy,
        format: &*request.format,
        out: &args.out,
        plan: &plan,
        params: &request.params,
        threads: request.threads,
        budget_bytes: args.buffer,
        on_error: request.on_error,
        part: None,
        overwrite: args.overwrite,
    };
    let mut progress = PackProgress::new("packing", args.common.quiet || args.common.json);
    let packed = pack(&job, cancel, &mut progress);
    progress.clear();
    let report = packed?;
    let summary = Summary { verb: "packed", job: &job, report: &report };
    summary::print(&summary, args.common)
}

/// Says what would be done. The output is not opened, images are not read.
fn dry_run(args: &PackArgs, request: &PackRequest, plan: &Plan) -> Result<Outcome> {
    let schema = request.source.schema();
    if args.common.json {
        let mut fields = Map::new();
        fields.insert("samples".into(), json!(plan.len()));
        fields.insert("out".into(), json!(args.out.display().to_string()));
        fields.insert("format".into(), json!(request.format.name()));
        fields.insert("schema".into(), json!(schema));
        fields.insert("params".into(), json!(request.policy.params()));
        output::print_json("plan", fields)?;
        return Ok(Outcome::Complete);
    }
    let mut text = format!(
        "would pack {} samples of {} into {} ({})\n",
        output::count(plan.len()),
        args.source.display(),
        args.out.display(),
        request.format.about(),
    );
    for field in &schema.fields {
        let classes = match (&field.kind, &field.class_names) {
            (Kind::Int, Some(names)) => format!(", {} classes", output::count(names.len() as u64)),
            _ => String::new(),
        };
        text.push_str(&format!("  field    {}: {}{classes}\n", field.name, field.kind.name()));
    }
    for (name, value) in request.policy.params() {
        text.push_str(&format!("  {name:8} {value}\n"));
    }
    output::print(&text)?;
    Ok(Outcome::Complete)
}
