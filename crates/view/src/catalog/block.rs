//! The facts of a block of samples, collected by one thread or by several.
use super::Facts;
use crate::worker;
use rayon::{ThreadPool, prelude::*};
use std::{
    ops::Range,
    time::{Duration, Instant},
};

/// Time per sample above which a block is slow. A sample with a separate file takes longer, and one
/// in a table some half a microsecond: dozens of these take less than waking a thread.
const SLOW: Duration = Duration::from_micros(8);

/// Slow blocks in a row that are no longer noise of a busy machine.
const IN_A_ROW: u32 = 3;

/// Collects facts, one block of samples after the other.
#[derive(Default)]
pub(super) struct Blocks {
    /// Created after several slow blocks; without it the calling thread does everything.
    pool: Option<ThreadPool>,
    n_slow: u32,
}

impl Blocks {
    /// Passes the facts of the samples to `take`, in order, whichever threads collected them.
    pub(super) fn each(
        &mut self,
        block: Range<u64>,
        facts: &(impl Fn(u64) -> Option<Facts> + Sync),
        mut take: impl FnMut(Option<Facts>),
    ) {
        if let Some(pool) = &self.pool {
            let found: Vec<Option<Facts>> =
                pool.install(|| block.into_par_iter().map(facts).collect());
            return found.into_iter().for_each(take);
        }
        let (began, n_samples) = (Instant::now(), block.end.saturating_sub(block.start));
        block.for_each(|index| take(facts(index)));
        let most = SLOW.saturating_mul(u32::try_from(n_samples).unwrap_or(u32::MAX));
        self.n_slow = if began.elapsed() > most { self.n_slow.saturating_add(1) } else { 0 };
        // If it cannot be created, it is not tried again.
        if self.n_slow == IN_A_ROW {
            self.pool = worker::pool("catalog");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, sync::Mutex, thread};

    #[test]
    fn slow_blocks_come_in_order_from_several_threads() {
        let by = Mutex::new(BTreeSet::new());
        let look = |index: u64| {
            // The later ones are ready first.
            thread::sleep(Duration::from_micros(200 - index % 16 * 10));
            by.lock().unwrap().insert(format!("{:?}", thread::current().id()));
            (index % 5 != 3).then(|| Facts { bytes: index, ..Facts::default() })
        };
        let (mut blocks, mut found) = (Blocks::default(), Vec::new());
        for start in [0, 16, 32, 48, 64] {
            blocks.each(start..start + 16, &look, |facts| found.push(facts.map(|it| it.bytes)));
        }
        let expected: Vec<_> = (0..80).map(|index| (index % 5 != 3).then_some(index)).collect();
        assert_eq!(found, expected);
        let n_processors = thread::available_parallelism().map_or(1, usize::from);
        assert!(by.lock().unwrap().len() > 1 || n_processors < 2);
    }

    #[test]
    fn fast_blocks_stay_on_one_thread() {
        let mut blocks = Blocks::default();
        let mut n_found = 0;
        blocks.each(0..1_000_000, &|_| None, |_| n_found += 1);
        assert!(n_found == 1_000_000 && blocks.pool.is_none());
    }
}
