//! Background threads that run until the server ends.
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::thread;

/// Largest number of threads of a pool: a viewer should not occupy all of a large machine.
const MOST: usize = 8;

/// Starts a thread, named after its purpose.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without it responses report no progress.
    let _ = thread::Builder::new().name(format!("view-{name}")).spawn(work);
}

/// Starts several threads; `None` if the machine has one processor, or refuses them.
pub(crate) fn pool(name: &'static str) -> Option<ThreadPool> {
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if n_threads < 2 {
        return None;
    }
    let named = move |number| format!("view-{name}-{number}");
    ThreadPoolBuilder::new().num_threads(n_threads).thread_name(named).build().ok()
}
