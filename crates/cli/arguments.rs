//! Errors about invalid arguments, in this command's words.
use fdconvert_core::ShownText;
use std::{
    ffi::OsString,
    io::{self, Write},
};

/// The parser's descriptions of numbers, and more helpful ones.
const WORDS: [(&str, &str); 5] = [
    ("invalid digit found in string", "this is not a whole number; write digits only"),
    ("invalid float literal", "this is not a number"),
    ("cannot parse integer from empty string", "the number is missing"),
    ("number too large to fit in target type", "this number is too large"),
    ("number too small to fit in target type", "this number is too small"),
];

/// Makes `help -h` and `help pack --help` mean `help` and `help pack`: the parser takes arguments
/// after `help` for names of commands.
pub(crate) fn without_help_of_help(args: &[OsString]) -> Vec<OsString> {
    let asks_for_help = args.get(1).is_some_and(|command| command == "help");
    let is_help = |arg: &&OsString| *arg == "-h" || *arg == "--help";
    args.iter().filter(|arg| !asks_for_help || !is_help(arg)).cloned().collect()
}

/// Returns the text of an error, of help or of the version, safe for a terminal.
pub(crate) fn text(error: &clap::Error) -> String {
    ShownText(translated(error.render().to_string())).to_string()
}

fn translated(text: String) -> String {
    WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Prints it to its usual stream. If help cannot be printed, nothing else can.
pub(crate) fn print(error: &clap::Error) {
    if !error.use_stderr() {
        let _ = error.print();
        return;
    }
    let plain = error.render().to_string();
    // Colours are escape sequences, too, so that a text with others is printed without them.
    let is_safe = ShownText(&plain).to_string() == plain;
    let text = if is_safe && console::colors_enabled_stderr() {
        translated(error.render().ansi().to_string())
    } else {
        text(error)
    };
    let _ = io::stderr().write_all(text.as_bytes());
}
