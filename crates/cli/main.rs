//! The `fdconvert` command: parse, validate, call one library function, print, exit.
#![forbid(unsafe_code)]
// The command is the one place that talks to people.
#![allow(clippy::print_stderr)]

mod args;
mod format_options;
mod formula;
mod fractal;
mod index;
mod inspect;
mod output;
mod pack;
mod plan;
mod progress;
mod request;
mod sources;
mod summary;
mod unpack;
mod verify;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use fdconvert_core::{Class, Error, Result};
use fdconvert_pipeline::Cancel;
use std::{io, process::ExitCode};

/// How a command that ran to its end found the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Complete,
    /// Samples were skipped or damage was found.
    DataProblems,
}

fn main() -> ExitCode {
    let command = format_options::add_to(Cli::command());
    let matches = command.get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let cancel = Cancel::default();
    stop_on_signals(&cancel);
    match run(&cli, &matches, &cancel) {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::DataProblems) => ExitCode::from(1),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.chain());
            ExitCode::from(if error.class() == Class::Cancelled { 130 } else { 2 })
        }
    }
}

fn run(cli: &Cli, matches: &clap::ArgMatches, cancel: &Cancel) -> Result<Outcome> {
    match &cli.command {
        Command::Pack(args) => pack::run(args, &format_options::values(matches), cancel),
        Command::Plan(args) => plan::run(args, &format_options::values(matches), cancel),
        Command::Merge(args) => plan::merge(args, cancel),
        Command::Index(args) => index::run(args),
        Command::Fractal(args) => fractal::run(args, cancel),
        Command::Unpack(args) => unpack::run(args, cancel),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args, cancel),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = format_options::add_to(Cli::command());
            clap_complete::generate(*shell, &mut command, "fdconvert", &mut script);
            output::print_bytes(&script)?;
            Ok(Outcome::Complete)
        }
        Command::Man => {
            let mut page = Vec::new();
            let man = clap_mangen::Man::new(format_options::add_to(Cli::command()));
            man.render(&mut page).map_err(Error::io("render", "the manual page"))?;
            output::print_bytes(&page)?;
            Ok(Outcome::Complete)
        }
    }
}

/// The first signal asks to stop, the second stops.
fn stop_on_signals(cancel: &Cancel) {
    let cancel = cancel.clone();
    let installed = ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
        eprintln!("stopping; once more to stop at once and leave the unfinished file behind");
    });
    if let Err(cause) = installed {
        eprintln!("warning: no handler for Ctrl-C: {}", io::Error::other(cause));
    }
}
