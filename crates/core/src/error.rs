use crate::{Message, Named, Shown, message, named};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Shorthand used across the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, named by who has to act.
///
/// Messages read on one line, name file, sample or offset where there is one, and end without a
/// full stop. Names from outside cannot break that: all text is [`Shown`]. The cause is in
/// [`source`](std::error::Error::source), not twice in the text. Options have the names that the
/// library gives them; [`message`](Error::message) gives them others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}", Shown(path.display()))]
    Io {
        /// Verb phrase: "open", "write", "list the folder".
        action: &'static str,
        /// Path that the call was about.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A packed file breaks its own specification.
    #[error("damaged {format} file {}: at byte {offset}: {}", Shown(path.display()), Shown(what))]
    Corrupt {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Offset in bytes from the start of the file.
        offset: u64,
        /// Problem: what was expected and what was found.
        what: Message,
    },
    /// A packed file is of a version this build does not read.
    #[error("{format} file {} has version {found}; this build reads {supported}", Shown(path.display()))]
    Version {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Version in the file.
        found: u64,
        /// Versions this build reads, for people.
        supported: &'static str,
    },
    /// A packed file is sound but holds something this build cannot read.
    #[error("{format} file {}: {}", Shown(path.display()), Shown(what))]
    Unsupported {
        /// Format name.
        format: &'static str,
        /// File.
        path: PathBuf,
        /// Problem, and the cure when known.
        what: Message,
    },
    /// One sample cannot be read, decoded, encoded or stored.
    #[error("sample `{}`: {}", Shown(key), Shown(what))]
    Sample {
        /// Sample key; for a file, its path.
        key: String,
        /// Problem, and the cure when known.
        what: Message,
    },
    /// A limit that protects the machine was hit. Every limit can be raised by its name.
    #[error("{} is {asked}, over the limit {}", Shown(what), Shown(limit))]
    Limit {
        /// Quantity that was too big, and of which file or sample.
        what: Message,
        /// Name and value of the limit.
        limit: Named,
        /// Value that was asked for.
        asked: u64,
    },
    /// The caller asked for something impossible.
    #[error("{}: {}", option.heading(), Shown(what))]
    Usage {
        /// Option or argument name.
        option: Named,
        /// Problem and cure.
        what: Message,
    },
    /// A GPU or its driver refused, or there is none.
    #[error("cannot {action} the GPU")]
    Device {
        /// Verb phrase: "open", "decode on".
        action: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The work was cancelled before it was complete.
    #[error("cancelled")]
    Cancelled,
}

/// Class of errors by who has to act on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Fix the command line or config.
    Usage,
    /// Fix or drop the data.
    Data,
    /// Fix the machine: disk, permissions.
    System,
    /// No one: the user asked to stop.
    Cancelled,
}

impl Error {
    /// Returns who has to act.
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

    /// For `map_err` on operating system calls: `File::open(&p).map_err(Error::io("open", &p))`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// For `map_err` on calls of a GPU's driver: `Gpu::open(..).map_err(Error::device("open"))`.
    pub fn device<E: std::error::Error + Send + Sync + 'static>(
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Device { action, source: Box::new(source) }
    }

    /// A problem with one sample.
    pub fn sample(key: impl Into<String>, what: impl Into<Message>) -> Self {
        Self::Sample { key: key.into(), what: what.into() }
    }

    /// A problem with the request.
    pub fn usage(option: impl Into<Named>, what: impl Into<Message>) -> Self {
        Self::Usage { option: option.into(), what: what.into() }
    }

    /// The refusal of an output that exists, with the cure.
    pub fn exists(option: impl Into<Named>, path: &Path) -> Self {
        let what = message!("{} exists; replace it with {}", path.display(), named::OVERWRITE);
        Self::usage(option, what)
    }

    /// Damage in a packed file.
    pub fn corrupt(
        format: &'static str,
        path: impl Into<PathBuf>,
        offset: u64,
        what: impl Into<Message>,
    ) -> Self {
        Self::Corrupt { format, path: path.into(), offset, what: what.into() }
    }

    /// The whole chain on one line, cause after cause, for logs and skip lists.
    #[must_use]
    pub fn chain(&self) -> String {
        self.message().to_string()
    }

    /// As [`chain`](Self::chain), to be printed with the names that options have there.
    #[must_use]
    pub fn message(&self) -> Message {
        message::of_chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;

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
            Error::Limit { what: hostile.into(), limit: named::MAX_PIXELS.with(hostile), asked: 1 },
            Error::usage(named::LABELS, hostile),
            Error::device("open")(io::Error::other(hostile)),
        ];
        for error in errors {
            let chain = error.chain();
            assert!(!chain.contains(['\u{1b}', '\n', '\u{202e}', '\u{9b}']), "{chain:?}");
            assert!(chain.contains(r"a\x1b[2J\nall sound\u{202e}\x9b"), "{chain}");
        }
    }
}
