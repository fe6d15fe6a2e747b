use crate::{Error, Result, option};
use std::collections::BTreeMap;

/// An option of a format, available as a flag on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatOption {
    /// Name, e.g. `page_size`, which becomes the flag `--page-size`.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: OptionKind,
    /// One line: meaning, unit, default.
    pub help: &'static str,
}

/// Kind of value of a format's option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// None: it is on or off.
    Flag,
    /// A size such as `8MiB`; passed as a plain number of bytes.
    Bytes,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text, shown in the help under this name.
    Text(&'static str),
}

/// Values of the options that were set, by name: empty for a flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionValues(pub BTreeMap<String, String>);

impl OptionValues {
    /// Returns true if a flag is set.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the chosen word, or the given text.
    #[must_use]
    pub fn choice(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a number of bytes.
    ///
    /// # Errors
    /// `Usage` when it is not a number.
    pub fn bytes(&self, name: &'static str) -> Result<Option<u64>> {
        let parse = |text: &String| {
            text.parse()
                .map_err(|_| Error::usage(name, format!("`{text}` is not a number of bytes")))
        };
        self.0.get(name).map(parse).transpose()
    }

    /// Refuses options that the format does not have.
    ///
    /// # Errors
    /// `Usage`, with the format and its options.
    pub fn check(&self, format: &str, known: &[FormatOption]) -> Result<()> {
        let unknown = self.0.keys().find(|name| known.iter().all(|o| o.name != name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let what = format!("`{name}` is not an option of the format `{format}`");
                Err(Error::usage(option::FORMAT, what))
            }
        }
    }
}
