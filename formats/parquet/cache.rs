//! Cache of decoded rows, for reads of neighbouring samples.
use super::values::Rows;
use fdconvert_core::{Error, Result};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

/// Limit of the cached bytes.
const KEPT_BYTES: usize = 128 << 20;

/// Limit of the cached failures.
const KEPT_FAILURES: usize = 1 << 16;

/// Place of rows: file, row group, column, page.
pub(crate) type Place = (usize, usize, usize, usize);

/// The most recently decoded rows, within a budget.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: BTreeMap<Place, Arc<Rows>>,
    /// Oldest first.
    order: VecDeque<Place>,
    bytes: usize,
    /// Why rows cannot be decoded. Without it, a damaged page, or rows that a file only claims to
    /// have, would be retried for each row, in quadratic time.
    failures: BTreeMap<Place, Error>,
}

impl Cache {
    pub(crate) fn get(&self, place: Place) -> Option<Arc<Rows>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rows.get(&place).cloned()
    }

    pub(crate) fn put(&self, place: Place, rows: &Arc<Rows>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.rows.insert(place, rows.clone()).is_some() {
            return;
        }
        kept.order.push_back(place);
        kept.bytes += rows.cost();
        while kept.bytes > KEPT_BYTES && kept.order.len() > 1 {
            let Some(oldest) = kept.order.pop_front() else { return };
            if let Some(gone) = kept.rows.remove(&oldest) {
                kept.bytes = kept.bytes.saturating_sub(gone.cost());
            }
        }
    }

    /// # Errors
    /// The known failure of a place.
    pub(crate) fn check(&self, place: Place) -> Result<()> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.failures.get(&place).and_then(of_data).map_or(Ok(()), Err)
    }

    /// Remembers a failure that is due to the data, and returns it.
    pub(crate) fn failed(&self, place: Place, error: Error) -> Error {
        if let Some(copy) = of_data(&error) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.failures.len() < KEPT_FAILURES {
                kept.failures.insert(place, copy);
            }
        }
        error
    }

    /// Empties the cache: damage may have been temporary.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

/// Copies the error if the data causes it: a system error may not recur.
fn of_data(error: &Error) -> Option<Error> {
    Some(match error {
        Error::Corrupt { format, path, offset, what } => {
            let (path, what) = (path.clone(), what.clone());
            Error::Corrupt { format, path, offset: *offset, what }
        }
        Error::Limit { what, asked, most, option } => {
            Error::Limit { what: what.clone(), asked: *asked, most: *most, option: *option }
        }
        _ => return None,
    })
}
