use std::{process, sync::OnceLock};

/// A value that exists once per process.
///
/// A forked child inherits the locks of its parent in their current state, so that a held one stays
/// held forever, and tasks without threads. So it appends its own value, and touches no other.
#[derive(Debug)]
pub(crate) struct PerProcess<T>(OnceLock<Box<Own<T>>>);

#[derive(Debug)]
struct Own<T> {
    process: u32,
    value: T,
    next: PerProcess<T>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: Default> PerProcess<T> {
    /// Returns this process's value, if it has one.
    pub(crate) fn get(&self) -> Option<&T> {
        let mut own = self.0.get()?;
        let here = process::id();
        while own.process != here {
            own = own.next.0.get()?;
        }
        Some(&own.value)
    }

    /// Returns a process's value, created on first use.
    pub(crate) fn of(&self, process: u32) -> &T {
        let make = || Box::new(Own { process, value: T::default(), next: PerProcess::default() });
        let mut own = self.0.get_or_init(make);
        while own.process != process {
            own = own.next.0.get_or_init(make);
        }
        &own.value
    }
}
