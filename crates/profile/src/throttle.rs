use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A token bucket that slows reading down to a rate in bytes/s, shared by all reading threads: a
/// fast disk plays a slow one, to see what a dataset would do there.
///
/// Who takes bytes pays afterwards: a request is never split, and however large it is, the mean
/// rate holds. What is not used in time is lost but for a small burst, which makes up for sleeps
/// that the system ends late.
#[derive(Debug)]
pub struct Throttle {
    bytes_per_s: f64,
    /// When everything taken so far is paid for.
    paid: Mutex<Option<Instant>>,
}

/// Longest time that a bucket may fall behind the rate and still catch up.
const BURST: Duration = Duration::from_millis(20);

impl Throttle {
    /// A bucket that is empty. `None` for a rate that is not a number above 0.
    #[must_use]
    pub fn new(bytes_per_s: f64) -> Option<Self> {
        let sound = bytes_per_s.is_finite() && bytes_per_s > 0.0;
        sound.then(|| Self { bytes_per_s, paid: Mutex::new(None) })
    }

    /// The rate.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    /// Takes bytes and sleeps until they are paid for.
    pub fn take(&self, bytes: u64) {
        let wait = self.reserve(bytes, Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait);
        }
    }

    /// Takes bytes at that moment and returns how long to wait for them: [`take`](Self::take) for
    /// those who have something better to do than to sleep.
    pub fn reserve(&self, bytes: u64, now: Instant) -> Duration {
        let price = Duration::try_from_secs_f64(bytes as f64 / self.bytes_per_s);
        let price = price.unwrap_or(Duration::MAX);
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let from = paid.map_or(now, |paid| paid.max(earliest));
        let Some(until) = from.checked_add(price) else { return Duration::MAX };
        *paid = Some(until);
        until.saturating_duration_since(now)
    }
}
