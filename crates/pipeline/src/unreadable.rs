use crate::{
    OnError,
    failure::{Failure, is_of_content, reason},
};
use fdconvert_core::{Error, Remark, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

/// Number of kept reasons: a few KB can claim millions of unreadable samples.
const MAX_REASONS: usize = 100_000;

/// Samples that a plan needed and could not read.
///
/// A failed read must not change a plan silently: a second one may succeed, and the same input and
/// options would give other bytes.
pub(crate) struct Unreadable {
    on_error: Option<OnError>,
    found: Mutex<Reasons>,
}

/// Positions, the first ones with their reasons, independent of the order in which threads find
/// them.
#[derive(Default)]
struct Reasons {
    reasons: BTreeMap<u64, Remark>,
    others: BTreeSet<u64>,
}

impl Reasons {
    fn add(&mut self, position: u64, error: &Error, max_reasons: usize) {
        if self.reasons.contains_key(&position) || self.others.contains(&position) {
            return;
        }
        self.reasons.insert(position, reason(error));
        if self.reasons.len() > max_reasons {
            self.others.extend(self.reasons.pop_last().map(|(last, _)| last));
        }
    }
}

impl Unreadable {
    pub(crate) fn new(on_error: Option<OnError>) -> Self {
        Self { on_error, found: Mutex::default() }
    }

    /// Returns the value, or `None` if the sample does not influence the plan.
    pub(crate) fn settle<T>(&self, position: u64, read: Result<T>) -> Result<Option<T>> {
        let error = match read {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        match self.on_error {
            Some(OnError::Skip) => {
                let error = Failure::of_reading(error).skipped()?;
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.add(position, &error, MAX_REASONS);
                Ok(None)
            }
            None if is_of_content(&error) => Ok(None),
            _ => Err(error),
        }
    }

    /// Returns the positions, with the kept reasons.
    pub(crate) fn into_reasons(self) -> BTreeMap<u64, Option<Remark>> {
        let Reasons { reasons, others } =
            self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let reasons = reasons.into_iter().map(|(position, reason)| (position, Some(reason)));
        reasons.chain(others.into_iter().map(|position| (position, None))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reasons_are_kept_in_whatever_order_they_were_found() {
        for order in [[1, 5, 7, 9, 5], [9, 7, 5, 1, 9]] {
            let unreadable = Unreadable::new(Some(OnError::Skip));
            let mut found = unreadable.found.lock().unwrap();
            for position in order {
                found.add(position, &Error::sample(position.to_string(), "cut"), 2);
            }
            drop(found);
            let kept = unreadable.into_reasons().into_iter();
            let kept: Vec<_> =
                kept.map(|(position, reason)| (position, reason.is_some())).collect();
            assert_eq!(kept, [(1, true), (5, true), (7, false), (9, false)]);
        }
    }
}
