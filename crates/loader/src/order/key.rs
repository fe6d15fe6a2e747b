//! Keys: one number for every purpose, epoch and part of an order, all derived from one seed.
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Purpose of a key. Two purposes never share a key, so that, say, the shuffle of a batch reveals
/// nothing about the order of a stratum. The numbers are part of the order: never reuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A stratum in an epoch.
    Stratum = 1,
    /// One pass over the samples of a stratum.
    Pass = 2,
    /// The order of the chunks of a pass.
    Chunks = 3,
    /// One block of a windowed pass.
    Block = 4,
    /// The rows of a step.
    Batch = 5,
    /// Properties that a state and the run that resumes it must share.
    Fingerprint = 6,
    /// The resident samples of a stratum; and in an epoch, the order of one of the two parts.
    Resident = 7,
    /// Reads and draws of the two-region buffer, the baseline for residents.
    Regions = 8,
    /// The order of the classes in one turn of balanced draws.
    Turn = 9,
    /// One pass over the samples of a class.
    Class = 10,
    /// A weighted draw with replacement.
    Draw = 11,
    /// The place of a sample among weighted draws without replacement.
    Arrival = 12,
}

/// Derives the key for a purpose and two numbers that distinguish its uses.
#[inline]
pub(crate) fn derive(key: u64, purpose: Purpose, parts: [u64; 2]) -> u64 {
    let mut bytes = [0; 24];
    for (slot, part) in bytes.chunks_exact_mut(8).zip([purpose as u64, parts[0], parts[1]]) {
        slot.copy_from_slice(&part.to_le_bytes());
    }
    xxh3_64_with_seed(&bytes, key)
}

#[cfg(test)]
mod tests {
    use super::{Purpose, derive};
    use std::collections::BTreeSet;

    #[test]
    fn a_key_never_changes() {
        assert_eq!(derive(7, Purpose::Stratum, [3, 1]), PINNED);
    }

    const PINNED: u64 = 0xba55_ba4a_0c51_6aa4;

    #[test]
    fn keys_of_different_uses_differ() {
        let purposes = [Purpose::Stratum, Purpose::Pass, Purpose::Chunks, Purpose::Block];
        let mut keys = BTreeSet::new();
        for key in 0..8 {
            for purpose in purposes {
                for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
                    assert!(keys.insert(derive(key, purpose, [a, b])));
                }
            }
        }
    }
}
