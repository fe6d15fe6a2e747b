use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A switch that asks running work to stop at the next sample; nothing half-made stays behind.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks to stop. May be called from a signal handler's thread, any number of times.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether cancelling was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
