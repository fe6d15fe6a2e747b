//! From an argument list to an exit status or a result.
use crate::{
    Outcome, Session,
    args::{Cli, Command},
    arguments, bench, clean, diff, duplicates, edit, format_options, fractal, gpu, index, inspect,
    man, output, pack, parents, plan, profile, reproduce, sample, sheet, stats, unpack, verify,
    view,
};
use clap::{ArgMatches, FromArgMatches};
use fdconvert_core::{Class, Error, Result};
use std::{ffi::OsString, io, mem::ManuallyDrop};

/// Runs the command as a separate process would: prints, stops on Ctrl-C, and returns the exit
/// status. `args` begin with the name of the program.
pub fn main<I, A>(args: I) -> u8
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let (cli, matches) = match parse(&args) {
        Ok(parsed) => parsed,
        Err(error) => {
            arguments::print(&error);
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let session = Session::default();
    session.set_command(&args);
    stop_on_signals(&cli.command, &session);
    fdconvert_storage::fail_at_size_limit();
    let ended = carry_out(&cli, &matches, &session);
    for left in fdconvert_storage::left_files() {
        session.say(&format!("warning: {left}"));
    }
    match ended {
        Ok(Outcome::Complete) => 0,
        Ok(Outcome::DataProblems) => 1,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            // A stopped read may have surfaced as any error.
            let error = if session.cancel().is_cancelled() { Error::Cancelled } else { error };
            session.say(&format!("error: {}", error.spelled(output::flag)));
            if error.class() == Class::Cancelled { 130 } else { 2 }
        }
    }
}

fn parse(args: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    let args = arguments::without_help_of_help(args);
    let matches = Cli::whole().try_get_matches_from(args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli, matches))
}

fn carry_out(cli: &Cli, matches: &ArgMatches, session: &Session) -> Result<Outcome> {
    parents::check(&cli.command)?;
    fdconvert::set_store_options(cli.store_option.iter().cloned())?;
    match &cli.command {
        Command::Pack(args) => pack::run(args, &format_options::values(matches), session),
        Command::Plan(args) => plan::run(args, &format_options::values(matches), session),
        Command::Merge(args) => plan::merge(args, session),
        Command::Append(args) => edit::append(args, session),
        Command::Remove(args) => edit::remove(args, session),
        Command::Update(args) => edit::update(args, session),
        Command::Log(args) => edit::log(args, session),
        Command::Clean(args) => clean::run(args, session),
        Command::Index(args) => index::run(args, session),
        Command::Fractal(args) => fractal::run(args, session),
        Command::Profile(args) => profile::run(args, session),
        Command::Bench(args) => bench::run(args, session),
        Command::Reproduce(args) => reproduce::run(args, session),
        Command::Unpack(args) => unpack::run(args, &format_options::values(matches), session),
        Command::Inspect(args) => inspect::run(args, session),
        Command::View(args) => view::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Diff(args) => diff::run(args, session),
        Command::Stats(args) => stats::run(args, session),
        Command::Sheet(args) => sheet::run(args, session),
        Command::FindDuplicates(args) => duplicates::run(args, session),
        Command::Gpu(args) => gpu::run(args, session),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = Cli::whole();
            clap_complete::generate(*shell, &mut command, "fdconvert", &mut script);
            session.print_bytes(&script)?;
            Ok(Outcome::Complete)
        }
        Command::Man(args) => man::run(args, Cli::whole(), session),
        Command::Sample(args) => sample::run(args, session),
    }
}

/// Makes the first signal request a stop, and the second one stop the process.
fn stop_on_signals(command: &Command, session: &Session) {
    let (cancel, screen) = (session.cancel().clone(), session.screen().clone());
    // A viewer stops at once and leaves no files.
    let says = !matches!(command, Command::View(_));
    let installed = ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
        // The process ends: nothing is read again.
        let _for_good = ManuallyDrop::new(fdconvert::plumbing::stop_requests());
        if says {
            // Above the bar, which would overwrite it.
            screen.say("stopping; press Ctrl-C again to quit now (leaves the unfinished file)");
        }
    });
    if let Err(cause) = installed {
        session.say(&format!("warning: no handler for Ctrl-C: {}", io::Error::other(cause)));
    }
}
