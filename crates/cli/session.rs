//! Connects one run of a command to its caller.
use crate::output;
use fdconvert_core::{Error, Result, ShownText, shell_word};
use fdconvert_pipeline::Cancel;
use indicatif::ProgressBar;
use serde_json::{Map, Value};
use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// The bar on standard error, if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<Option<ProgressBar>>>);

impl Screen {
    /// Sets the bar that lines are written above.
    pub(crate) fn show(&self, bar: &ProgressBar) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    }

    /// Writes a line to standard error, above the bar.
    pub(crate) fn say(&self, text: &str) {
        let bar = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar.filter(|bar| !bar.is_finished()) {
            Some(bar) => bar.suspend(|| output::warn(&text)),
            None => output::warn(&text),
        }
    }
}

/// One run of the command: its cancel switch, and its output.
#[derive(Debug, Default)]
pub(crate) struct Session {
    cancel: Cancel,
    /// The bar on standard error, so that lines can be written above it.
    screen: Screen,
    command: OnceLock<String>,
}

impl Session {
    /// Returns the switch that stops the run.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Writes a line to standard error, above any bar.
    pub(crate) fn say(&self, text: &str) {
        self.screen.say(text);
    }

    /// Returns the command line, for reports; empty without one.
    pub(crate) fn command(&self) -> &str {
        self.command.get().map_or("", String::as_str)
    }

    pub(crate) fn set_command(&self, args: &[OsString]) {
        let quoted = args.iter().map(|arg| shell_word(&arg.to_string_lossy()));
        // The first run of a session sets it.
        let _ = self.command.set(quoted.collect::<Vec<_>>().join(" "));
    }

    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(Error::io("write", "standard output"))
    }

    /// Writes text that ends in a line break. Names from outside must be [`Shown`] before, so that
    /// none begins a line; other control characters are escaped here.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        self.print_bytes(ShownText(text).to_string().as_bytes())
    }

    /// Writes one document: its kind, its version, and its fields.
    pub(crate) fn print_json(&self, document: &str, fields: Map<String, Value>) -> Result<()> {
        self.print_document(&fdconvert::plumbing::document(document, fields))
    }

    /// Writes a document of the library.
    pub(crate) fn print_document(&self, document: &Value) -> Result<()> {
        let mut text = serde_json::to_string_pretty(document)
            .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))?;
        text.push('\n');
        // JSON has its own escapes.
        self.print_bytes(text.as_bytes())
    }
}
