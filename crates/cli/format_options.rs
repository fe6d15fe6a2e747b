//! Flags from the options that formats declare: a new format brings its own.
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};
use fdconvert::ByteCount;
use fdconvert_core::{FormatOption, OptionKind, OptionValues};

fn all() -> Vec<(&'static str, FormatOption)> {
    let formats = fdconvert_reader::formats();
    let mut options: Vec<(&'static str, FormatOption)> = Vec::new();
    for format in &formats {
        for option in format.options() {
            // Two formats may share an option, if it is the same in both.
            if options.iter().all(|(_, known)| known.name != option.name) {
                options.push((format.name(), *option));
            }
        }
    }
    options
}

/// Commands with formats' options.
const WITH_OPTIONS: [&str; 2] = ["pack", "plan"];

/// The command with the options of one format, and that format.
const UNPACK: (&str, &str) = ("unpack", "folder");

/// Returns true if a command has the options of a format.
fn has(command: &str, format: &str) -> bool {
    WITH_OPTIONS.contains(&command) || UNPACK == (command, format)
}

/// Adds the formats' options to the command line.
pub(crate) fn add_to(command: Command) -> Command {
    let arg = |(format, option): (&str, FormatOption)| {
        let arg = Arg::new(option.name)
            .long(option.name.replace('_', "-"))
            .help(option.help)
            .hide_short_help(true)
            .help_heading(format!("Format {format}"));
        match option.kind {
            OptionKind::Flag => arg.action(ArgAction::SetTrue),
            OptionKind::Bytes => {
                arg.value_name("SIZE").value_parser(clap::value_parser!(ByteCount))
            }
            OptionKind::Text(name) => arg.value_name(name),
            OptionKind::Choice(words) => {
                arg.value_name("WORD").value_parser(PossibleValuesParser::new(words))
            }
        }
    };
    let names: Vec<String> = fdconvert_reader::formats()
        .iter()
        .map(|format| format!("  {:8} {}", format.name(), format.about()))
        .collect();
    let formats = format!("Formats:\n{}", names.join("\n"));
    let args = |command: &str| {
        let own = all().into_iter().filter(|(format, _)| has(command, format));
        own.map(arg).collect::<Vec<Arg>>()
    };
    let command = command.mut_subcommand(UNPACK.0, |unpack| unpack.args(args(UNPACK.0)));
    WITH_OPTIONS.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |pack| pack.args(args(name)).after_long_help(formats.clone()))
    })
}

/// Returns the given options of formats.
pub(crate) fn values(matches: &ArgMatches) -> OptionValues {
    let mut values = OptionValues::default();
    let Some((command, pack)) = matches.subcommand() else { return values };
    for (_, option) in all().into_iter().filter(|(format, _)| has(command, format)) {
        let value = match option.kind {
            OptionKind::Flag => pack.get_flag(option.name).then(String::new),
            OptionKind::Bytes => {
                pack.get_one::<ByteCount>(option.name).map(|bytes| bytes.0.to_string())
            }
            OptionKind::Choice(_) | OptionKind::Text(_) => {
                pack.get_one::<String>(option.name).cloned()
            }
        };
        if let Some(value) = value {
            values.0.insert(option.name.to_owned(), value);
        }
    }
    values
}
