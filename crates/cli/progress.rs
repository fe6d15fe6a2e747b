//! The progress of a run on standard error: a bar on a terminal, else a line now and then.
use crate::{Session, output, output::size, terminal};
use console::{measure_text_width, truncate_str};
use fdconvert_core::{Shown, Skipped};
use fdconvert_pipeline::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::{
    fmt::Write,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// Time between two lines without a terminal: often enough to show progress, rarely enough for a
/// log.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Time between two redraws of a bar that does not move.
const TICK: Duration = Duration::from_millis(250);

/// Number of columns if the terminal does not report it.
const COLUMNS: usize = 80;

/// A bar or lines on standard error. Dropping it clears the bar.
pub(crate) struct Bar {
    bar: ProgressBar,
    message: Arc<Mutex<String>>,
    lines: Mutex<Option<mpsc::SyncSender<()>>>,
}

impl Bar {
    pub(crate) fn set_length(&self, total: u64) {
        self.bar.set_length(total);
    }

    pub(crate) fn inc(&self, n: u64) {
        self.bar.inc(n);
    }

    pub(crate) fn set_position(&self, n: u64) {
        self.bar.set_position(n);
    }

    pub(crate) fn set_message(&self, text: String) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = text;
        self.bar.tick();
    }

    /// Clears the bar.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
        // The thread that writes lines ends when its channel is closed.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.finish_and_clear();
    }
}

/// Whether a rate is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Samples: the next takes as long as the last.
    Even,
    /// Steps of different lengths, whose time is known roughly and late.
    Uneven,
}

/// Returns a bar for samples. It shows nothing if `quiet`.
pub(crate) fn bar(what: &'static str, quiet: bool, session: &Session) -> Bar {
    begin(what, Pace::Even, quiet, session)
}

/// Returns a bar for steps of different lengths, without a rate.
pub(crate) fn steps(what: &'static str, quiet: bool, session: &Session) -> Bar {
    begin(what, Pace::Uneven, quiet, session)
}

fn begin(what: &'static str, pace: Pace, quiet: bool, session: &Session) -> Bar {
    let message = Arc::new(Mutex::new(String::new()));
    let is_shown = !quiet;
    if !is_shown || !terminal::is_there() {
        let bar = ProgressBar::hidden();
        bar.set_length(0);
        let lines = is_shown.then(|| write_lines(what, pace, &bar, &message));
        return Bar { bar, message, lines: Mutex::new(lines) };
    }
    let bar = ProgressBar::with_draw_target(Some(0), terminal::target());
    session.screen().show(&bar);
    if let Ok(style) = ProgressStyle::with_template("{line}") {
        let text = message.clone();
        let draw = move |state: &ProgressState, out: &mut dyn Write| {
            let message = text.lock().unwrap_or_else(PoisonError::into_inner);
            let facts = Facts {
                what,
                done: state.pos(),
                total: state.len().unwrap_or(0),
                rate: state.per_sec(),
                left: state.eta(),
                pace,
                message: &message,
            };
            let columns = terminal::columns().unwrap_or(COLUMNS);
            // A line that cannot be written is not drawn.
            let _ = out.write_str(&line(&facts, columns));
        };
        bar.set_style(style.with_key("line", draw));
    }
    // Drawn at once, and while nothing moves.
    bar.tick();
    bar.enable_steady_tick(TICK);
    Bar { bar, message, lines: Mutex::new(None) }
}

/// Writes a line now and then until the sender is dropped.
fn write_lines(
    what: &'static str,
    pace: Pace,
    bar: &ProgressBar,
    message: &Arc<Mutex<String>>,
) -> mpsc::SyncSender<()> {
    let (bar, message) = (bar.clone(), message.clone());
    let (sender, stopped) = mpsc::sync_channel::<()>(0);
    thread::spawn(move || {
        while stopped.recv_timeout(LINE_EVERY) == Err(RecvTimeoutError::Timeout) {
            let message = message.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (done, total) = (bar.position(), bar.length().unwrap_or(0));
            let (rate, left) = (bar.per_sec(), bar.eta());
            let facts = Facts { what, done, total, rate, left, pace, message: &message };
            output::warn(&parts(&facts).join("  "));
        }
    });
    sender
}

/// Contents of a line.
struct Facts<'a> {
    what: &'a str,
    done: u64,
    total: u64,
    rate: f64,
    left: Duration,
    pace: Pace,
    message: &'a str,
}

/// Returns the known facts: a rate or a time only after something was done.
fn parts(facts: &Facts<'_>) -> Vec<String> {
    let mut parts = vec![facts.what.to_owned()];
    if facts.total > 0 {
        let total = output::count(facts.total);
        parts.push(format!("{}/{total}", output::count(facts.done)));
    }
    if facts.done > 0 && facts.rate.is_finite() && facts.rate > 0.0 {
        let has_left = facts.done < facts.total && facts.left >= Duration::from_secs(1);
        let left = format!("{:#} left", HumanDuration(facts.left));
        if facts.pace == Pace::Even {
            let digits = usize::from(facts.rate < 10.0);
            parts.push(format!("{:.digits$}/s", facts.rate));
            parts.extend(has_left.then_some(left));
        } else if has_left && facts.done >= facts.total.div_ceil(2) {
            parts.push(format!("about {left}"));
        }
    }
    if !facts.message.is_empty() {
        parts.push(Shown(facts.message).to_string());
    }
    parts
}

/// Returns the parts that fit into fewer than `columns`, so that the terminal never wraps the line:
/// a wrapped one cannot be cleared.
fn line(facts: &Facts<'_>, columns: usize) -> String {
    let most = columns.saturating_sub(1);
    let parts = parts(facts);
    let n_with_message = parts.len();
    let n_without = n_with_message - usize::from(!facts.message.is_empty());
    for (n_cells, n_parts) in
        [(30, n_with_message), (10, n_with_message), (0, n_with_message), (10, n_without)]
    {
        let mut shown: Vec<String> = parts.iter().take(n_parts).cloned().collect();
        if let Some(first) = shown.first_mut().filter(|_| n_cells > 0 && facts.total > 0) {
            let full =
                (facts.done.min(facts.total) as f64 / facts.total as f64 * n_cells as f64) as usize;
            let head = if full < n_cells { ">" } else { "" };
            let empty = n_cells.saturating_sub(full + head.len());
            let _ = write!(first, " [{}{head}{}]", "=".repeat(full), " ".repeat(empty));
        }
        let shown = shown.join("  ");
        if measure_text_width(&shown) <= most {
            return shown;
        }
    }
    let shown = parts.get(..n_without).unwrap_or_default().join(" ");
    truncate_str(&shown, most, "").into_owned()
}

/// Shows a packing run.
pub(crate) struct PackProgress {
    bar: Bar,
    bytes_in: u64,
    bytes_stored: u64,
    skipped: u64,
}

impl PackProgress {
    pub(crate) fn new(what: &'static str, quiet: bool, session: &Session) -> Self {
        Self { bar: bar(what, quiet, session), bytes_in: 0, bytes_stored: 0, skipped: 0 }
    }

    fn show(&self) {
        // Samples without images have none.
        let mut text = match self.bytes_in {
            0 => String::new(),
            bytes_in => format!("{} in, {} out", size(bytes_in), size(self.bytes_stored)),
        };
        if self.skipped > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            text.push_str(&format!("{comma}{} skipped", self.skipped));
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: Facts<'_> = Facts {
        what: "packing",
        done: 2_030,
        total: 1_281_167,
        rate: 982.4,
        left: Duration::from_secs(1302),
        pace: Pace::Even,
        message: "32.25 MiB in, 12.98 MiB out",
    };

    #[test]
    fn no_line_is_as_wide_as_the_terminal() {
        let hostile =
            Facts { message: "\u{1b}[2J\n\u{202e}深い学習".repeat(3).leak(), ..RUNNING };
        let step = Facts { pace: Pace::Uneven, message: "loading at 50 % bmp", ..RUNNING };
        let unknown = Facts { done: 0, total: 0, ..RUNNING };
        for facts in [RUNNING, hostile, step, unknown] {
            for columns in 0..200 {
                let line = line(&facts, columns);
                assert!(measure_text_width(&line) < columns.max(1), "{columns}: {line}");
                assert!(!line.contains(['\u{1b}', '\n', '\u{202e}']), "{line:?}");
            }
        }
        let (narrow, wide) = (line(&RUNNING, 50), line(&RUNNING, 120));
        assert!(narrow.contains("2,030/1,281,167") && narrow.contains("left"), "{narrow}");
        assert!(wide.contains("[>") && wide.contains("12.98 MiB out"), "{wide}");
    }

    #[test]
    fn what_is_not_known_yet_is_not_said() {
        let begun = Facts { done: 0, rate: 0.0, left: Duration::ZERO, message: "", ..RUNNING };
        assert_eq!(parts(&begun), ["packing", "0/1,281,167"]);
        assert_eq!(parts(&Facts { total: 0, ..begun }), ["packing"]);
        let finished = Facts { done: RUNNING.total, message: "", ..RUNNING };
        assert!(!parts(&finished).join(" ").contains("left"));
        let step = Facts { pace: Pace::Uneven, ..RUNNING };
        assert!(!parts(&step).join(" ").contains("/s"));
        // Of steps, half have to be done.
        let of = |done| parts(&Facts { done, total: 24, ..step }).join(" ");
        assert!(!of(11).contains("left"), "{}", of(11));
        assert!(
            of(12).contains("about 21m left") || of(12).contains("about 22m left"),
            "{}",
            of(12)
        );
        assert!(!of(24).contains("left"), "{}", of(24));
    }
}
