//! Cross-checks with other implementations of stores: installed, started on the loopback interface,
//! and passed to `tests/servers/check.py`, which packs into them, reads from them and compares
//! every object.

mod install;
mod kinds;
mod running;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use self::{install::install, kinds::Kind, running::Running};
use crate::{
    failure::{Context, Result, fail},
    workspace::Workspace,
};

/// Install and start other implementations of stores, and cross-check the command with them; needs
/// a debug build of it. A server that cannot be installed is named, and left out.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these servers.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Without repetitions, in well under a minute for each server.
    #[arg(long)]
    quick: bool,
    /// Only these checks, by the names of their functions.
    #[arg(long, value_delimiter = ',')]
    checks: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let (root, folder) = (here.root()?, here.target()?.join("servers"));
    let program = here.target()?.join("debug/fdconvert");
    if !program.is_file() {
        return fail(format!("{} is missing; `make servers` builds it first", program.display()));
    }
    fs::create_dir_all(&folder).context(format_args!("cannot make {}", folder.display()))?;
    let kinds = if options.only.is_empty() { Kind::ALL.to_vec() } else { options.only.clone() };
    let (mut lines, mut n_judged, mut failed) = (Vec::new(), 0, Vec::new());
    for kind in kinds {
        let began = Instant::now();
        let took = |what: &str| format!("{}: {what} ({} s)", kind, began.elapsed().as_secs());
        if let Err(cause) = install(kind, &folder) {
            lines.push(took(&format!("not installed: {cause}")));
            continue;
        }
        println!("{}", took("installed"));
        n_judged += 1;
        match judged(kind, options, &root, &folder, &program) {
            Ok(said) => lines.push(took(&said)),
            Err(cause) => {
                lines.push(took(&format!("FAILED: {cause}")));
                failed.push(kind.to_string());
            }
        }
    }
    println!("\n{}", lines.join("\n"));
    match (failed.is_empty(), n_judged) {
        (true, 0) => fail("no server could be installed"),
        (true, _) => Ok(()),
        (false, _) => fail(format!("checks failed with {}", failed.join(", "))),
    }
}

/// Installs s3s-fs and starts it on a folder with a folder for each bucket. Returns its address,
/// and a guard that stops it when dropped.
pub(crate) fn s3_on(data: &Path) -> Result<(String, impl Drop + use<>)> {
    let folder = Workspace::here()?.target()?.join("servers");
    fs::create_dir_all(&folder).context(format_args!("cannot make {}", folder.display()))?;
    install(Kind::S3s, &folder)?;
    let data = data.canonicalize().context(format_args!("cannot open {}", data.display()))?;
    let server = Running::serving(Kind::S3s, &folder, &data)?;
    Ok((server.url().clone(), server))
}

/// Starts a server, runs the checks, and stops it. Returns a summary.
fn judged(
    kind: Kind,
    options: &Options,
    root: &Path,
    folder: &Path,
    program: &Path,
) -> Result<String> {
    let server = Running::start(kind, folder)?;
    let mut command = Command::new(install::python(folder));
    command
        .arg(root.join("tests/servers/check.py"))
        .args([&kind.to_string(), server.url()])
        .args([program, &work(kind, folder)])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(options.quick.then_some("--quick"))
        .args(options.checks.iter().map(|name| format!("--only={name}")));
    let status = command.status().context("cannot start python")?;
    if status.success() {
        Ok(format!("{}, all checks passed", kind.version()))
    } else {
        fail(format!("{}, see above and {}", kind.version(), server.log().display()))
    }
}

fn work(kind: Kind, folder: &Path) -> PathBuf {
    folder.join(format!("work-{kind}"))
}
