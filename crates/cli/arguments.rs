//! What is said about arguments that are no command, in the words of this command.
use fdconvert_core::ShownText;
use std::io::{self, Write};

/// What the parser says of a number, and what a person can act on.
const WORDS: [(&str, &str); 5] = [
    ("invalid digit found in string", "this is not a whole number; write digits only"),
    ("invalid float literal", "this is not a number"),
    ("cannot parse integer from empty string", "the number is missing"),
    ("number too large to fit in target type", "this number is too large"),
    ("number too small to fit in target type", "this number is too small"),
];

/// The text of an error, of help or of the version, safe for a terminal.
pub(crate) fn text(error: &clap::Error) -> String {
    ShownText(translated(error.render().to_string())).to_string()
}

fn translated(text: String) -> String {
    WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Prints it where it belongs. Where help cannot be printed, nothing else can.
pub(crate) fn print(error: &clap::Error) {
    if !error.use_stderr() {
        let _ = error.print();
        return;
    }
    let plain = error.render().to_string();
    // Colours are escape sequences too, so a text with others goes without them.
    let is_safe = ShownText(&plain).to_string() == plain;
    let text = if is_safe && console::colors_enabled_stderr() {
        translated(error.render().ansi().to_string())
    } else {
        text(error)
    };
    let _ = io::stderr().write_all(text.as_bytes());
}
