//! Options of stores as typed.
use clap::Command;

/// Commands that open nothing behind a URL.
const WITHOUT_STORES: [&str; 5] = ["completions", "fractal", "gpu", "man", "sample"];

/// Takes the options of stores out of the help of commands that have no use for them; given there,
/// they are as idle as before the command's name.
pub(crate) fn hide_where_idle(command: Command) -> Command {
    let Some(option) = command.get_arguments().find(|arg| arg.get_id() == "store_option") else {
        return command;
    };
    // What a command has of its own is not replaced by what all commands have.
    let hidden = option.clone().hide(true);
    WITHOUT_STORES.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |without| without.arg(hidden.clone()))
    })
}

/// `NAME=VALUE`.
pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE; write e.g. region=eu-west-1")),
    }
}
