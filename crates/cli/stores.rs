//! Options of stores as typed.
use clap::Command;

/// Commands that open no URLs.
const WITHOUT_STORES: [&str; 5] = ["completions", "fractal", "gpu", "man", "sample"];

/// Hides the options of stores in the help of commands that do not use them; they remain accepted,
/// without effect.
pub(crate) fn hide_where_idle(command: Command) -> Command {
    let Some(option) = command.get_arguments().find(|arg| arg.get_id() == "store_option") else {
        return command;
    };
    // An option of a command itself is not replaced by a common one.
    let hidden = option.clone().hide(true);
    WITHOUT_STORES.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |without| without.arg(hidden.clone()))
    })
}

/// Parses `NAME=VALUE`.
pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE; write e.g. region=eu-west-1")),
    }
}
