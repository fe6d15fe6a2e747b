//! A tour of the command on the images that come with the repository.
//!
//! Nothing is hidden: each command line is printed before it runs and can be pasted into a
//! terminal. The tour ends with comparisons, so it fails when a byte of an image is lost.

use std::{fs, path::Path, process::Command};

use crate::{
    failure::{Context, Result, fail},
    shell,
    workspace::Workspace,
};

const IMAGES: &str = "tests/fixtures/kodak";

pub(crate) fn run() -> Result<()> {
    // From the root, so that the printed paths are short and hold for the one who reads them.
    let here = Workspace::here()?;
    let (root, target) = (here.root()?, here.target()?);
    std::env::set_current_dir(&root).context(format_args!("cannot enter {}", root.display()))?;
    let target = target.strip_prefix(&root).unwrap_or(&target);

    // The one that was built with this program.
    let this = std::env::current_exe().context("cannot tell where this program lies")?;
    let program = this.with_file_name("fdconvert");
    let program = program.strip_prefix(&root).unwrap_or(&program);
    if !program.is_file() {
        return fail(format!("{} is missing; `make demo` builds it first", program.display()));
    }
    let fdconvert = |arguments: &[&Path]| shell::run(Command::new(program).args(arguments));

    let out = target.join("demo");
    recreate(&out)?;
    let images = Path::new(IMAGES);
    let (small, packed, again, same) = (
        out.join("small.beton"),
        out.join("kodak.beton"),
        out.join("again.beton"),
        out.join("same.beton"),
    );
    let unpacked = out.join("kodak");
    fdconvert(&args(&[&"pack", &images, &small, &"--jpeg-quality", &"90", &"--max-side", &"256"]))?;
    fdconvert(&args(&[&"pack", &images, &packed]))?;
    fdconvert(&args(&[&"inspect", &packed, &"--samples", &"3"]))?;
    fdconvert(&args(&[&"verify", &packed, &"--deep"]))?;
    fdconvert(&args(&[&"unpack", &packed, &unpacked]))?;
    fdconvert(&args(&[&"pack", &unpacked, &again]))?;
    // The files differ in the run that they record, which is of another source.
    fdconvert(&args(&[&"diff", &packed, &again]))?;
    fdconvert(&args(&[&"pack", &images, &same, &"--threads", &"1"]))?;

    let read = |path: &Path| fs::read(path).context(format_args!("cannot read {}", path.display()));
    if read(&packed)? != read(&same)? {
        return fail("two runs with the same input and options have written different files");
    }
    println!(
        "\nPacked, unpacked and packed again: the same samples. Packed twice: the same file, byte for \
         byte."
    );
    Ok(())
}

fn args<'a>(parts: &[&'a dyn AsRef<Path>]) -> Vec<&'a Path> {
    parts.iter().map(|part| (*part).as_ref()).collect()
}

/// An empty folder, whatever an earlier run left there.
fn recreate(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format_args!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).context(format_args!("cannot make {}", folder.display()))
}
