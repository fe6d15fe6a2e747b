//! Threads that work behind the server until it ends.
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::thread;

/// Threads of a pool at most: a viewer is not to take all of a large machine.
const MOST: usize = 8;

/// Starts a thread; what it is for says its name.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without it answers say that nothing was found yet.
    let _ = thread::Builder::new().name(format!("view-{name}")).spawn(work);
}

/// Several threads; none where the machine has one processor, or refuses them.
pub(crate) fn pool(name: &'static str) -> Option<ThreadPool> {
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if n_threads < 2 {
        return None;
    }
    let named = move |number| format!("view-{name}-{number}");
    ThreadPoolBuilder::new().num_threads(n_threads).thread_name(named).build().ok()
}
