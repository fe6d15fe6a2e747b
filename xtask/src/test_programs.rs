//! The tests of `cargo test`, two programs at a time.
//!
//! Cargo runs one test program after the other. Some of them use only one core, because they test
//! something that exists once per process, such as a fake driver of a GPU; and threads that map and
//! unmap files wait for each other. Two programs with half of the cores each take two thirds of the
//! time; one with tests that wait gets more threads.

use std::{
    num::NonZero,
    path::PathBuf,
    process::{Command, Stdio},
    thread::available_parallelism,
};

use serde_json::Value;

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::{Workspace, cargo},
};

/// Number of programs at a time.
const N_BESIDE: usize = 2;

/// The slowest programs, run first, so that the end is short.
const FIRST: [&str; 3] = ["command", "fdconvert_formats", "gpu_emul"];

/// Waits most of the time, for processes and for servers with latency: two threads a core.
const WAITING: &str = "command";

/// Run what `cargo test` runs, two programs at a time, but no documentation tests.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Arguments of `cargo test`.
    #[arg(last = true, value_name = "ARGUMENT")]
    cargo: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let root = Workspace::here()?.root()?;
    let mut command = Command::new(cargo());
    command.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    command.args(&options.cargo).current_dir(&root).stderr(Stdio::inherit());
    let output = command.output().context("cannot start cargo test")?;
    if !output.status.success() {
        return fail(format!("cargo test --no-run: {}", output.status));
    }
    let mut programs = programs(&String::from_utf8_lossy(&output.stdout))?;
    if programs.is_empty() {
        return fail("cargo test named no program");
    }
    programs.sort_by_key(|program| {
        FIRST.iter().position(|it| *it == program.name).unwrap_or(FIRST.len())
    });

    let cores = available_parallelism().map_or(1, NonZero::get);
    shell::each_beside(&programs, N_BESIDE, |program| {
        let heading = format!("     Running {} of {}", program.name, program.folder.display());
        let is_waiting = program.name == WAITING;
        let n_threads = if is_waiting { 2 * cores } else { cores.div_ceil(N_BESIDE) };
        let mut command = Command::new(&program.path);
        command.current_dir(&program.folder).env("RUST_TEST_THREADS", n_threads.to_string());
        shell::run_beside(&mut command, &heading)
    })
}

/// A test program, and the folder of its package, in which it runs.
struct Program {
    name: String,
    path: PathBuf,
    folder: PathBuf,
}

/// Parses Cargo's messages in JSON, one line per artifact.
fn programs(said: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in said.lines().filter(|line| line.starts_with('{')) {
        let line: Value =
            serde_json::from_str(line).context("cargo test did not answer in JSON")?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let is_test = line["reason"] == "compiler-artifact" && line["profile"]["test"] == true;
        let Some(path) = text(&line["executable"]).filter(|_| is_test) else { continue };
        let name = text(&line["target"]["name"]).context("cargo test names no target")?;
        let manifest = text(&line["manifest_path"]).map(PathBuf::from);
        let folder = manifest.and_then(|it| it.parent().map(PathBuf::from));
        let folder = folder.context(format_args!("cargo test names no package of {name}"))?;
        programs.push(Program { name, path: path.into(), folder });
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_run() {
        let artifact = |test, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/b/Cargo.toml","target":{{"name":"x"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let said = [
            artifact(true, r#""/t/x-1""#),
            artifact(false, r#""/t/x""#),
            artifact(true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = programs(&said.join("\n")).unwrap_or_else(|failure| panic!("{failure}"));
        let found: Vec<_> =
            found.iter().map(|it| (&*it.name, it.path.as_path(), it.folder.as_path())).collect();
        assert_eq!(found, [("x", "/t/x-1".as_ref(), "/a/b".as_ref())]);
    }
}
