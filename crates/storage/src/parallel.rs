use crate::place::is_url;
use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Number of concurrent requests when opening many objects.
const IN_FLIGHT: usize = 32;

/// Calls `open` for each item of a dataset at `path`, and returns the results in order: many at
/// once for objects in a store, which are slow to answer; sequentially on the calling thread for
/// files.
pub fn open_all<T: Sync, R: Send>(
    path: &Path,
    items: &[T],
    open: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    on_threads(if is_url(path) { IN_FLIGHT } else { 1 }, items, open)
}

/// Calls a function for each item on at most `n_threads` threads, and returns the results in order.
pub fn on_threads<T: Sync, R: Send>(
    n_threads: usize,
    items: &[T],
    open: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if n_threads < 2 || items.len() < 2 {
        return items.iter().map(open).collect();
    }
    let next = AtomicUsize::new(0);
    let opened = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            let made = open(item);
            opened.lock().unwrap_or_else(PoisonError::into_inner).push((at, made));
        }
    };
    thread::scope(|scope| {
        for _ in 1..n_threads.min(items.len()) {
            // If some threads do not start, the others do their work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
    opened.sort_by_key(|(at, _)| *at);
    opened.into_iter().map(|(_, made)| made).collect()
}

/// Returns true if `test` holds for any item of a dataset at `path`; tests run as in [`open_all`],
/// until one holds.
pub fn any_of<T: Sync>(path: &Path, items: &[T], test: impl Fn(&T) -> bool + Sync) -> bool {
    let at_once = if is_url(path) { IN_FLIGHT } else { 1 };
    items.chunks(at_once).any(|items| open_all(path, items, &test).contains(&true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for path in ["here", "s3://b/there"] {
            let doubled = open_all(Path::new(path), &items, |item| item * 2);
            assert!(doubled.iter().zip(&items).all(|(a, b)| *a == b * 2));
            assert_eq!(doubled.len(), items.len());
            assert!(open_all(Path::new(path), &[] as &[u8], |_| ()).is_empty());
            assert!(any_of(Path::new(path), &items, |item| *item == 70));
            assert!(!any_of(Path::new(path), &items, |item| *item == 100));
        }
    }
}
