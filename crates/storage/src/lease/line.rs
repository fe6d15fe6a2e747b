//! What a lease says.
use super::names::is_id;
use std::{fs, time::Duration};

const START: &str = "fdconvert lease 1 ";
/// No lease has more.
pub(super) const MAX_LEASE_BYTES: u64 = 1 << 10;
/// The outcome of a shard lists its skipped samples.
pub(super) const MAX_DONE_BYTES: u64 = 1 << 30;

/// Contents of a lease, of which a worker that was killed may have left the start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Whose it is.
    pub(super) id: Option<String>,
    /// Time that it lasts without being renewed.
    pub(super) lasts: Option<Duration>,
    /// Count of takeovers, from 1; only the lease of an object has it.
    pub(super) generation: Option<u64>,
}

impl Line {
    pub(super) fn parse(text: &[u8]) -> Self {
        let text = str::from_utf8(text).ok();
        let Some(line) = text.and_then(|it| it.strip_prefix(START)?.strip_suffix('\n')) else {
            return Self::default();
        };
        let mut words = line.split(' ');
        let id = words.next().filter(|id| is_id(id)).map(str::to_owned);
        let lasts = words.next().and_then(|word| word.parse().ok()).map(Duration::from_millis);
        let generation = words.nth(1).and_then(|word| word.parse().ok());
        Self { id, lasts, generation }
    }
}

/// The line of a lease without its end: `fdconvert lease 1 ID MILLISECONDS HOST:PID`.
pub(super) fn to_text(id: &str, lasts: Duration) -> String {
    format!("{START}{id} {} {}", lasts.as_millis(), worker())
}

/// For people who look at a lease.
fn worker() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // A space would end the word.
    let host: String = host.split_whitespace().collect();
    format!("{host}:{}", std::process::id())
}
