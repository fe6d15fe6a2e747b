//! The form of numbers and names in text, its destination, and the detection of closed pipes.
use fdconvert_core::{Error, OptionRef, Remark, Setting, Shown, ShownText, shell_word};
pub(crate) use fdconvert_core::{bandwidth, images_per_s, size};
use std::{
    fmt::Display,
    io::{self, Write},
    path::Path,
};

/// Returns true if the reader of our output has gone away, which is not a failure.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// Formats a number like `1,281,167`.
pub(crate) fn count(n: u64) -> String {
    fdconvert_profile::grouped(n)
}

/// Formats a number with a noun: `1 sample`, `12 classes`.
pub(crate) fn counted(n: u64, what: &str) -> String {
    let (stem, ending) = match what.strip_suffix("ry") {
        _ if n == 1 => (what, ""),
        Some(stem) => (stem, "ries"),
        None if what.ends_with('s') => (what, "es"),
        None => (what, "s"),
    };
    format!("{} {stem}{ending}", count(n))
}

/// Returns the line after the shown part of a list: how many more there are, and whether the
/// document has all.
pub(crate) fn more(n_more: usize, n_listed: usize, left_out: u64) -> String {
    let n_more = count(n_more as u64 + left_out);
    match left_out {
        0 => format!("... and {n_more} more; --json lists all\n"),
        _ => format!("... and {n_more} more; --json lists the first {}\n", count(n_listed as u64)),
    }
}

/// Formats a path on one line, whatever its name.
pub(crate) fn path(path: &Path) -> String {
    Shown(path.display()).to_string()
}

/// Formats an option of the library as a flag; an argument is unchanged.
pub(crate) fn flag(option: &OptionRef) -> String {
    let flag = format!("--{}", option.name.replace('_', "-"));
    match &option.setting {
        Setting::Argument => option.name.to_owned(),
        Setting::Any | Setting::On => flag,
        Setting::To(value) => format!("{flag} {}", shell_word(value)),
    }
}

/// Formats a remark with options as flags.
pub(crate) fn remark(remark: &Remark) -> String {
    remark.spelled(flag)
}

/// Returns the reason why a sample is bad without its leading key: for lines that begin with the
/// key.
pub(crate) fn without_key(reason: &Remark, key: &str) -> String {
    let reason = remark(reason);
    let named = format!("sample `{}`: ", Shown(key));
    let raw = format!("sample `{key}`: ");
    let rest = reason.strip_prefix(&named).or_else(|| reason.strip_prefix(&raw));
    rest.unwrap_or(&reason).to_owned()
}

/// Writes a line to standard error. Names must be [`Shown`] before; other control characters are
/// escaped here.
pub(crate) fn warn(text: &dyn Display) {
    // If standard error is closed, there is no other place to report it.
    let _ = writeln!(io::stderr(), "{}", ShownText(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::option;

    #[test]
    fn options_are_flags_and_what_comes_from_outside_is_never_one() {
        let flags = [
            (option::LABELS.into(), "--labels"),
            (option::OVERWRITE.on(), "--overwrite"),
            (option::MAX_PIXELS.with(5), "--max-pixels 5"),
            (option::PAGE_SIZE.with("8MiB"), "--page-size 8MiB"),
            (option::WHERE.with("label == \"cat\""), "--where 'label == \"cat\"'"),
            (option::DROP_FIELDS.with("a; rm -r x"), "--drop-fields 'a; rm -r x'"),
            (option::DROP_FIELDS.with("\u{1b}"), r"--drop-fields '\x1b'"),
            ("output".into(), "output"),
        ];
        for (option, expected) in flags {
            assert_eq!(flag(&option), expected);
        }
        let outside = "`overwrite` overwrite=true; to replace it: overwrite=true";
        let error = Error::sample(outside, outside).cure("to pass", option::STRICT.on());
        let expected = format!("sample `{outside}`: {outside}; to pass: --strict");
        assert_eq!(error.spelled(flag), expected);
        assert_eq!(
            Error::usage(option::STRICT, outside).spelled(flag),
            format!("--strict: {outside}")
        );
    }
}
