//! From an argument list to an exit status or a result.
use crate::{
    Outcome, Session,
    args::{Cli, Command},
    arguments, bench, format_options, fractal, gpu, index, inspect, man, out, output, pack, plan,
    profile, sample, unpack, verify,
};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use fdconvert_core::{Class, Error, Result};
use std::{ffi::OsString, fmt, io};

/// A command that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Whether all data were fine; else samples were skipped or damage was found.
    pub complete: bool,
    /// What went to standard output, if the session captures it.
    pub output: Vec<u8>,
}

/// Why a command did not run to its end.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are not a command, or they ask for help: what there is to say about it.
    Arguments(String),
    /// The command failed.
    Failed(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(text) => f.write_str(text),
            Self::Failed(error) => f.write_str(&error.chain()),
        }
    }
}

impl std::error::Error for Failure {}

/// The command as a process of its own: prints, stops on Ctrl-C, and returns the exit status.
/// `args` begin with the name of the program.
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
    let session = Session::standard();
    session.set_command(&args);
    stop_on_signals(&session);
    let ended = carry_out(&cli, &matches, &session);
    for left in fdconvert_storage::left_files() {
        session.say(&format!("warning: {left}"));
    }
    match ended {
        Ok(Outcome::Complete) => 0,
        Ok(Outcome::DataProblems) => 1,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            session.say(&format!("error: {}", error.chain()));
            if error.class() == Class::Cancelled { 130 } else { 2 }
        }
    }
}

/// The command within another program. Signals are left alone and nothing is printed, unless the
/// session is [`Session::standard`]. `args` begin with the name of the program.
///
/// # Errors
/// `Arguments` for what cannot be parsed, `Failed` with what went wrong.
pub fn run<I, A>(args: I, session: &Session) -> Result<Finished, Failure>
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let parsed = parse(&args);
    let (cli, matches) = parsed.map_err(|error| Failure::Arguments(arguments::text(&error)))?;
    session.set_command(&args);
    // Rayon's global pool would outlive this call, and be missing in a child of a later fork.
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool = pool
        .map_err(|cause| Failure::Failed(Error::io("start", "threads")(io::Error::other(cause))))?;
    let outcome = pool.install(|| carry_out(&cli, &matches, session)).map_err(Failure::Failed)?;
    Ok(Finished { complete: outcome == Outcome::Complete, output: session.take_output() })
}

fn parse(args: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    let args = arguments::without_help_of_help(args);
    let matches = format_options::add_to(Cli::command()).try_get_matches_from(args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli, matches))
}

fn carry_out(cli: &Cli, matches: &ArgMatches, session: &Session) -> Result<Outcome> {
    out::check_parents(&cli.command)?;
    match &cli.command {
        Command::Pack(args) => pack::run(args, &format_options::values(matches), session),
        Command::Plan(args) => plan::run(args, &format_options::values(matches), session),
        Command::Merge(args) => plan::merge(args, session),
        Command::Index(args) => index::run(args, session),
        Command::Fractal(args) => fractal::run(args, session),
        Command::Profile(args) => profile::run(args, session),
        Command::Bench(args) => bench::run(args, session),
        Command::Unpack(args) => unpack::run(args, session),
        Command::Inspect(args) => inspect::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Gpu(args) => gpu::run(args, session),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = format_options::add_to(Cli::command());
            clap_complete::generate(*shell, &mut command, "fdconvert", &mut script);
            session.print_bytes(&script)?;
            Ok(Outcome::Complete)
        }
        Command::Man(args) => man::run(args, session),
        Command::Sample(args) => sample::run(args, session),
    }
}

/// The first signal asks to stop, the second stops.
fn stop_on_signals(session: &Session) {
    let (cancel, screen) = (session.cancel().clone(), session.screen().clone());
    let installed = ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
        let hint = "stopping; once more to stop at once and leave the unfinished file behind";
        // Above the bar, which would overwrite it.
        screen.say(hint);
    });
    if let Err(cause) = installed {
        session.say(&format!("warning: no handler for Ctrl-C: {}", io::Error::other(cause)));
    }
}
