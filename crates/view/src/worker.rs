//! Threads that work behind the server until it ends.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Tells threads that no one waits for them any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended(Arc<AtomicBool>);

impl Ended {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Starts a thread; what it is for says its name.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without it answers say that nothing was found yet.
    let _ = thread::Builder::new().name(format!("view-{name}")).spawn(work);
}
