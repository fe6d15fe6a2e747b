//! What ties one run of a command to whoever started it.
use crate::output;
use fdconvert_core::{Error, Result, ShownText, shell_word};
use fdconvert_pipeline::Cancel;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Version of the JSON documents; raised when a key changes its meaning or goes.
const JSON_VERSION: u32 = 1;

/// How far a run is, for others to look at whenever they like. The progress bar moves it; nobody
/// is called back, so a slow onlooker costs the run nothing.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<[AtomicU64; 2]>);

impl Gauge {
    /// Samples that are done, and how many there are; both 0 before that is known.
    #[must_use]
    pub fn read(&self) -> (u64, u64) {
        let [done, total] = &*self.0;
        (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))
    }

    pub(crate) fn begin(&self, total: u64) {
        let [done, of] = &*self.0;
        done.store(0, Ordering::Relaxed);
        of.store(total, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, n: u64) {
        let [done, _] = &*self.0;
        done.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        let [done, _] = &*self.0;
        done.store(n, Ordering::Relaxed);
    }
}

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

/// One run of a command: the switch that stops it, the gauge it moves, and where its output goes.
#[derive(Debug, Default)]
pub struct Session {
    cancel: Cancel,
    gauge: Gauge,
    /// What was printed; `None` when it goes to standard output.
    captured: Option<Mutex<Vec<u8>>>,
    /// What is on standard error, so that a line can be written above it.
    screen: Screen,
    /// The arguments as typed.
    command: OnceLock<String>,
}

impl Session {
    /// Prints to standard output.
    #[must_use]
    pub fn standard() -> Self {
        Self::default()
    }

    /// Keeps what it would print.
    #[must_use]
    pub fn captured() -> Self {
        Self { captured: Some(Mutex::default()), ..Self::default() }
    }

    /// The switch that stops the run.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// How far the run is.
    #[must_use]
    pub fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// Whether it belongs to a process of its own, whose standard error may be written to.
    pub(crate) fn is_standard(&self) -> bool {
        self.captured.is_none()
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

    pub(crate) fn take_output(&self) -> Vec<u8> {
        let take = |output: &Mutex<Vec<u8>>| {
            std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.captured.as_ref().map(take).unwrap_or_default()
    }

    /// Writes to standard output.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<()> {
        if let Some(output) = &self.captured {
            output.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            return Ok(());
        }
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
        let mut whole = Map::new();
        whole.insert("document".into(), json!(format!("fdconvert-{document}")));
        whole.insert("version".into(), json!(JSON_VERSION));
        whole.extend(fields);
        let mut text = serde_json::to_string_pretty(&whole)
            .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))?;
        text.push('\n');
        // JSON has escapes of its own.
        self.print_bytes(text.as_bytes())
    }
}
