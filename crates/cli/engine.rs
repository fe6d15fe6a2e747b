//! `fdconvert pack --plan PLAN --engine ray OUT`: the Python package packs on a cluster.
use crate::{Outcome, choices::OnErrorArg, pack_args::PackArgs};
use fdconvert_core::{Error, Result};
use serde_json::json;
use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
};

const MODULE: &str = "fdconvert.ray";
/// Variable with the path of a Python that has the package and Ray.
const VARIABLE: &str = "FDCONVERT_PYTHON";

/// Runs the module, which prints its report.
pub(crate) fn run(args: &PackArgs, plan: &Path, out: &Path) -> Result<Outcome> {
    let python = env::var_os(VARIABLE).unwrap_or_else(|| OsString::from("python3"));
    check(&python)?;
    let request = json!({
        "plan": plan,
        "out": out,
        "threads": args.threads.unwrap_or(1),
        "on_error": match args.on_error {
            OnErrorArg::Fail => "fail",
            OnErrorArg::Skip => "skip",
        },
        "quiet": args.common.quiet,
    });
    let mut command = Command::new(&python);
    let status = command.args(["-m", MODULE]).arg(request.to_string()).status();
    match status.map_err(Error::io("start", &python))?.code() {
        Some(0) => Ok(Outcome::Complete),
        Some(1) => Ok(Outcome::DataProblems),
        Some(130) => Err(Error::Cancelled),
        _ => Err(Error::usage("--engine", "Ray did not pack the dataset; it says why above")),
    }
}

/// Refuses a Python without the package or without Ray, before any work.
fn check(python: &OsString) -> Result<()> {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {MODULE}")]).stdin(Stdio::null());
    let cure = format!(
        "install both with pip (`pip install ray`, and this package from its checkout), or name the \
         Python that has them with {VARIABLE}"
    );
    let why = match command.output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.lines().last().unwrap_or_default().to_owned()
        }
        Err(cause) => cause.to_string(),
    };
    let what = format!("{} cannot import {MODULE} ({why}); {cure}", python.display());
    Err(Error::usage("--engine", what))
}
