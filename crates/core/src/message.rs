//! Texts for people that name options, and how they are translated.
//!
//! A text is written once, in the library, and read in three languages: a program in Rust has
//! fields, the command has flags, Python has keywords. So a [`Message`] remembers *where* in it
//! options are named, and [`Message::in_style`] replaces these places alone.
//!
//! The places are found while the text is formatted, and are no characters in it: only a
//! [`Named`] tells the message that is being formatted that what it writes is a name. A file or a
//! class that is called `` `overwrite` ``, or holds any other character, cannot pass for an option;
//! what is stored or shown to programs needs no cleaning; and a text that went through a plain
//! `String` is merely not translated.
use crate::{Named, Shown};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    cell::Cell,
    fmt::{self, Debug, Display, Formatter, Write},
    ops::{Deref, Range},
};

thread_local! {
    /// True while the name of an option is being written.
    static IS_NAME: Cell<bool> = const { Cell::new(false) };
}

/// Whose names options have in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The library's: `` `on_error=skip` ``.
    Library,
    /// The command's: `--on-error skip`.
    Command,
    /// The Python package's: `on_error="skip"`.
    Python,
}

/// A text for people, and where it names options. It reads as the library's own text, and is
/// stored as that.
///
/// ```
/// use fdconvert_core::{Style, message, named};
///
/// let file = "`overwrite`";
/// let said = message!("{file} exists; replace it with {}", named::OVERWRITE);
/// assert_eq!(said.to_string(), "`overwrite` exists; replace it with `overwrite`");
/// assert_eq!(said.in_style(Style::Command), "`overwrite` exists; replace it with --overwrite");
/// assert_eq!(said.in_style(Style::Python), "`overwrite` exists; replace it with overwrite=True");
/// ```
#[derive(Clone, Default)]
pub struct Message(Box<Parts>);

/// In a box: errors lie in the results of functions that are called for every sample.
#[derive(Clone, Default)]
struct Parts {
    text: String,
    names: Vec<Range<usize>>,
}

/// A [`Message`] as `format!` makes a `String`: the options in it, [`named`](crate::named), can be
/// translated.
#[macro_export]
macro_rules! message {
    ($($format:tt)*) => { $crate::Message::of(::core::format_args!($($format)*)) };
}

impl Message {
    /// Returns what these arguments say; messages and errors among them keep their names.
    #[must_use]
    pub fn of(text: fmt::Arguments<'_>) -> Self {
        let mut message = Self::default();
        // Writing to a string cannot fail.
        let _ = as_name(false, || message.write_fmt(text));
        message
    }

    /// The library's own text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The text for those who read it there. Names of options, and nothing else, become
    ///
    /// - for the command `--max-pixels 5` and `--overwrite`,
    /// - for Python `max_pixels=5`, `on_error="skip"`, `overwrite=True`, and `labels=` without a
    ///   value; in front of a text, before the colon, the bare name.
    #[must_use]
    pub fn in_style(&self, style: Style) -> String {
        let mut said = String::with_capacity(self.0.text.len());
        let mut end = 0;
        for name in &self.0.names {
            said.push_str(self.0.text.get(end..name.start).unwrap_or_default());
            said.push_str(&translated(self.0.text.get(name.clone()).unwrap_or_default(), style));
            end = name.end;
        }
        said.push_str(self.0.text.get(end..).unwrap_or_default());
        said
    }
}

/// A name as another style has it.
fn translated(written: &str, style: Style) -> String {
    let quoted = written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let bare = quoted.unwrap_or(written);
    let (name, value) = bare.split_once('=').map_or((bare, None), |(name, it)| (name, Some(it)));
    match style {
        Style::Library => written.to_owned(),
        Style::Command => {
            let flag = format!("--{}", name.replace('_', "-"));
            value.map_or_else(|| flag.clone(), |value| format!("{flag} {value}"))
        }
        Style::Python => {
            let keyword = name.replace('-', "_");
            match value {
                Some(number) if number.parse::<f64>().is_ok() => format!("{keyword}={number}"),
                Some(text) if text.starts_with(['"', '\'']) => format!("{keyword}={text}"),
                Some(text) => format!("{keyword}=\"{text}\""),
                None if quoted.is_none() => keyword,
                None if Named::find(name).is_some_and(|it| it.is_switch()) => keyword + "=True",
                None => keyword + "=",
            }
        }
    }
}

/// Does what writes the name of an option, or another text.
pub(crate) fn as_name(is_name: bool, write: impl FnOnce() -> fmt::Result) -> fmt::Result {
    let outer = IS_NAME.replace(is_name);
    let written = write();
    IS_NAME.set(outer);
    written
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = self.0.text.len();
        self.0.text.push_str(text);
        let end = self.0.text.len();
        if IS_NAME.get() {
            match self.0.names.last_mut() {
                // A name may be written in pieces.
                Some(last) if last.end == start => last.end = end,
                _ => self.0.names.push(start..end),
            }
        }
        Ok(())
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut end = 0;
        for name in &self.0.names {
            f.write_str(self.0.text.get(end..name.start).unwrap_or_default())?;
            as_name(true, || f.write_str(self.0.text.get(name.clone()).unwrap_or_default()))?;
            end = name.end;
        }
        f.write_str(self.0.text.get(end..).unwrap_or_default())
    }
}

impl Debug for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0.text, f)
    }
}

impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

/// By the text: what is read back from a file names no options.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Message {}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(Box::new(Parts { text, names: Vec::new() }))
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.text)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Returns what came of an error and its causes, on one line.
pub(crate) fn of_chain(error: &dyn std::error::Error) -> Message {
    let mut message = crate::message!("{error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        // A cause is of another library, which may quote names as they are.
        message = crate::message!("{message}: {}", Shown(error));
        cause = error.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, named};

    #[test]
    fn names_are_translated_for_whom_they_are_printed() {
        let texts = [
            (message!("{}", named::OVERWRITE), "`overwrite`", "--overwrite", "overwrite=True"),
            (message!("{}", named::LABELS), "`labels`", "--labels", "labels="),
            (
                message!("{}", named::ON_ERROR.with("skip")),
                "`on_error=skip`",
                "--on-error skip",
                "on_error=\"skip\"",
            ),
            (
                message!("{}", named::MAX_PIXELS.with(5)),
                "`max_pixels=5`",
                "--max-pixels 5",
                "max_pixels=5",
            ),
            (
                message!("{}", named::PAGE_SIZE.with("8MiB")),
                "`page_size=8MiB`",
                "--page-size 8MiB",
                "page_size=\"8MiB\"",
            ),
            (
                message!("{}", named::WHERE.with("'label == \"cat\"'")),
                "`where='label == \"cat\"'`",
                "--where 'label == \"cat\"'",
                "where='label == \"cat\"'",
            ),
            (
                message!("{}", Error::usage(named::STRICT, "no")),
                "strict: no",
                "--strict: no",
                "strict: no",
            ),
            (
                message!("{}", Error::usage("output", "no")),
                "output: no",
                "output: no",
                "output: no",
            ),
        ];
        for (message, library, command, python) in texts {
            assert_eq!(message.in_style(Style::Library), library);
            assert_eq!(message.to_string(), library);
            assert_eq!(message.in_style(Style::Command), command);
            assert_eq!(message.in_style(Style::Python), python);
        }
    }

    #[test]
    fn what_comes_from_outside_is_never_taken_for_an_option() {
        let outside = "`overwrite` `max_pixels=5` \u{fdd0}overwrite\u{fdd1} \u{1b}";
        let error = Error::sample(outside, message!("{outside}: use {}", named::STRICT));
        let shown = Shown(outside);
        let expected = format!("sample `{shown}`: {shown}: use --strict");
        assert_eq!(error.message().in_style(Style::Command), expected);
    }

    #[test]
    fn names_stay_names_through_errors_causes_and_other_messages() {
        let limit = named::MAX_PIXELS.with("\u{1b}");
        let inner = Error::Limit { what: "it".into(), limit, asked: 7 };
        let outer = Error::device("open")(inner);
        let said = message!("{}; {}", outer.message(), named::OVERWRITE).in_style(Style::Command);
        let expected =
            r"cannot open the GPU: it is 7, over the limit --max-pixels \x1b; --overwrite";
        assert_eq!(said, expected);
    }

    #[test]
    fn stored_text_is_that_of_the_library() {
        let message = message!("use {}", named::OVERWRITE);
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(stored, "\"use `overwrite`\"");
        let read: Message = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, message);
        assert_eq!(read.in_style(Style::Command), "use `overwrite`");
    }
}
