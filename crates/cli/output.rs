//! How numbers and names look in text, where it goes, and whether it is still read.
use fdconvert_core::{Error, Message, Shown, ShownText, Style};
pub(crate) use fdconvert_core::{bandwidth, images_per_s, size};
use std::{
    fmt::Display,
    io::{self, Write},
    path::Path,
};

/// Returns whether the reader of our output has gone away, which is not a failure.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// `1,281,167`.
pub(crate) fn count(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

/// `1 sample`, `12 classes`.
pub(crate) fn counted(n: u64, what: &str) -> String {
    let ending = match n {
        1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", count(n))
}

/// The line below those of a list that are shown: how many more there are, and whether the
/// document has all.
pub(crate) fn more(n_more: usize, n_listed: usize, left_out: u64) -> String {
    let n_more = count(n_more as u64 + left_out);
    match left_out {
        0 => format!("... and {n_more} more; --json lists all\n"),
        _ => format!("... and {n_more} more; --json lists the first {}\n", count(n_listed as u64)),
    }
}

/// A path in a text: on one line, whatever it is called.
pub(crate) fn path(path: &Path) -> String {
    Shown(path.display()).to_string()
}

/// Returns what a message says, options by their flags.
pub(crate) fn message(message: &Message) -> String {
    message.in_style(Style::Command)
}

/// Why a sample is bad, without its name in front: for lines that begin with it.
pub(crate) fn without_key(reason: &Message, key: &str) -> String {
    let reason = message(reason);
    let named = format!("sample `{}`: ", Shown(key));
    let raw = format!("sample `{key}`: ");
    let rest = reason.strip_prefix(&named).or_else(|| reason.strip_prefix(&raw));
    rest.unwrap_or(&reason).to_owned()
}

/// Writes a line to standard error. Names in it are to be shown before; what else would steer the
/// terminal is spelled out here.
pub(crate) fn warn(text: &dyn Display) {
    // Where standard error is closed, there is no other place to say so.
    let _ = writeln!(io::stderr(), "{}", ShownText(text));
}
