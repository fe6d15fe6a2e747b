//! Checks the place and the name of an output.
use fdconvert_core::{Error, Format, Layout, OptionRef, Result, option};
use fdconvert_fractal::Recipe;
use fdconvert_pipeline::Run;
use fdconvert_storage::{place::is_url, refuse_unwritable};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Place and mode of a run.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) out: &'a Path,
    pub(crate) run: &'a Run,
    /// True if nothing is written.
    pub(crate) is_dry: bool,
}

/// Refuses names that suggest something that the run does not do. One that `unpacks` has no choice
/// of a format.
pub(crate) fn check_name(out: &Path, format: &dyn Format, unpacks: bool) -> Result<()> {
    let is_file = format.capabilities().layout == Layout::File;
    let written = out.as_os_str().as_encoded_bytes();
    if is_file && written.ends_with(b"/") && !out.is_dir() {
        let what = format!(
            "{} has a slash at its end, as only folders do, and a {} is one file; leave the slash \
             out",
            out.display(),
            format.name()
        );
        return Err(Error::usage("output", what));
    }
    let extension = out.extension().unwrap_or_default();
    if is_url(out) && format.capabilities().layout == Layout::Images {
        let what = format!(
            "{} is in a store, and single files are written into folders only: name a folder",
            out.display()
        );
        if unpacks {
            return Err(Error::usage("output", what + "; `pack` writes shards into stores"));
        }
        return Err(Error::usage("output", what).cure("to pack shards", option::FORMAT.with("wds")));
    }
    if format.is_sharded() && extension.eq_ignore_ascii_case("tar") && !out.is_dir() {
        let what = format!(
            "{} would become a folder of tar shards; give it the name of a folder, e.g. {}",
            out.display(),
            out.with_extension("wds").display()
        );
        return Err(Error::usage("output", what));
    }
    Ok(())
}

/// Checks the outputs of a run for the name `out`.
pub(crate) fn check_each(
    outputs: &[PathBuf],
    out: &Path,
    inputs: &[&PathBuf],
    format: &dyn Format,
    overwrite: bool,
) -> Result<()> {
    for output in outputs {
        check_kind(output, format)?;
        // Files of splits have separate names, which sources may have, too.
        if output != out {
            check_place("output", output, inputs.iter().copied(), overwrite)?;
        }
    }
    Ok(())
}

/// Refuses to write a file in place of a folder, and a folder in place of a file: hours of packing
/// would end with this error.
fn check_kind(out: &Path, format: &dyn Format) -> Result<()> {
    if is_url(out) {
        return Ok(());
    }
    let name = format.name();
    let what = if format.capabilities().layout == Layout::File {
        // A link is replaced, wherever it leads.
        let is_folder = fs::symlink_metadata(out).is_ok_and(|found| found.is_dir());
        is_folder.then(|| format!("is a folder, and a {name} is one file; name another output"))
    } else {
        let is_file = fs::metadata(out).is_ok_and(|found| !found.is_dir());
        is_file.then(|| format!("is a file, and {name} is written into a folder; move it away"))
    };
    match what {
        Some(what) => Err(Error::usage("output", format!("{} {what}", out.display()))),
        None => Ok(()),
    }
}

/// Refuses outputs that the next run would read as a part of its source, and those that would
/// replace it; `option` names the output.
pub(crate) fn check_place<'a>(
    option: impl Into<OptionRef>,
    out: &Path,
    inputs: impl Iterator<Item = &'a PathBuf>,
    overwrite: bool,
) -> Result<()> {
    if out == Path::new("-") {
        let what = "nothing is packed to standard output; name a file or a folder (./- for one \
                    with that name)";
        return Err(Error::usage(option, what));
    }
    refuse_unwritable(out)?;
    let inputs = inputs.filter(|input| Recipe::in_place_of(input).is_none());
    // Local and remote paths are never the same.
    let inputs = inputs.filter(|input| is_url(input) == is_url(out));
    let real_out = resolve(out)?;
    for input in inputs {
        let real = match is_url(input) {
            true => input.clone(),
            false => fs::canonicalize(fdconvert_reader::without_version(input))
                .map_err(Error::io("open", input))?,
        };
        let (out, input) = (out.display(), input.display());
        let what = if real_out == real {
            format!("{out} is its own source; choose another place")
        } else if real_out.starts_with(&real) {
            format!(
                "{out} is in {input}, which the next run would pack with it; choose a place outside"
            )
        } else if overwrite && real.starts_with(&real_out) {
            format!("{input} is in {out}, which `overwrite` replaces; choose another place")
        } else {
            continue;
        };
        return Err(Error::usage(option, what));
    }
    Ok(())
}

/// Returns the real path, even of a missing file. A URL is one.
fn resolve(path: &Path) -> Result<PathBuf> {
    if is_url(path) {
        return Ok(path.to_path_buf());
    }
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        let known = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        match fs::canonicalize(known) {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::io("access", known)(cause)),
        }
        let Some((parent, name)) = there.parent().zip(there.file_name()) else {
            return Ok(path.to_path_buf());
        };
        missing.push(name);
        there = parent;
    }
}
