//! The failure of a task: a text for its user.

use std::fmt;

/// Reason for which a task failed. Only `main` handles it, so it is just a text.
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

pub(crate) fn fail<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::new(what))
}

/// Adds the action that failed to an error.
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
