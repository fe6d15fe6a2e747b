//! What is asked of the files of a release before they are given out.

use std::{path::Path, process::Command};

use super::{
    checkout::{Checkout, GLIBC},
    folders,
    machine::Machine,
    tools::Tools,
};
use crate::{
    failure::{Result, fail},
    shell,
};

/// Checks all files. The first that fails is an error.
pub(super) fn all(checkout: &Checkout, machines: &[Machine], tools: &Tools) -> Result<()> {
    let names = folders::names(checkout.files())?;
    let package = format!("{}.tar.gz", checkout.name());
    let mut twine = Command::new(tools.program("twine"));
    twine.args(["--no-color", "check", "--strict"]).current_dir(checkout.files());
    let is_uploaded = |name: &&String| name.ends_with(".whl") || **name == package;
    shell::run(twine.args(names.iter().filter(is_uploaded)))?;
    for machine in machines {
        for name in names.iter().filter(|name| name.ends_with(&format!("{machine}.whl"))) {
            wheel(&checkout.files().join(name), *machine, tools)?;
        }
        program(&checkout.linked(*machine), *machine)?;
    }
    Ok(())
}

/// A wheel keeps to what its name promises, and says what it is made of.
fn wheel(file: &Path, machine: Machine, tools: &Tools) -> Result<()> {
    let (major, minor) = GLIBC;
    let mut show = Command::new(tools.program("auditwheel"));
    let said = shell::output(show.arg("show").arg(file))?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let tag = format!("manylinux_{major}_{minor}_{machine}");
    if !said.contains(&format!("is consistent with the following platform tag: \"{tag}\"")) {
        return fail(format!("auditwheel does not find {tag} in {}:\n{said}", file.display()));
    }
    let mut list = Command::new(tools.program("python"));
    let listed = shell::output(list.args(["-m", "zipfile", "--list"]).arg(file))?;
    if !listed.contains(".dist-info/sboms/") {
        return fail(format!("{} has no list of what it is made of", file.display()));
    }
    println!("release: {}: {tag}, with its list of crates", file.display());
    Ok(())
}

/// A command runs with the C library that it is for, and says what it is made of.
fn program(file: &Path, machine: Machine) -> Result<()> {
    let readelf = |option: &str| shell::output(Command::new("readelf").arg(option).arg(file));
    if !readelf("--sections")?.contains(".dep-v0") {
        return fail(format!("{} has no list of its crates", file.display()));
    }
    let versions = readelf("--version-info")?;
    let newest = versions.split_whitespace().filter_map(glibc).max();
    match newest {
        Some(newest) if newest <= GLIBC => {
            println!("release: {machine}: the command needs glibc {}.{}", newest.0, newest.1);
        }
        other => return fail(format!("{}: glibc {other:?}, not {GLIBC:?}", file.display())),
    }
    if machine.is_here() { shell::run(Command::new(file).arg("--version")) } else { Ok(()) }
}

/// The version in a word such as `GLIBC_2.28`.
fn glibc(word: &str) -> Option<(u32, u32)> {
    let mut numbers = word.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let words = ["GLIBC_2.2.5", "GLIBC_2.17", "GCC_3.0", "GLIBC_2.9", "Flags:"];
        assert_eq!(words.into_iter().filter_map(glibc).max(), Some((2, 17)));
    }
}
