//! Runs what the README and the guide show, and compares what they say comes out.
//!
//! Every page starts in an empty folder of its own. Its `console` blocks run in order in one shell,
//! so that a variable, `cd` and `$?` mean what they do in a terminal; its `python` blocks then run
//! as one program in the same folder, where the package can be imported. Each command has to end
//! with status 0, unless the page shows its `error: ` or the next command is `echo $?`. A block
//! without any output promises none.
//!
//! `trycmd` would compare blocks, too, but starts programs without a shell, and the guide has
//! pipes, loops and files that are written for the occasion.

mod compare;
mod page;
mod python;
mod script;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    failure::{Context, Result, fail},
    workspace::Workspace,
};
use page::Page;
use python::Python;

/// Run the commands that the README and the guide show, and compare their output.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the output that was seen into pages that say something else.
    #[arg(long)]
    update: bool,
    /// Pages to run, instead of README.md and all below docs/guide.
    pages: Vec<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let here = Workspace::here()?;
    let (root, target) = (here.root()?, here.target()?);
    let program = newest_program(&target)?;
    let path = with_program_first(&program)?;
    let python = Python::find(&target);
    println!("guide: with {}", program.display());
    match &python {
        Ok(python) => println!("guide: Python blocks with {}", python.path().display()),
        Err(why) => println!("guide: Python blocks are not run: {why}"),
    }
    let pages = if options.pages.is_empty() { all_pages(&root)? } else { options.pages.clone() };
    let mut failures = Vec::new();
    for file in pages {
        let text = fs::read_to_string(&file).context(format_args!("{}", file.display()))?;
        let page = Page::parse(&text);
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let folder = target.join("guide").join(name.replace(['/', '.'], "-"));
        recreate(&folder)?;
        let seen = script::run(&page, &folder, &path)?;
        let failed = script::failures(&name, &page, &seen);
        let mut wrong = compare::page(&page, &seen);
        wrong.retain(|step| failed.iter().all(|(of, _)| of != step));
        let of_python = python.as_ref().map_or(Ok(()), |python| python.run(&page, &folder, &path));
        let n_python = page.n_python_lines();
        println!("guide: {name}: {} commands, {n_python} lines of Python", page.steps().count());
        if options.update && !wrong.is_empty() {
            let updated = page.with_outputs(&wrong, &seen);
            fs::write(&file, updated).context(format_args!("{}", file.display()))?;
            println!("guide: {name}: {} outputs were updated", wrong.len());
        } else {
            failures.extend(wrong.iter().map(|step| compare::explain(&name, &page, &seen, *step)));
        }
        failures.extend(failed.into_iter().map(|(_, what)| what));
        failures.extend(of_python.err().map(|what| format!("{name}: Python: {what}")));
    }
    if failures.is_empty() {
        return Ok(());
    }
    let n = failures.len();
    fail(format!("{}\n\nguide: {n} times not as shown", failures.join("\n\n")))
}

/// The command as it was built last: the guide is not worth a build of its own.
fn newest_program(target: &Path) -> Result<PathBuf> {
    let built = ["release", "debug"].map(|profile| target.join(profile).join("fdconvert"));
    let changed =
        |path: &PathBuf| -> Option<SystemTime> { fs::metadata(path).ok()?.modified().ok() };
    let there = built.iter().filter(|path| path.is_file());
    there
        .max_by_key(|path| changed(path))
        .cloned()
        .context("fdconvert is not built; `cargo build --workspace` builds it")
}

/// The search path of the shell, in which `fdconvert` is the program that was built.
fn with_program_first(program: &Path) -> Result<OsString> {
    let folder = program.parent().map(Path::to_path_buf);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = folder.into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(folders).context("the search path cannot be extended")
}

fn all_pages(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("docs/guide");
    let entries = fs::read_dir(&folder).context(format_args!("{}", folder.display()))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut pages: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    pages.sort();
    pages.insert(0, root.join("README.md"));
    Ok(pages)
}

/// An empty folder, whatever an earlier run left there.
fn recreate(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))
}
