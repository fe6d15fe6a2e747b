//! A stand-in for training that holds each batch as long as training would.
use crate::Session;
use fdconvert_core::{Error, Result};
use std::{
    thread,
    time::{Duration, Instant},
};

/// A consumer of that many images per second, or one without a limit.
pub(super) struct Consumer {
    images_per_s: Option<f64>,
    /// Time at which it finishes its current batches.
    free_at: Instant,
}

/// A year, which is practically forever: the time for a rate close to 0 exceeds a `Duration`.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
/// Interval at which a wait checks for cancellation.
const LOOK: Duration = Duration::from_millis(100);

impl Consumer {
    /// Creates an idle consumer.
    pub(super) fn new(images_per_s: Option<f64>) -> Self {
        Self { images_per_s, free_at: Instant::now() }
    }

    /// Gives it a batch.
    pub(super) fn take(&mut self, rows: u64) {
        let seconds = self.images_per_s.map_or(0.0, |rate| rows as f64 / rate);
        let work = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(LONGEST);
        self.free_at = Instant::now() + work;
    }

    /// Waits until it is ready for the next batch.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn wait(&self, session: &Session) -> Result<()> {
        loop {
            let left = self.free_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if session.cancel().is_cancelled() {
                return Err(Error::Cancelled);
            }
            thread::sleep(left.min(LOOK));
        }
    }
}
