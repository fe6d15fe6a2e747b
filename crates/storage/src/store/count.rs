use crate::place::StoreTotals;
use std::sync::atomic::{AtomicU64, Ordering};

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static OVER_FETCHED: AtomicU64 = AtomicU64::new(0);

/// Returns the totals of all requests to stores since the process started.
#[must_use]
pub fn totals() -> StoreTotals {
    StoreTotals {
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
