//! Fuzzing on the stable compiler.
//!
//! `cargo fuzz` needs a nightly compiler because of its sanitizers. libFuzzer itself only needs the
//! coverage instrumentation, and that is a pass of LLVM which the stable compiler runs as well. The
//! parsers under test forbid unsafe code, so the address sanitizer would find little.

use std::{fs, num::NonZero, path::Path, process::Command};

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::{Workspace, cargo},
};

/// Counters per edge, their addresses, and the operands of comparisons, without which libFuzzer
/// does not get past a magic number. One codegen unit keeps the counters in order. Assertions are
/// on by the profile in `fuzz/Cargo.toml`; a flag here would turn them on where that leaves them out.
const INSTRUMENTED: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// Time after which an input is reported as a hang.
const TIMEOUT_S: u64 = 10;
const MAX_MEMORY_MIB: u64 = 1024;

/// Run the fuzz targets, each from its seeds and the findings of earlier runs.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// The one target to run, instead of all in fuzz/Cargo.toml.
    target: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let folder = here.root()?.join("fuzz");
    let mut targets = Workspace::of(&folder.join("Cargo.toml"))?.programs();
    if let Some(wanted) = &options.target {
        if !targets.contains(wanted) {
            return fail(format!("no fuzz target {wanted}; there are: {}", targets.join(", ")));
        }
        targets.retain(|target| target == wanted);
    }
    if targets.is_empty() {
        return fail("fuzz/Cargo.toml lists no target");
    }

    // Separate from other builds: the flags differ, and Cargo would rebuild everything each time.
    let build = here.target()?.join("fuzz");
    let host = host()?;
    build_targets(&folder, &targets, &host, &build)?;
    let programs = build.join(&host).join("release");
    run_targets(&folder, &targets, &programs, options.seconds)?;
    println!("\nfuzz: nothing found in {} s each of {}", options.seconds, targets.join(", "));
    Ok(())
}

fn build_targets(folder: &Path, targets: &[String], host: &str, build: &Path) -> Result<()> {
    // With --target, the flags do not apply to build scripts and macros, which do not link
    // libFuzzer.
    let mut command = Command::new(cargo());
    command.args(["build", "--release", "--target", host, "--target-dir"]).arg(build);
    command.args(targets.iter().flat_map(|target| ["--bin", target]));
    command.current_dir(folder).env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTED.join("\x1f"));
    shell::run(&mut command)
}

/// Runs one target per core at a time; each is one thread.
fn run_targets(folder: &Path, targets: &[String], programs: &Path, seconds: u64) -> Result<()> {
    let n_beside = std::thread::available_parallelism().map_or(1, NonZero::get);
    shell::each_beside(targets, n_beside, |target| {
        run_target(folder, target, &programs.join(target), seconds)
    })
}

fn run_target(folder: &Path, target: &str, program: &Path, seconds: u64) -> Result<()> {
    let [seeds, corpus, artifacts] =
        ["seeds", "corpus", "artifacts"].map(|it| folder.join(it).join(target));
    for output in [&corpus, &artifacts] {
        fs::create_dir_all(output).context(format_args!("cannot make {}", output.display()))?;
    }
    let mut command = Command::new(program);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={TIMEOUT_S}"));
    command.arg(format!("-rss_limit_mb={MAX_MEMORY_MIB}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    // Silence while it runs, and the numbers at the end.
    command.args(["-verbosity=0", "-print_final_stats=1"]);
    // New inputs go to the first folder; the seeds are only read.
    command.arg(&corpus);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    shell::run_beside(command.current_dir(folder), &format!("fuzz: {target}"))
        .context(format_args!("fuzz target {target} (see {})", artifacts.display()))
}

/// The target triple of this machine, from the compiler.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_string())
}
