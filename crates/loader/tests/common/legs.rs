//! A run of training in pieces.
use proptest::prelude::*;

/// Part of a training between two stops.
#[derive(Debug, Clone)]
pub(crate) struct Leg {
    pub(crate) world: u32,
    pub(crate) batch: u32,
    pub(crate) threads: usize,
    pub(crate) fetch_threads: usize,
    pub(crate) prefetch: usize,
    pub(crate) steps: usize,
}

/// Generates legs with batches and steps below these numbers.
pub(crate) fn leg(batch: u32, steps: usize) -> impl Strategy<Value = Leg> {
    (1..4u32, 1..batch, 1..4usize, 0..3usize, 1..4usize, 1..steps).prop_map(
        |(world, batch, threads, fetch_threads, prefetch, steps)| Leg {
            world,
            batch,
            threads,
            fetch_threads,
            prefetch,
            steps,
        },
    )
}
