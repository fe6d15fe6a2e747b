//! Kills and faults at every call: the remaining files, and the same command run again.
//!
//! A library (`xtask/shim`) is loaded before the C library and counts the program's calls on files.
//! A run without faults lists the calls; then one run after another is killed before one of them,
//! or has one of them fail. A point is a kind of call, a path and an ordinal among the calls of
//! that kind on that path, so that the scheduling of threads does not matter. Nothing is random:
//! the same program gives the same cases.

mod case;
mod configurations;
mod crew;
mod faults;
mod kills;
mod points;
mod program;
mod report;
mod shim;
mod tree;

use std::{fs, num::NonZeroUsize, path::PathBuf, thread};

use crate::{
    failure::{Context, Result, fail},
    workspace::Workspace,
};
use configurations::Configuration;
use program::Program;
use report::Report;

/// Kill the command at every call, or fail its calls, and check what the same command does next.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// What happens at the calls.
    #[arg(value_enum)]
    campaign: Campaign,
    /// Only some points of every configuration, evenly chosen: for CI.
    #[arg(long)]
    quick: bool,
    /// The command under test [default: the debug build of this workspace].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// A Python interpreter that has the package: programs that write samples are under test, too.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Only these configurations.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    formats: Vec<String>,
    /// Only cases with this text in their description, e.g. `rename out/x.beton`.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Threads of the command under test.
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// Runs at the same time [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Folder to work in, which is replaced [default: campaign-CAMPAIGN in Cargo's target folder].
    #[arg(long, value_name = "PATH")]
    work: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Campaign {
    /// SIGKILL before each call that changes or opens something below the output's folder.
    Kill,
    /// An errno, or fewer bytes than requested, at each call on source and output.
    Faults,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        return fail("the campaign needs Linux on a 64-bit machine: it preloads a library");
    }
    let configurations = chosen(&options.formats, options.python.is_some())?;
    let here = Workspace::here()?;
    let (root, target) = (here.root()?, here.target()?);
    let path = options.program.clone().unwrap_or_else(|| target.join("debug/fdconvert"));
    if !path.is_file() {
        return fail(format!("{} is missing: build it or give --program", path.display()));
    }
    let path = path.canonicalize().context(format_args!("cannot resolve {}", path.display()))?;

    let name = match options.campaign {
        Campaign::Kill => "kill",
        Campaign::Faults => "faults",
    };
    let work = options.work.clone().unwrap_or_else(|| target.join(format!("campaign-{name}")));
    let work = recreate(&work)?;
    let library = shim::build(&root.join("xtask/shim"), &work)?;
    let program = Program::new(path, library, work, options.threads)
        .with_python(options.python.clone().unwrap_or_else(|| "python3".into()));
    program.make_source(&root.join("tests/fixtures/kodak"))?;

    let jobs = options.jobs.or_else(|| thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let mut report = Report::new(options.campaign);
    for configuration in configurations {
        let plan = case::Selection { quick: options.quick, only: options.only.as_deref() };
        let results = crew::walk(&program, configuration, options.campaign, &plan, jobs)?;
        report.add(configuration, &results);
    }
    report.finish()
}

fn chosen(names: &[String], with_python: bool) -> Result<Vec<&'static Configuration>> {
    let several = configurations::SEVERAL.iter().chain(&configurations::EDITS).flatten();
    let all: Vec<_> = configurations::ALL.iter().chain(several).collect();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|it| it.name != **name)) {
        let known: Vec<_> = all.iter().map(|it| it.name).collect();
        return fail(format!("no configuration {unknown}; there are: {}", known.join(", ")));
    }
    // Configurations with programs need an interpreter that has the package.
    let wanted = |it: &&Configuration| match names.is_empty() {
        true => with_python || !it.attacked.starts_with("PYTHON"),
        false => names.iter().any(|name| name == it.name),
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// Creates an empty folder, and returns its path without links: the library compares paths as text.
fn recreate(folder: &PathBuf) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))?;
    folder.canonicalize().context(format_args!("cannot resolve {}", folder.display()))
}
