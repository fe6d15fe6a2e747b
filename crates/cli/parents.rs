//! Checks that the folders of outputs exist, before any work.
use crate::{args::Command, fractal::args::FractalCommand};
use fdconvert_core::{Error, Result};
use fdconvert_storage::place::is_url;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Refuses a command with an output in a missing folder: before minutes of work, not after.
pub(crate) fn check(command: &Command) -> Result<()> {
    // Stores have no folders; errors of writing to them are reported later.
    let outputs = outputs(command).into_iter().filter(|(_, path)| !is_url(path));
    for (option, path) in outputs {
        let Some(parent) = path.parent().filter(|it| !it.as_os_str().is_empty()) else { continue };
        match fs::metadata(parent) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let what = format!(
                    "{} is a file, and {} would be in it",
                    parent.display(),
                    path.display()
                );
                return Err(Error::usage(option, what));
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let what = format!(
                    "{}, where {} would be written, is missing; create that folder first (mkdir -p)",
                    parent.display(),
                    path.file_name().unwrap_or_default().display()
                );
                return Err(Error::usage(option, what));
            }
            Err(cause) => return Err(Error::io("access", parent)(cause)),
        }
    }
    Ok(())
}

/// Returns the outputs of a command, each with the name of its option.
fn outputs(command: &Command) -> Vec<(&'static str, &Path)> {
    let mut outputs: Vec<(&'static str, Option<&PathBuf>)> = Vec::new();
    match command {
        Command::Pack(args) => {
            let is_named = args.paths.len() > 1 || args.plan.is_some();
            outputs.push(("output", args.paths.last().filter(|_| is_named)));
        }
        Command::Plan(args) => {
            outputs.push(("--output", Some(&args.output)));
        }
        Command::Profile(args) => {
            outputs.push(("--output", args.output.as_ref()));
            outputs.push(("--report", args.report.as_ref()));
        }
        Command::Bench(args) => outputs.push(("--plot", args.plot.as_ref())),
        Command::Reproduce(args) => outputs.push(("--output", args.output.as_ref())),
        Command::Unpack(args) => outputs.push(("output", Some(&args.out))),
        Command::Sample(args) => outputs.push(("output", Some(&args.out))),
        Command::Stats(args) => outputs.push(("--html", args.html.as_ref())),
        Command::Sheet(args) => outputs.push(("output", Some(&args.out))),
        Command::FindDuplicates(args) => outputs.push(("--keys", args.keys.as_ref())),
        Command::Fractal(args) => outputs.push(match &args.command {
            FractalCommand::Search(args) => ("output", Some(&args.out)),
            FractalCommand::Render(args) => ("output", Some(&args.out)),
            FractalCommand::Sheet(args) => ("output", Some(&args.out)),
            FractalCommand::Census(args) => ("--csv", args.csv.as_ref()),
            FractalCommand::Recipes => ("output", None),
        }),
        Command::Append(_)
        | Command::Remove(_)
        | Command::Update(_)
        | Command::Log(_)
        | Command::Merge(_)
        | Command::Clean(_)
        | Command::Index(_)
        | Command::Inspect(_)
        | Command::View(_)
        | Command::Verify(_)
        | Command::Diff(_)
        | Command::Gpu(_)
        | Command::Completions { .. }
        | Command::Man(_) => {}
    }
    outputs.into_iter().filter_map(|(name, path)| Some((name, path?.as_path()))).collect()
}
