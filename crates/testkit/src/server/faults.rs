use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Faults of a server, and their frequencies.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Seed of the choice of requests that fail.
    pub seed: u64,
    /// Wait before every response.
    pub latency: Duration,
    /// Shares of requests, each with its fault.
    pub shares: Vec<(f64, Fault)>,
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// The connection ends before the response.
    Reset,
    /// The request is executed, and the connection ends before the response.
    Lost,
    /// The body ends after this share of its bytes.
    Cut(f64),
    /// The response has this status.
    Status(u16),
    /// The response takes this much longer.
    Stall(Duration),
    /// The entity tag is changed.
    Tag,
}

impl Faults {
    pub(super) fn of(&self, number: u64) -> Option<Fault> {
        let hash = xxh3_64_with_seed(&number.to_le_bytes(), self.seed);
        let (mut drawn, part) = ((hash >> 11) as f64 / (1_u64 << 53) as f64, hash & 0x7ff);
        for &(share, fault) in &self.shares {
            if drawn < share {
                return Some(match fault {
                    Fault::Cut(most) => Fault::Cut(most * part as f64 / 2048.0),
                    other => other,
                });
            }
            drawn -= share;
        }
        None
    }
}
