//! The one way in which a chore fails: with a text for the one who started it.

use std::fmt;

/// Why a chore was not done. No one handles it but `main`, so a text is all it holds.
#[derive(Debug)]
pub(crate) struct Failure(String);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A failure in words.
pub(crate) fn fail<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::new(what))
}

/// Says what was being done when something went wrong.
pub(crate) trait Context<T> {
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Failure(format!("{doing}: {cause}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, missing: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure(missing.to_string()))
    }
}
