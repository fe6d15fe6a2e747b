//! Reading ahead: announces upcoming reads to their storage, in time and within a budget.
use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Data that was announced for reading soon. It is kept ready until this is dropped.
#[derive(Default)]
pub struct Ahead(Vec<Box<dyn Send + Sync>>);

impl Ahead {
    /// Adds a value to be dropped together with this.
    pub fn hold(&mut self, held: impl Send + Sync + 'static) {
        self.0.push(Box::new(held));
    }

    /// Merges another announcement into this one.
    pub fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns true if nothing was announced.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ahead").field(&self.0.len()).finish()
    }
}

/// Number of blocks in a budget: one is announced when another has been read.
const BLOCKS: usize = 8;
/// Maximum number of reads in a block, however small they are.
const MAX_READS: usize = 8192;

/// An upcoming read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coming<T> {
    /// The data to read; `None` for a read that needs no storage.
    pub what: Option<T>,
    /// Estimated size in bytes.
    pub bytes: u64,
}

/// Announces reads in their order, as far ahead as a budget allows.
///
/// Reads are numbered from 0. Readers call [`before`](Self::before) and [`after`](Self::after)
/// around each read, from any thread, in about that order. A thread that is about to read data not
/// announced yet announces it, and one that finds room in the budget announces the next block; so
/// no extra thread is needed, and threads wait for each other only at the start.
pub struct Window<'a, T> {
    /// Limit of bytes announced and not read yet.
    budget: u64,
    /// One past the last announced read.
    end: AtomicU64,
    held: AtomicU64,
    plan: Mutex<Plan<'a, T>>,
    blocks: Mutex<VecDeque<Block>>,
}

type Announce<'a, T> = Box<dyn FnMut(&[T]) -> Ahead + Send + 'a>;

struct Plan<'a, T> {
    reads: Box<dyn Iterator<Item = Coming<T>> + Send + 'a>,
    announce: Announce<'a, T>,
    is_over: bool,
}

struct Block {
    /// One past the last of its reads; they start at the end of the block before.
    end: u64,
    n_left: u64,
    bytes: u64,
    /// Dropped with the block.
    _ahead: Ahead,
}

impl<'a, T> Window<'a, T> {
    /// Creates a window over these reads, within `budget` bytes.
    pub fn new(
        budget: u64,
        reads: impl Iterator<Item = Coming<T>> + Send + 'a,
        announce: impl FnMut(&[T]) -> Ahead + Send + 'a,
    ) -> Self {
        let plan = Plan { reads: Box::new(reads), announce: Box::new(announce), is_over: false };
        Self {
            budget,
            end: AtomicU64::new(0),
            held: AtomicU64::new(0),
            plan: Mutex::new(plan),
            blocks: Mutex::default(),
        }
    }

    /// Reports that read `number` is about to begin.
    pub fn before(&self, number: u64) {
        if number >= self.end.load(Ordering::Acquire) {
            let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
            while number >= self.end.load(Ordering::Acquire) && self.announce(&mut plan) {}
        }
        while self.has_room() {
            let mut plan = match self.plan.try_lock() {
                Ok(plan) => plan,
                Err(TryLockError::Poisoned(plan)) => plan.into_inner(),
                // Another thread does it.
                Err(TryLockError::WouldBlock) => return,
            };
            if !self.announce(&mut plan) {
                return;
            }
        }
    }

    /// Reports that read `number` has ended, successfully or not.
    pub fn after(&self, number: u64) {
        let mut blocks = self.blocks();
        let at = blocks.partition_point(|block| block.end <= number);
        let Some(block) = blocks.get_mut(at) else { return };
        block.n_left = block.n_left.saturating_sub(1);
        if block.n_left > 0 {
            return;
        }
        let read = blocks.remove(at);
        self.held.fetch_sub(read.as_ref().map_or(0, |block| block.bytes), Ordering::Relaxed);
        drop(blocks);
        // Outside the lock: freeing much memory takes time.
        drop(read);
    }

    fn blocks(&self) -> MutexGuard<'_, VecDeque<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_bytes(&self) -> u64 {
        self.budget / BLOCKS as u64
    }

    fn has_room(&self) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        held.saturating_add(self.block_bytes()) <= self.budget && self.blocks().len() < BLOCKS
    }

    /// Announces the next block; false when there are no more.
    fn announce(&self, plan: &mut Plan<'_, T>) -> bool {
        let (mut whats, mut bytes, mut n_reads) = (Vec::new(), 0_u64, 0);
        while !plan.is_over && bytes < self.block_bytes().max(1) && n_reads < MAX_READS {
            let Some(read) = plan.reads.next() else {
                plan.is_over = true;
                break;
            };
            n_reads += 1;
            bytes = bytes.saturating_add(read.bytes);
            whats.extend(read.what);
        }
        if n_reads == 0 {
            return false;
        }
        let _ahead = (plan.announce)(&whats);
        let end = self.end.load(Ordering::Relaxed) + n_reads as u64;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.blocks().push_back(Block { end, n_left: n_reads as u64, bytes, _ahead });
        self.end.store(end, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Counts the announced reads that have not been dropped.
    struct Held(Arc<AtomicU64>, u64);

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_sub(self.1, Ordering::Relaxed);
        }
    }

    /// A window of reads of ten bytes; every third one needs no announcement.
    fn window(n_reads: u64, budget: u64) -> (Window<'static, u64>, Arc<AtomicU64>) {
        let held = Arc::new(AtomicU64::new(0));
        let reads = (0..n_reads).map(|number| match number % 3 {
            2 => Coming { what: None, bytes: 0 },
            _ => Coming { what: Some(number), bytes: 10 },
        });
        let counted = held.clone();
        let mut last = None;
        let announce = move |whats: &[u64]| {
            assert!(whats.is_sorted() && whats.first().copied() > last);
            last = whats.last().copied().or(last);
            counted.fetch_add(whats.len() as u64, Ordering::Relaxed);
            let mut ahead = Ahead::default();
            ahead.hold(Held(counted.clone(), whats.len() as u64));
            ahead
        };
        (Window::new(budget, reads, announce), held)
    }

    #[test]
    fn what_is_announced_stays_within_the_budget_and_is_given_up_once_read() {
        let (window, held) = window(1000, 800);
        for number in 0..1000 {
            window.before(number);
            let held = held.load(Ordering::Relaxed) * 10;
            assert!(held <= 800 + 100, "{held}");
            assert!(number > 800 || held >= 600, "{held} at {number}");
            window.after(number);
        }
        assert_eq!(held.load(Ordering::Relaxed), 0);
        window.before(1000);
        window.after(1000);
    }

    #[test]
    fn many_threads_read_out_of_order() {
        for budget in [0, 50, 1000, u64::MAX] {
            let (window, held) = window(5000, budget);
            let next = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        while let number = next.fetch_add(1, Ordering::Relaxed)
                            && number < 5000
                        {
                            window.before(number);
                            window.after(number);
                        }
                    });
                }
            });
            assert_eq!(held.load(Ordering::Relaxed), 0, "{budget}");
        }
    }

    #[test]
    fn one_slow_read_does_not_end_the_reading_ahead() {
        let (window, held) = window(1000, 800);
        window.before(0);
        for number in 1..500 {
            window.before(number);
            assert!(held.load(Ordering::Relaxed) >= 50, "{number}");
            window.after(number);
        }
        drop(window);
        assert_eq!(held.load(Ordering::Relaxed), 0);
    }
}
