//! Intermediate results shared by neighbouring samples. Caching changes no bit of any image.

use fdconvert_core::GOLDEN;
use lru::LruCache;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Reusable buffers of threads, as many as were ever in use at the same time.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs `work` with a buffer that no other thread uses.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut buffer = lock(&self.0).pop().unwrap_or_default();
        let result = work(&mut buffer);
        lock(&self.0).push(buffer);
        result
    }
}

/// The last few results that take microseconds each, by number. Threads that need the same one at
/// the same time wait for the first.
pub(crate) struct Recent<T>(Vec<Mutex<Option<(u64, T)>>>);

impl<T: Clone> Recent<T> {
    pub(crate) fn new(n_slots: usize) -> Self {
        Self((0..n_slots.max(1)).map(|_| Mutex::new(None)).collect())
    }

    /// Returns the result for `number`, made by `make` if it is no longer kept.
    pub(crate) fn get(&self, number: u64, make: impl FnOnce() -> T) -> T {
        // Numbers come in strides, which would share a slot without this.
        let mixed = number.wrapping_mul(GOLDEN) >> 32;
        let slot = (mixed % self.0.len() as u64) as usize;
        let Some(slot) = self.0.get(slot) else { return make() };
        let mut slot = lock(slot);
        match &*slot {
            Some((held, value)) if *held == number => value.clone(),
            _ => {
                let value = make();
                *slot = Some((number, value.clone()));
                value
            }
        }
    }
}

/// The most recently used results that take milliseconds and memory to make.
///
/// A thread that needs a result which another thread is making first makes the next one that no
/// thread has started, and only then waits. So a run through a dataset keeps all cores busy
/// although hundreds of its samples share a result.
pub(crate) struct Shared<T> {
    slots: Mutex<LruCache<u32, Arc<Slot<T>>>>,
    capacity: usize,
}

struct Slot<T> {
    value: OnceLock<T>,
    /// True once a thread has started to make the value.
    taken: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), taken: AtomicBool::new(false) }
    }
}

impl<T: Clone> Shared<T> {
    /// Creates a cache of up to `capacity` results, at least two.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { slots: Mutex::new(LruCache::unbounded()), capacity: capacity.max(2) }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn peek(&self, number: u32) -> Option<T> {
        lock(&self.slots).get(&number)?.value.get().cloned()
    }

    /// Returns the result for `number`, and may make those up to `end` in advance.
    pub(crate) fn get(&self, number: u32, end: u32, make: impl Fn(u32) -> T) -> T {
        let slot = self.slot(number);
        if slot.value.get().is_none() && !self.claim_and_make(number, &slot, &make) {
            // Only half of the kept results may be made in advance, or some would be dropped before
            // their use.
            let ahead =
                number.saturating_add(1)..end.min(number.saturating_add(self.capacity as u32 / 2));
            ahead.into_iter().find(|&next| self.claim_and_make(next, &self.slot(next), &make));
        }
        slot.value.get_or_init(|| make(number)).clone()
    }

    /// Makes the result unless it exists or is being made. Returns whether it did.
    fn claim_and_make(&self, number: u32, slot: &Slot<T>, make: &impl Fn(u32) -> T) -> bool {
        let mine = !slot.taken.swap(true, Ordering::Relaxed);
        if mine {
            slot.value.get_or_init(|| make(number));
        }
        mine
    }

    fn slot(&self, number: u32) -> Arc<Slot<T>> {
        let mut slots = lock(&self.slots);
        let slot = slots.get_or_insert(number, Arc::default).clone();
        if slots.len() > self.capacity {
            slots.pop_lru();
        }
        slot
    }
}

/// Ignores poisoning: a panic leaves no partial state under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn shared_results_are_made_once_by_any_number_of_threads() {
        let shared = Shared::new(100);
        let made: Vec<AtomicUsize> = (0..20).map(|_| AtomicUsize::new(0)).collect();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..20 {
                        let value = shared.get(number, 20, |number| {
                            made[number as usize].fetch_add(1, Ordering::Relaxed);
                            number * 3
                        });
                        assert_eq!(value, number * 3);
                    }
                });
            }
        });
        assert!(made.iter().all(|made| made.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn shared_results_stay_few_and_the_recent_ones_stay() {
        let shared = Shared::new(4);
        for number in 0..100 {
            assert_eq!(shared.get(number, number + 1, |number| number), number);
            assert!(lock(&shared.slots).len() <= 4);
        }
        assert_eq!((shared.peek(99), shared.peek(50)), (Some(99), None));
    }

    #[test]
    fn recent_results_are_kept_by_number() {
        let recent = Recent::new(1);
        assert_eq!(recent.get(1, || 10), 10);
        assert_eq!(recent.get(1, || 11), 10);
        assert_eq!(recent.get(5, || 50), 50);
        assert_eq!(recent.get(1, || 12), 12);
    }
}
