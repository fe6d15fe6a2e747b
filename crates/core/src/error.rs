use crate::{Cure, OptionName, OptionRef, Remark, Shown, option};
use std::{
    fmt::{self, Display, Formatter},
    io,
    path::{Path, PathBuf},
};

/// Shorthand used across the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// All errors, grouped by who has to act.
///
/// Messages fit on one line, name file, sample or offset if known, and end without a full stop.
/// Untrusted names cannot break that: all text is [`Shown`]. The cause is in
/// [`source`](std::error::Error::source), not repeated in the text. The option that an error is
/// about comes before the text, and cures after it: [`spelled`](Error::spelled) is for callers with
/// other names for options than the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported a failure.
    Io {
        /// Verb phrase: "open", "write", "list the folder".
        action: &'static str,
        /// Path of the failed call.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A packed file breaks its own specification.
    Corrupt {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Offset in bytes from the start of the file.
        offset: u64,
        /// Expected and found values.
        what: Remark,
    },
    /// A packed file has a version that this build does not support.
    Version {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Version in the file.
        found: u64,
        /// Supported versions, for messages.
        supported: &'static str,
    },
    /// A packed file is sound but uses a feature that this build does not support.
    Unsupported {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Problem, and the cure if known.
        what: Remark,
    },
    /// One sample cannot be read, decoded, encoded or stored.
    Sample {
        /// Sample key; for a file, its path.
        key: String,
        /// Problem, and the cure if known.
        what: Remark,
    },
    /// A limit that protects the machine was exceeded. Every limit can be raised by its option.
    Limit {
        /// The excessive quantity, and its file or sample.
        what: String,
        /// Requested value.
        asked: u64,
        /// The limit.
        most: u64,
        /// Option that raises it.
        option: OptionName,
    },
    /// The caller asked for something impossible.
    Usage {
        /// Option or argument name.
        option: OptionRef,
        /// Problem and cure.
        what: Remark,
    },
    /// A GPU or its driver failed, or there is none.
    Device {
        /// Verb phrase: "open", "decode on".
        action: &'static str,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The work was cancelled before it was complete.
    Cancelled,
}

/// Class of an error, by the action it requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Fix the command line or config.
    Usage,
    /// Fix or drop the data.
    Data,
    /// Fix the machine: disk, permissions.
    System,
    /// None: the user asked to stop.
    Cancelled,
}

impl Error {
    /// Returns the class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Usage { .. } => Class::Usage,
            Self::Corrupt { .. }
            | Self::Sample { .. }
            | Self::Unsupported { .. }
            | Self::Version { .. }
            | Self::Limit { .. } => Class::Data,
            Self::Io { .. } | Self::Device { .. } => Class::System,
            Self::Cancelled => Class::Cancelled,
        }
    }

    /// Returns a closure for `map_err` on operating system calls:
    /// `File::open(&p).map_err(Error::io("open", &p))`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Returns a closure for `map_err` on GPU driver calls:
    /// `Gpu::open(..).map_err(Error::device("open"))`.
    pub fn device<E: std::error::Error + Send + Sync + 'static>(
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Device { action, source: Box::new(source) }
    }

    /// Creates an error about one sample.
    pub fn sample(key: impl Into<String>, what: impl Into<Remark>) -> Self {
        Self::Sample { key: key.into(), what: what.into() }
    }

    /// Creates an error about the request.
    pub fn usage(option: impl Into<OptionRef>, what: impl Into<Remark>) -> Self {
        Self::Usage { option: option.into(), what: what.into() }
    }

    /// Creates the error for an output that exists, with the cure.
    pub fn exists(option: impl Into<OptionRef>, path: &Path) -> Self {
        Self::usage(option, format!("{} exists", path.display()))
            .cure("to replace it", option::OVERWRITE.on())
    }

    /// Creates an error about damage in a packed file.
    pub fn corrupt(
        format: &'static str,
        path: impl Into<PathBuf>,
        offset: u64,
        what: impl Into<Remark>,
    ) -> Self {
        Self::Corrupt { format, path: path.into(), offset, what: what.into() }
    }

    /// Adds an option that helps. Ignored for system errors.
    #[must_use]
    pub fn cure(mut self, purpose: &'static str, option: impl Into<OptionRef>) -> Self {
        if let Self::Corrupt { what, .. }
        | Self::Unsupported { what, .. }
        | Self::Sample { what, .. }
        | Self::Usage { what, .. } = &mut self
        {
            what.cures.push(Cure { purpose, option: option.into() });
        }
        self
    }

    /// Returns the whole chain of causes on one line, for logs and skip lists.
    #[must_use]
    pub fn chain(&self) -> String {
        self.spelled(OptionRef::to_string)
    }

    /// Like [`chain`](Self::chain), with options spelled by `spell`.
    pub fn spelled(&self, spell: impl Fn(&OptionRef) -> String) -> String {
        let said = self.without_heading().spelled(&spell);
        Shown(self.heading().map(|option| spell(option) + ": ").unwrap_or_default() + &said)
            .to_string()
    }

    /// Like [`chain`](Self::chain), as part of another text, with the cures of this error.
    #[must_use]
    pub fn remark(&self) -> Remark {
        let heading = self.heading().map(|option| format!("{option}: ")).unwrap_or_default();
        self.without_heading().reworded(|text| Shown(heading + text).to_string())
    }

    /// The option that the error is about.
    fn heading(&self) -> Option<&OptionRef> {
        if let Self::Usage { option, .. } = self { Some(option) } else { None }
    }

    /// The chain, without the option that the error is about.
    fn without_heading(&self) -> Remark {
        let mut remark = self.itself();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            remark.text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        remark
    }

    /// The error's own text, without causes and without the option that it is about.
    fn itself(&self) -> Remark {
        match self {
            Self::Io { action, path, .. } => format!("cannot {action} {}", path.display()).into(),
            Self::Corrupt { format, path, offset, what } => {
                let file = format!("damaged {format} file {}: at byte {offset}", path.display());
                what.clone().reworded(|text| format!("{file}: {text}"))
            }
            Self::Version { format, path, found, supported } => {
                let file = format!("{format} file {}", path.display());
                format!("{file} has version {found}; this build reads {supported}").into()
            }
            Self::Unsupported { format, path, what } => {
                let file = format!("{format} file {}", path.display());
                what.clone().reworded(|text| format!("{file}: {text}"))
            }
            Self::Sample { key, what } => {
                what.clone().reworded(|text| format!("sample `{key}`: {text}"))
            }
            Self::Limit { what, asked, most, option } => {
                Remark::from(format!("{what} is {asked}, over the limit of {most}"))
                    .cure("to raise it", *option)
            }
            Self::Usage { what, .. } => what.clone(),
            Self::Device { action, .. } => format!("cannot {action} the GPU").into(),
            Self::Cancelled => "cancelled".into(),
        }
    }
}

/// The library's text, without causes.
impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(option) = self.heading() {
            write!(f, "{}: ", Shown(option))?;
        }
        write!(f, "{}", Shown(self.itself()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_names_action_file_and_cause_once() {
        let error = Error::io("open", "a.jpg")(io::Error::other("disk on fire"));
        assert_eq!(error.chain(), "cannot open a.jpg: disk on fire");
        assert_eq!(error.class(), Class::System);
    }

    #[test]
    fn names_cannot_steer_a_terminal_or_begin_a_line() {
        let hostile = "a\u{1b}[2J\nall sound\u{202e}\u{9b}";
        let errors = [
            Error::io("open", hostile)(io::Error::other(hostile)),
            Error::corrupt("tar", hostile, 7, hostile),
            Error::Version { format: "tar", path: hostile.into(), found: 9, supported: "1" },
            Error::Unsupported { format: "tar", path: hostile.into(), what: hostile.into() },
            Error::sample(hostile, hostile),
            Error::Limit { what: hostile.into(), asked: 2, most: 1, option: option::MAX_PIXELS },
            Error::usage(option::LABELS, hostile),
            Error::usage(option::LABELS.with(hostile), "no"),
            Error::usage("output", "no").cure("to drop it", option::DROP_FIELDS.with(hostile)),
            Error::device("open")(io::Error::other(hostile)),
        ];
        for error in errors {
            let chain = error.chain();
            assert!(!chain.contains(['\u{1b}', '\n', '\u{202e}', '\u{9b}']), "{chain:?}");
            assert!(chain.contains(r"a\x1b[2J\nall sound\u{202e}\x9b"), "{chain}");
        }
    }
    #[test]
    fn options_are_spelled_in_front_and_behind_and_nowhere_else() {
        let outside = "overwrite=true; to replace it: overwrite=true";
        let error = Error::usage(option::STRICT, outside)
            .cure("to go on", option::ON_ERROR.with("skip"))
            .cure("to replace it", option::OVERWRITE.on());
        let spelled = error.spelled(|option| format!("<{option}>"));
        let cures = "; to go on: <on_error=skip>; to replace it: <overwrite=true>";
        assert_eq!(spelled, format!("<strict>: {outside}{cures}"));
        let wrapped = Error::sample("a", error.remark().reworded(|text| format!("not it: {text}")));
        let spelled = wrapped.spelled(|option| format!("<{option}>"));
        assert_eq!(spelled, format!("sample `a`: not it: strict: {outside}{cures}"));
    }

    #[test]
    fn limits_say_what_raises_them() {
        let option = option::MAX_PIXELS;
        let error = Error::Limit { what: "it".into(), asked: 7, most: 5, option };
        assert_eq!(error.chain(), "it is 7, over the limit of 5; to raise it: max_pixels");
    }
}
