//! `fdconvert man`: a page for the command and for each of its subcommands.
use crate::{Outcome, Session, output};
use clap::{Args, Command};
use clap_mangen::Man;
use fdconvert_core::{Error, Result};
use fdconvert_storage::{create_new, replace};
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command, e.g. `pack` or `fractal search` [default: the page about all of them]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder, e.g. ~/.local/share/man/man1
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) all: Option<PathBuf>,
    /// Overwrite existing pages
    #[arg(long, requires = "all")]
    pub(crate) overwrite: bool,
}

pub(crate) fn run(args: &ManArgs, mut top: Command, session: &Session) -> Result<Outcome> {
    // Gives every command its full name, `fdconvert-fractal-search`.
    top.build();
    if let Some(folder) = &args.all {
        fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
        let n = write_all(&top, folder, args.overwrite)?;
        let n = output::counted(n, "page");
        session.print(&format!("wrote {n} into {}\n", output::path(folder)))?;
        return Ok(Outcome::Complete);
    }
    let mut command = &top;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let mut names: Vec<_> = shown(command).map(Command::get_name).collect();
            names.sort_unstable();
            let what = match names.is_empty() {
                true => format!("`{}` has no further commands", command.get_name()),
                false => format!("unknown `{name}`; expected one of: {}", names.join(", ")),
            };
            Error::usage("COMMAND", what)
        })?;
    }
    session.print_bytes(&page(command)?)?;
    Ok(Outcome::Complete)
}

/// The commands below one, without those that only explain others.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn page(command: &Command) -> Result<Vec<u8>> {
    // A page has room for what the short help leaves out.
    let mut command = command.clone().mut_args(|arg| arg.hide_short_help(false));
    if command.find_subcommand("help").is_some() {
        // It has no page.
        command = command.mut_subcommand("help", |help| help.hide(true));
    }
    let usage = command.render_usage().to_string();
    // Which the renderer of pages has no place for before the options.
    let texts = [
        command.get_before_long_help().or_else(|| command.get_before_help()),
        command.get_after_long_help().or_else(|| command.get_after_help()),
    ];
    let texts: Vec<_> = texts.into_iter().flatten().map(ToString::to_string).collect();
    let command = command.after_long_help(texts.join("\n\n").trim_end().to_owned());
    let mut page = Vec::new();
    let version = concat!("fdconvert ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).source(version).manual("fdconvert");
    man.render(&mut page).map_err(Error::io("render", "the manual page"))?;
    Ok(with_synopsis(&String::from_utf8_lossy(&page), &usage).into_bytes())
}

/// The page with the usage as its synopsis: the one that comes with it names dozens of options and
/// not their values.
fn with_synopsis(page: &str, usage: &str) -> String {
    const START: &str = ".SH SYNOPSIS\n";
    const END: &str = ".SH DESCRIPTION\n";
    let found = page.split_once(START);
    let Some((before, (_, after))) =
        found.and_then(|(before, rest)| Some((before, rest.split_once(END)?)))
    else {
        return page.to_owned();
    };
    let usage = usage.trim_start_matches("Usage:").replace('\\', r"\e").replace('-', r"\-");
    let lines: Vec<&str> = usage.lines().map(str::trim).collect();
    format!("{before}{START}{}\n{END}{after}", lines.join("\n.br\n"))
}

/// Writes the page of a command and those below it; gives how many there are.
fn write_all(command: &Command, folder: &Path, overwrite: bool) -> Result<u64> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    let page = page(command)?;
    if overwrite {
        replace(&path, &page)?;
    } else {
        create_new(&path, &page)?;
    }
    let mut n_written = 1;
    for below in shown(command) {
        n_written += write_all(below, folder, overwrite)?;
    }
    Ok(n_written)
}
