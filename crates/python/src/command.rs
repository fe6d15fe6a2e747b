//! The operations of the command as functions, and the command itself in this process.
use crate::{
    attended::{Meter, attended},
    desk::Desk,
    error::raise,
};
use fdconvert::{
    Append, Context, DiffOptions, DuplicatesOptions, Error, InspectOptions, Pack, PackOptions,
    Planned, Prepared, ProfileOptions, Remove, Result, SheetOptions, StatsOptions, Update,
    VerifyOptions, diff, find_duplicates, inspect, merge, plan,
    plumbing::{check_plan_place, document, log_document, profile_document},
    profile, sheet, stats, verify,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde_json::{Map, Value};
use std::{ffi::OsString, path::PathBuf, sync::Arc};

/// Run the command line in this process and return its exit status.
///
/// It prints to the standard streams and handles Ctrl-C itself.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| fdconvert_cli::main(args))
}

/// Run the command `command` and return its document as JSON.
///
/// `options` is a JSON object of options by name. `progress` is called in this thread, at most ten
/// times a second, with the number of finished samples and their total. Ctrl-C, and any exception
/// of `progress`, stop the work and leave nothing unfinished.
#[pyfunction]
#[pyo3(signature = (command, paths, options, progress=None))]
pub(crate) fn call(
    py: Python<'_>,
    command: String,
    paths: Vec<PathBuf>,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options: Map<String, Value> = serde_json::from_str(options)
        .map_err(|cause| PyRuntimeError::new_err(format!("options are not an object: {cause}")))?;
    let work = move |meter: &Meter, _: &Arc<Desk>| {
        let context = Context { cancel: &meter.cancel, progress: meter };
        carry_out(&command, paths, options, context)
    };
    // Inputs with a path are read without Python.
    let fetch = |_, _: &[u64]| Ok(Err(Error::Cancelled));
    let found = attended(py, progress.as_ref(), work, 0, fetch)?;
    Ok(found.map_err(|error| raise(&error))?.to_string())
}

fn carry_out(
    command: &str,
    mut paths: Vec<PathBuf>,
    mut options: Map<String, Value>,
    context: Context<'_>,
) -> Result<Value> {
    let last = paths.pop().unwrap_or_default();
    match command {
        "pack" | "unpack" => {
            let done = if command == "pack" { "packed" } else { "unpacked" };
            let dry = options.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
            let split = if command == "unpack" { options.remove("split") } else { None };
            let split = split.map(serde_json::from_value).transpose();
            let split = split.map_err(|cause| Error::usage("split", cause.to_string()))?;
            let pack = Pack::from_json(paths, last, options)?;
            let pack = match command {
                "unpack" => pack.unpacking(split.unwrap_or_default()),
                _ => pack,
            };
            carry_out_pack(&pack, done, dry, context)
        }
        "plan" => {
            let overwrite = options.remove("overwrite").is_some_and(|it| it == true);
            check_plan_place(&last, overwrite)?;
            let options = PackOptions::from_json(options)?;
            let planned = plan(&paths, &options, context)?;
            let bytes = planned.save(&last, overwrite)?;
            Ok(planned.document(&last, bytes))
        }
        "pack_plan" => {
            let plan = paths.pop().unwrap_or_default();
            let dry = options.remove("dry_run").is_some_and(|it| it == true);
            let planned = Planned::load(&plan, context)?.with_json(options)?;
            let samples = planned.prepare(&last, dry)?;
            if dry {
                return Ok(samples.plan_document());
            }
            Ok(samples.document("packed", &samples.run(context)?))
        }
        "append" => {
            Ok(Append::from_json(last.clone(), paths, options)?.run_with(context)?.document(&last))
        }
        "remove" => {
            Ok(Remove::from_json(last.clone(), options)?.run_with(context)?.document(&last))
        }
        "update" => {
            Ok(Update::from_json(last.clone(), options)?.run_with(context)?.document(&last))
        }
        "log" => log_document(&last),
        "merge" => Ok(merge(&last, paths.pop().as_deref(), context)?.document(&last)),
        "inspect" => Ok(inspect(&last, &InspectOptions::from_json(options)?, context)?.document()),
        "verify" => {
            let options = VerifyOptions::from_json(options)?;
            Ok(verify(&last, &options, context)?.document(&last, &options))
        }
        "diff" => {
            let first = paths.pop().unwrap_or_default();
            let datasets = [first.as_path(), last.as_path()];
            Ok(diff(datasets, &DiffOptions::from_json(options)?, context)?.document(datasets))
        }
        "stats" => {
            let options = StatsOptions::from_json(options)?;
            Ok(stats(&last, &options, context)?.document(&last))
        }
        "sheet" => {
            let dataset = paths.pop().unwrap_or_default();
            let options = SheetOptions::from_json(options)?;
            Ok(sheet(&dataset, &last, &options, context)?.document(&dataset, &last))
        }
        "find_duplicates" => {
            paths.push(last);
            let options = DuplicatesOptions::from_json(options)?;
            Ok(find_duplicates(&paths, &options, context)?.document(&paths, &options))
        }
        "profile" => {
            // Python's own command line has no relation to this call.
            options.remove("command");
            let options = ProfileOptions::from_json(options)?;
            profile_document(&profile(&last, &options, context)?)
        }
        other => Ok(document(other, Map::new())),
    }
}

/// Packs, or returns the plan of a dry run.
pub(crate) fn carry_out_pack(
    pack: &Pack,
    done: &str,
    dry: bool,
    context: Context<'_>,
) -> Result<Value> {
    match pack.prepare(context)? {
        Prepared::Samples(samples) if dry => Ok(samples.plan_document()),
        Prepared::Samples(samples) => Ok(samples.document(done, &samples.run(context)?)),
        Prepared::Formula(formula) => Ok(formula.document(&formula.run(dry, context)?)),
    }
}
