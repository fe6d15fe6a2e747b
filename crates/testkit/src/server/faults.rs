use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Faults of a server, and their shares.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Which requests it is that something goes wrong with.
    pub seed: u64,
    /// Before every answer.
    pub latency: Duration,
    /// Shares of requests, each with its fault.
    pub shares: Vec<(f64, Fault)>,
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// The connection ends before the answer.
    Reset,
    /// The request is carried out, and the connection ends before the answer.
    Lost,
    /// The body ends after that share of its bytes.
    Cut(f64),
    /// The answer is this status.
    Status(u16),
    /// The answer takes that much longer.
    Stall(Duration),
    /// The entity tag is another one.
    Tag,
}

impl Faults {
    /// The fault of a request, if it has one.
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
