//! The regression gate: instruction counts of twelve hot paths, compared with a baseline.
//!
//! Times are unreliable on a shared machine; a count of instructions does not depend on its load.
//! `crates/hot-paths` is built with the profile `gate` and run under callgrind, each path with one
//! repeat and with two: the difference is one repeat, without the start of the process. Counts of
//! another compiler, C library or valgrind are not comparable, so the gate skips with a message.
//! `--plant` slows the measured program down, to test the gate itself.

mod baseline;
mod count;
mod prove;
mod tools;
mod verdict;

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    thread::available_parallelism,
};

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::{Workspace, cargo},
};
use baseline::Baseline;
use count::Counter;
use tools::Tools;
use verdict::Comparison;

/// Path of the baseline in the repository.
const BASELINE: &str = "benches/instructions.json";

/// A slowdown that the gate must catch, in per cent.
const PLANTED: f64 = 3.0;

/// Count the instructions of twelve hot paths, and fail where one takes 2 % more than recorded.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Store the counts as the baseline.
    #[arg(long, conflicts_with_all = ["paths", "plant", "prove"])]
    record: bool,
    /// Only these paths.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    paths: Vec<String>,
    /// Slow every path down by this percentage of its instructions.
    #[arg(long, value_name = "PERCENT")]
    plant: Option<f64>,
    /// Number of runs with a planted slowdown (of 3 %, or `--plant`), all of which must fail, and
    /// of runs without, all of which must pass.
    #[arg(long, value_name = "N")]
    prove: Option<usize>,
    /// The measured program [default: built with the profile `gate`].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Folder to work in, which is replaced [default: gate-work in Cargo's target folder].
    #[arg(long, value_name = "PATH")]
    work: Option<PathBuf>,
    /// Number of counts at the same time [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let (root, target) = (here.root()?, here.target()?);
    let path = root.join(BASELINE);
    let baseline = if options.record { None } else { Some(Baseline::read(&path)?) };

    // Before the build, which takes most of the gate's time.
    let mut tools = Tools::found()?;
    if let Some(baseline) = &baseline
        && skips(&baseline.tools, &tools)
    {
        return Ok(());
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build(&root, &target)?,
    };
    let program = absolute(&program)?;
    let work = options.work.clone().unwrap_or_else(|| target.join("gate-work"));
    let n_beside = options.jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
    let counter = Counter::new(program, &root.join("tests/fixtures"), &work, n_beside)?;
    tools.processor = counter.processor()?;
    let Some(baseline) = baseline else { return record(&path, tools, &counter) };
    if skips(&baseline.tools, &tools) {
        return Ok(());
    }

    let paths = chosen(counter.paths()?, &options.paths)?;
    if let Some(n_runs) = options.prove {
        return prove::run(&counter, &baseline, &paths, n_runs, options.plant.unwrap_or(PLANTED));
    }
    let planted = match options.plant {
        Some(percent) => counter.plant(&baseline, percent)?,
        None => count::Planted::default(),
    };
    let counts = counter.count(&paths, &planted, &count::Surroundings::default())?;
    let comparison = Comparison::new(&baseline, &counts);
    print!("{}", comparison.table());
    println!("Files of callgrind, for callgrind_annotate: {}", counter.files().display());
    comparison.outcome()
}

/// Returns whether counts of these tools are not comparable, and prints why.
fn skips(recorded: &Tools, found: &Tools) -> bool {
    let differences = recorded.differences(found);
    for difference in &differences {
        println!("gate: skipped: {difference}");
    }
    if !differences.is_empty() {
        println!(
            "gate: counts of other tools cannot be compared; `--record` stores those of these"
        );
    }
    !differences.is_empty()
}

fn record(path: &Path, tools: Tools, counter: &Counter) -> Result<()> {
    let paths = counter.paths()?;
    let counts = counter.count(&paths, &Default::default(), &Default::default())?;
    if let Ok(before) = Baseline::read(path) {
        print!("{}", Comparison::new(&before, &counts).table());
    }
    Baseline { tools, instructions: counts }.write(path)?;
    println!("Recorded in {}.", path.display());
    Ok(())
}

/// Builds the measured program the same way everywhere: flags from outside would change it.
fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    command.args(["build", "--quiet", "--profile", "gate", "--package", "fdconvert-hot-paths"]);
    for flags in ["RUSTFLAGS", "CFLAGS", "CXXFLAGS", "ASMFLAGS"] {
        command.env_remove(flags);
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", "").current_dir(root);
    shell::run(&mut command)?;
    Ok(target.join("gate/hot_paths"))
}

fn chosen(all: Vec<String>, wanted: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        return fail(format!("no path {unknown}; there are: {}", all.join(", ")));
    }
    Ok(all.into_iter().filter(|name| wanted.is_empty() || wanted.contains(name)).collect())
}

/// Makes a path absolute, because the program runs in another folder.
fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().context(format_args!("cannot resolve {}", path.display()))
}
