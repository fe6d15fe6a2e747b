use std::{process, sync::OnceLock};

/// A value that each process has of its own.
///
/// A forked child has the locks of its parent as they were, held ones for ever, and tasks that no
/// thread works on. So it appends a value of its own, and looks at no other.
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
    /// That of this process, if it has one already.
    pub(crate) fn get(&self) -> Option<&T> {
        let mut own = self.0.get()?;
        let here = process::id();
        while own.process != here {
            own = own.next.0.get()?;
        }
        Some(&own.value)
    }

    /// That of a process, made by the first who asks.
    pub(crate) fn of(&self, process: u32) -> &T {
        let make = || Box::new(Own { process, value: T::default(), next: PerProcess::default() });
        let mut own = self.0.get_or_init(make);
        while own.process != process {
            own = own.next.0.get_or_init(make);
        }
        &own.value
    }
}
