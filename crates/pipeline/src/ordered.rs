//! Work by many threads, with ordered results and bounded memory.
//!
//! Workers take indices in ascending order and put results into a window; one consumer, on the
//! caller's thread, takes them out in ascending order. A worker may start index `i` if the waiting
//! results weigh less than the budget and `i` is inside the window, or if the consumer waits for
//! `i`. The last clause prevents deadlock for any budget: indices are handed out in order, so that
//! the consumer's next index is always done, in work, or free to take. Chunks with a barrier
//! (`rayon::join` of write and encode) would be worse: one large image would idle all other workers
//! at every chunk's end, and a chunk's memory is not bounded.
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Number of results of any weight that may wait for the consumer: bounds the window's own memory.
const WINDOW: u64 = 4096;

/// Time spent waiting, which shows the bottleneck.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    /// Time that all workers together waited for room: the consumer is the bottleneck.
    pub(crate) workers: Duration,
    /// Time that the consumer waited for results: the workers are the bottleneck.
    pub(crate) consumer: Duration,
}

struct State<T> {
    next: u64,
    /// Index of the window's first slot: the consumer's next one.
    head: u64,
    window: VecDeque<Option<T>>,
    /// Weight of the finished results in the window.
    weight: u64,
    stopped: bool,
    workers_waited: Duration,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    room: Condvar,
    ready: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A poisoned lock means that a thread died between two assignments below, none of which can
        // panic; the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.room.notify_all();
        self.ready.notify_all();
    }
}

/// Stops everything when dropped: a worker that panics must not leave the consumer waiting forever,
/// nor a consumer that returns early the workers.
struct StopOnDrop<'a, T>(&'a Shared<T>);

impl<T> Drop for StopOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Calls `work(&mut own, i)` for every `i` of `range` on `n_workers` threads of `pool`, with `own`
/// from `init` once per thread, and `consume(result)` in ascending order on the calling thread.
/// Stops early at the first error of `consume` and returns it.
///
/// # Panics
/// If `work` or `consume` panics.
pub(crate) fn ordered<W, T: Send, E>(
    pool: &rayon::ThreadPool,
    range: Range<u64>,
    budget: u64,
    init: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, u64) -> T + Sync,
    weigh: impl Fn(&T) -> u64 + Sync,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<Waits, E> {
    let shared = Shared {
        state: Mutex::new(State {
            next: range.start,
            head: range.start,
            window: VecDeque::new(),
            weight: 0,
            stopped: false,
            workers_waited: Duration::ZERO,
        }),
        room: Condvar::new(),
        ready: Condvar::new(),
    };
    let worker = || {
        let mut own = init();
        let _stop_if_panicking = OnPanic(&shared);
        while let Some(index) = take(&shared, range.end, budget) {
            let result = work(&mut own, index);
            put(&shared, index, weigh(&result), result);
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 0..pool.current_num_threads() {
            scope.spawn(|_| worker());
        }
        let _stop = StopOnDrop(&shared);
        let mut consumer = Duration::ZERO;
        for index in range.clone() {
            let began = Instant::now();
            let Some(result) = wait_for(&shared, index, &weigh) else { break };
            consumer += began.elapsed();
            consume(result)?;
        }
        let workers = shared.lock().workers_waited;
        Ok(Waits { workers, consumer })
    })
}

/// Stops the others when its thread unwinds; rayon then propagates the panic.
struct OnPanic<'a, T>(&'a Shared<T>);

impl<T> Drop for OnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

fn take<T>(shared: &Shared<T>, end: u64, budget: u64) -> Option<u64> {
    let mut state = shared.lock();
    let mut waited = None;
    loop {
        if state.stopped || state.next >= end {
            break;
        }
        let ahead = state.next - state.head;
        if ahead == 0 || (ahead < WINDOW && state.weight < budget) {
            break;
        }
        waited.get_or_insert_with(Instant::now);
        state = shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.workers_waited += waited.map_or(Duration::ZERO, |began| began.elapsed());
    if state.stopped || state.next >= end {
        return None;
    }
    let index = state.next;
    state.next += 1;
    state.window.push_back(None);
    Some(index)
}

fn put<T>(shared: &Shared<T>, index: u64, weight: u64, result: T) {
    let mut state = shared.lock();
    let slot = usize::try_from(index - state.head).unwrap_or(usize::MAX);
    if let Some(slot) = state.window.get_mut(slot) {
        *slot = Some(result);
        state.weight = state.weight.saturating_add(weight);
    }
    if index == state.head {
        shared.ready.notify_one();
    }
}

/// Returns the result of the window's head; `None` if the workers have stopped without it.
fn wait_for<T>(shared: &Shared<T>, index: u64, weigh: &impl Fn(&T) -> u64) -> Option<T> {
    let mut state = shared.lock();
    debug_assert_eq!(state.head, index);
    loop {
        if let Some(Some(_)) = state.window.front() {
            let result = state.window.pop_front().flatten()?;
            state.head += 1;
            state.weight = state.weight.saturating_sub(weigh(&result));
            // The window has moved: every waiting worker may have room now.
            shared.room.notify_all();
            return Some(result);
        }
        if state.stopped {
            return None;
        }
        state = shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn results_come_in_order_within_the_budget(
            threads in 1_usize..6, n in 0_u64..300, budget in 0_u64..50, stop in 0_u64..400,
        ) {
            let waiting = AtomicU64::new(0);
            let mut seen = Vec::new();
            let outcome = ordered(
                &pool(threads),
                10..10 + n,
                budget,
                || (),
                |(), index| {
                    if index % 7 == 0 {
                        std::thread::yield_now();
                    }
                    // Started results weigh one each; those in work may exceed the budget by one
                    // per thread.
                    let now = waiting.fetch_add(1, Ordering::SeqCst);
                    assert!(now <= budget + threads as u64 + 1, "{now}");
                    index
                },
                |_| 1,
                |index| {
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    seen.push(index);
                    if index == stop { Err(()) } else { Ok(()) }
                },
            );
            let end = if outcome.is_err() { stop + 1 } else { 10 + n };
            prop_assert_eq!(seen, (10..end).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "worker died")]
    fn a_panic_of_a_worker_reaches_the_caller() {
        let _ = ordered(
            &pool(2),
            0..100,
            1000,
            || (),
            |(), index| assert!(index != 50, "worker died"),
            |()| 1,
            |()| Ok::<_, ()>(()),
        );
    }
}
