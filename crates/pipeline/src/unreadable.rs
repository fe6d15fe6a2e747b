use crate::{
    OnError,
    failure::{Failure, is_of_content},
};
use fdconvert_core::{Message, Result};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Samples that a plan needed and could not read.
///
/// A plan must not change because a look failed: a second one may succeed, and the same input and
/// options would give other bytes.
pub(crate) struct Unreadable {
    on_error: Option<OnError>,
    reasons: Mutex<BTreeMap<u64, Message>>,
}

impl Unreadable {
    pub(crate) fn new(on_error: Option<OnError>) -> Self {
        Self { on_error, reasons: Mutex::default() }
    }

    /// Returns what was read, or `None` where the sample has no say in the plan.
    pub(crate) fn settle<T>(&self, position: u64, read: Result<T>) -> Result<Option<T>> {
        let error = match read {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        match self.on_error {
            Some(OnError::Skip) => {
                let error = Failure::of_reading(error).skipped()?;
                let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
                reasons.entry(position).or_insert_with(|| error.message());
                Ok(None)
            }
            None if is_of_content(&error) => Ok(None),
            _ => Err(error),
        }
    }

    pub(crate) fn into_reasons(self) -> BTreeMap<u64, Message> {
        self.reasons.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
