//! The faster kind of entropy decoding on this processor.
//!
//! Gathers take from 6 to some 100 cycles, by processor and microcode, so that no table of
//! processors would tell. The first images of a process are decoded by both kinds instead.
use crate::{Entropy, Instructions};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(target_arch = "x86_64")]
use std::time::{Duration, Instant};

/// Number of images that are decoded by both.
const N_TRIALS: u64 = 7;
/// One trial, in the upper half of the number; in the lower one those that lanes have won.
const TRIAL: u64 = 1 << 32;

static TRIALS: AtomicU64 = AtomicU64::new(0);

/// Returns how this process decodes JPEGs that have enough entry points or restart markers: by the
/// faster kind, or `None` until that is measured, on the first such images.
#[must_use]
pub fn fastest_entropy() -> Option<Entropy> {
    let trials = TRIALS.load(Relaxed);
    let lanes_won = trials % TRIAL;
    match trials / TRIAL >= N_TRIALS {
        true if 2 * lanes_won > N_TRIALS => Some(Entropy::LANES),
        false if Instructions::Avx512.are_here() => None,
        _ => Some(Entropy::STREAMS),
    }
}

/// Decodes an image with both kinds, and counts which one is faster.
#[cfg(target_arch = "x86_64")]
pub(crate) fn try_both<E>(mut decode: impl FnMut(Entropy) -> Result<(), E>) -> Result<(), E> {
    let mut least = [Duration::MAX; 2];
    // Twice, because memory is touched for the first time.
    for _ in 0..2 {
        for (entropy, least) in [Entropy::STREAMS, Entropy::LANES].into_iter().zip(&mut least) {
            let began = Instant::now();
            decode(entropy)?;
            *least = (*least).min(began.elapsed());
        }
    }
    let [streams, lanes] = least;
    let more = TRIAL + u64::from(lanes < streams);
    // No more are counted once there are enough.
    let count = |trials| (trials / TRIAL < N_TRIALS).then_some(trials + more);
    let _ = TRIALS.fetch_update(Relaxed, Relaxed, count);
    Ok(())
}
