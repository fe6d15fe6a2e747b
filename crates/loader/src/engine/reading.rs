//! Reads of samples from storage, with retries if they may help.
use super::setup::Setup;
use crate::{
    dataset::{Datasets, Fetched, Located},
    failure::{backoff, may_pass},
    order::Place,
    supply::Store,
};
use fdconvert_core::{Error, Result};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

pub(crate) struct Reading<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) store: &'a Store,
    pub(crate) datasets: &'a Datasets,
    pub(crate) stopped: &'a AtomicBool,
}

impl Reading<'_> {
    /// Reads the sample at a place.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn read(&self, place: Place) -> Result<Fetched> {
        let Self { setup: Setup { groups, counters, options, .. }, store, datasets, stopped } =
            self;
        let located = groups.locate(datasets, place);
        let mut tries = 0;
        loop {
            let read = || store.read(datasets, located, counters);
            let read = catch_unwind(AssertUnwindSafe(read))
                .unwrap_or_else(|panic| Err(panicked(datasets, located, &*panic)));
            match read {
                Err(error) if may_pass(&error) && tries < options.failures.retries => {
                    if stopped.load(Ordering::Relaxed) {
                        break Err(Error::Cancelled);
                    }
                    counters.retried();
                    thread::sleep(backoff(tries));
                    tries += 1;
                }
                other => break other,
            }
        }
    }
}

/// Converts a panic over a sample to an error of the sample. Catching it is safe: a thread keeps
/// only buffers between samples, which the next sample overwrites, and decoders, which are replaced
/// after they were taken for work.
pub(super) fn panicked(datasets: &Datasets, located: Located, panic: &(dyn Any + Send)) -> Error {
    let key = datasets.key(located);
    Error::sample(key, format!("a panic, which is a bug: {}", message(panic)))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
