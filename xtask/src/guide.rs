//! Runs the commands of the documentation pages, and compares their output.
//!
//! Every page starts in an empty folder. Its `console` blocks run in order in one shell, so that a
//! variable, `cd` and `$?` work as in a terminal; its `python` blocks then run as one program in
//! the same folder, where the package can be imported. Each command must end with status 0, unless
//! the page shows its `error: ` or the next command is `echo $?`. A block without any output is not
//! compared.
//!
//! `sh` blocks, and others with `no-run: REASON` after the language, are not run. Each must have a
//! reason; the reasons are counted at the end.
//!
//! `trycmd` would compare blocks, too, but starts programs without a shell, and the guide has
//! pipes, loops and heredocs.

mod compare;
mod page;
mod python;
mod reasons;
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
use reasons::Reasons;

/// Run the commands that the pages show, and compare their output.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the actual output into pages that differ.
    #[arg(long)]
    update: bool,
    /// Pages to run, instead of all Markdown of the repository.
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
    let mut left_out = Reasons::default();
    for file in pages {
        let text = fs::read_to_string(&file).context(format_args!("{}", file.display()))?;
        let page = Page::parse(&text);
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        failures.extend(left_out.count(&name, &page));
        if !page.runs() {
            continue;
        }
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
    print!("{left_out}");
    if failures.is_empty() {
        return Ok(());
    }
    let n = failures.len();
    fail(format!("{}\n\nguide: {n} times not as shown", failures.join("\n\n")))
}

/// Returns the most recently built command: the guide is not worth a separate build.
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

/// Returns the search path of the shell, with the built `fdconvert` first.
fn with_program_first(program: &Path) -> Result<OsString> {
    let folder = program.parent().map(Path::to_path_buf);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = folder.into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(folders).context("the search path cannot be extended")
}

/// Returns all Markdown files of the repository, except in folders of tools.
fn all_pages(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut pages, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).context(format_args!("{}", folder.display()))?;
        for entry in entries {
            let entry = entry.context(format_args!("{}", folder.display()))?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_left_behind =
                matches!(&*name, "target" | "corpus" | "artifacts" | "node_modules");
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.starts_with('.') && !is_left_behind {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Creates an empty folder.
fn recreate(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))
}
