//! What ties one run of a command to the one who started it.
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
    /// Lines are written above this bar from now on.
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

/// One run of the command: the switch that stops it, and where its output goes.
#[derive(Debug, Default)]
pub(crate) struct Session {
    cancel: Cancel,
    /// What is on standard error, so that a line can be written above it.
    screen: Screen,
    command: OnceLock<String>,
}

impl Session {
    /// The switch that stops the run.
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

    /// The command line, for reports; empty where there was none.
    pub(crate) fn command(&self) -> &str {
        self.command.get().map_or("", String::as_str)
    }

    pub(crate) fn set_command(&self, args: &[OsString]) {
        let quoted = args.iter().map(|arg| shell_word(&arg.to_string_lossy()));
        // The first run of a session names it.
        let _ = self.command.set(quoted.collect::<Vec<_>>().join(" "));
    }

    /// Writes to standard output.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(Error::io("write", "standard output"))
    }

    /// Writes text that ends in a line break. Names from outside are to be [`Shown`] before, so
    /// that none begins a line; what else would steer a terminal is spelled out here.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        self.print_bytes(ShownText(text).to_string().as_bytes())
    }

    /// Writes one document: what it is, its version, and its fields.
    pub(crate) fn print_json(&self, document: &str, fields: Map<String, Value>) -> Result<()> {
        self.print_document(&fdconvert::plumbing::document(document, fields))
    }

    /// Writes a document of the library.
    pub(crate) fn print_document(&self, document: &Value) -> Result<()> {
        let mut text = serde_json::to_string_pretty(document)
            .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))?;
        text.push('\n');
        // JSON has escapes of its own.
        self.print_bytes(text.as_bytes())
    }
}
