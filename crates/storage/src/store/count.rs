use std::sync::atomic::{AtomicU64, Ordering};

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static OVER_FETCHED: AtomicU64 = AtomicU64::new(0);

/// Totals of the requests to stores since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    /// Number of requests; retries by the client are not counted.
    pub(crate) requests: u64,
    /// Bytes of objects received.
    pub(crate) bytes: u64,
    /// Bytes among them from gaps between ranges that were fetched together.
    pub(crate) over_fetched_bytes: u64,
}

/// Returns the totals of the requests to stores since the process started.
#[must_use]
pub(crate) fn totals() -> Totals {
    Totals {
        requests: REQUESTS.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed),
        over_fetched_bytes: OVER_FETCHED.load(Ordering::Relaxed),
    }
}

pub(crate) fn request() {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn received(n_bytes: usize) {
    BYTES.fetch_add(n_bytes as u64, Ordering::Relaxed);
}

pub(crate) fn over_fetched(n_bytes: u64) {
    OVER_FETCHED.fetch_add(n_bytes, Ordering::Relaxed);
}
