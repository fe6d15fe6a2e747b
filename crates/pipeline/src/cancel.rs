use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Switch that stops running work at the next sample; nothing half-made remains.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests a stop. May be called from a signal handler's thread, any number of times.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if a stop was requested.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
