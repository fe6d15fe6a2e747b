//! The progress bar: samples, rate, time left, bytes in and out. Only on a terminal.
use crate::{Gauge, Session, output::size};
use fdconvert_core::Skipped;
use fdconvert_pipeline::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{fmt::Write, time::Duration};

/// A bar on standard error, and the session's gauge.
pub(crate) struct Bar {
    bar: ProgressBar,
    gauge: Gauge,
}

impl Bar {
    pub(crate) fn set_length(&self, total: u64) {
        self.bar.set_length(total);
        self.gauge.begin(total);
    }

    pub(crate) fn inc(&self, n: u64) {
        self.bar.inc(n);
        self.gauge.add(n);
    }

    pub(crate) fn set_position(&self, n: u64) {
        self.bar.set_position(n);
        self.gauge.set(n);
    }

    pub(crate) fn set_message(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Takes the bar off the screen.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar, which shows nothing when standard error is no terminal or `quiet`.
pub(crate) fn bar(what: &str, quiet: bool, session: &Session) -> Bar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        // Hides itself when standard error is not a terminal.
        ProgressDrawTarget::stderr_with_hz(8)
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let template = "{prefix} [{bar:30}] {human_pos}/{human_len}  {rate}/s  {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            // The bar is drawn without its rate if that cannot be written.
            let _ = write!(out, "{:.0}", state.per_sec());
        };
        bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
    }
    bar.set_prefix(what.to_owned());
    Bar { bar, gauge: session.gauge().clone() }
}

/// Shows a packing run.
pub(crate) struct PackProgress {
    bar: Bar,
    bytes_in: u64,
    bytes_stored: u64,
    skipped: u64,
}

impl PackProgress {
    pub(crate) fn new(what: &str, quiet: bool, session: &Session) -> Self {
        Self { bar: bar(what, quiet, session), bytes_in: 0, bytes_stored: 0, skipped: 0 }
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        let mut text = format!("{} in, {} out", size(self.bytes_in), size(self.bytes_stored));
        if self.skipped > 0 {
            text.push_str(&format!(", {} skipped", self.skipped));
        }
        self.bar.set_message(text);
        self.bar.inc(1);
    }
}

impl Observer for PackProgress {
    fn begin(&mut self, planned: u64) {
        self.bar.set_length(planned);
    }

    fn resumed(&mut self, samples: u64) {
        self.bar.inc(samples);
        // The rate is that of this run.
        self.bar.bar.reset_eta();
    }

    fn stored(&mut self, bytes_in: u64, bytes_stored: u64) {
        self.bytes_in += bytes_in;
        self.bytes_stored += bytes_stored;
        self.show();
    }

    fn skipped(&mut self, _: &Skipped) {
        self.skipped += 1;
        self.show();
    }

    fn committing(&mut self) {
        self.bar.set_message("syncing to disk".into());
        self.bar.bar.enable_steady_tick(Duration::from_millis(500));
    }
}
