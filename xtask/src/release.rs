//! Builds what a release consists of, from a commit, in folders of its own: wheels, the command with
//! the list of what it is made of, source packages, and their checksums.
//!
//! The same commit gives the same bytes, wherever it is built: sources are those of the commit, times
//! are its time, and the compilers are told to name the folders of the build by fixed names. With
//! `--verify` it is built twice, in folders and with a Cargo home of their own, and compared.
//! Why it is done like this: docs/decisions/0056-releases.md.

mod check;
mod checkout;
mod folders;
mod install;
mod machine;
mod sbom;
mod sources;
mod tools;
mod vendor;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::Workspace,
};
use checkout::Checkout;
use machine::Machine;
use tools::Tools;

/// Build wheels, the command and source packages from the commit that is checked out.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// Folder for the files, which must not exist yet or be empty.
    #[arg(long, required = true)]
    out: Option<PathBuf>,
    /// Build everything a second time elsewhere, and compare the bytes.
    #[arg(long)]
    verify: bool,
    /// Machines to build for.
    #[arg(long, value_delimiter = ',', default_values = ["x86_64", "aarch64"])]
    machines: Vec<Machine>,
    /// Fail where the standard library for aarch64 is missing, instead of naming it as left out.
    #[arg(long)]
    require_aarch64: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    Install(install::Options),
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(Action::Install(options)) = &options.action {
        return install::run(options);
    }
    let out = options.out.as_deref().context("--out DIR is missing")?;
    let here = Workspace::here()?;
    let (root, target) = (here.root()?, here.target()?);
    let out = empty_folder(out)?;
    tell_changes(&root)?;
    let machines = available(&options.machines, options.require_aarch64)?;
    let tools = Tools::install(&root, &target.join("release-tools"))?;

    // The second has longer names, and has to fetch what it is built of.
    let first = Checkout::new(&root, &target.join("release-build/first"), None)?;
    build(&first, &machines, &tools)?;
    check::all(&first, &machines, &tools)?;
    if options.verify {
        let folder = target.join("release-build/second-in-another-folder");
        let second = Checkout::new(&root, &folder, Some("cargo-home"))?;
        build(&second, &machines, &tools)?;
        compare(&first, &second)?;
    }
    first.publish(&out)?;
    for machine in options.machines.iter().filter(|it| !machines.contains(it)) {
        println!("release: left out: {machine}: {}", machine.missing());
    }
    println!("release: {}", out.display());
    Ok(())
}

fn build(checkout: &Checkout, machines: &[Machine], tools: &Tools) -> Result<()> {
    checkout.source_packages(tools)?;
    for machine in machines {
        checkout.wheel(*machine, tools)?;
        checkout.program(*machine, tools)?;
    }
    checkout.sums()
}

/// Those machines whose standard library is installed.
fn available(machines: &[Machine], require: bool) -> Result<Vec<Machine>> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for machine in machines {
        let list = if machine.has_library()? { &mut there } else { &mut missing };
        list.push(*machine);
    }
    match (missing.first(), there.is_empty()) {
        (Some(machine), empty) if require || empty => {
            fail(format!("{machine}: {}", machine.missing()))
        }
        _ => Ok(there),
    }
}

fn empty_folder(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))?;
    let mut entries = fs::read_dir(folder).context(format_args!("{}", folder.display()))?;
    if entries.next().is_some() {
        return fail(format!("{} is not empty; name a new folder", folder.display()));
    }
    folder.canonicalize().context(format_args!("{}", folder.display()))
}

/// A release is made of a commit: what is changed beside it is not in it.
fn tell_changes(root: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=no"]).current_dir(root);
    let changed = shell::output(&mut git)?;
    if !changed.trim().is_empty() {
        println!("release: changes that are not committed are left out:\n{}", changed.trim_end());
    }
    Ok(())
}

/// Compares every file of two builds.
fn compare(first: &Checkout, second: &Checkout) -> Result<()> {
    let sums = |checkout: &Checkout| {
        let file = checkout.files().join("SHA256SUMS");
        fs::read_to_string(&file).context(format_args!("cannot read {}", file.display()))
    };
    let (one, other) = (sums(first)?, sums(second)?);
    let differing: Vec<_> =
        one.lines().filter(|line| !other.lines().any(|it| it == *line)).collect();
    if differing.is_empty() && one.lines().count() == other.lines().count() {
        println!("release: built twice with the same bytes: {} files", one.lines().count());
        return Ok(());
    }
    let places = (first.files().display(), second.files().display());
    let names = differing.join("\n");
    fail(format!("two builds differ, in {} and {}:\n{names}", places.0, places.1))
}
