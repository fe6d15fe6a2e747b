//! Decoded rows that are kept for the samples beside the one that was asked for.
use super::values::Rows;
use fdconvert_core::{Error, Result};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes that are kept at most.
const KEPT_BYTES: usize = 128 << 20;

/// Failures that are kept at most.
const KEPT_FAILURES: usize = 1 << 16;

/// Which rows: file, row group, column, page.
pub(crate) type Place = (usize, usize, usize, usize);

/// The rows that were decoded last, as far as a budget allows.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: BTreeMap<Place, Arc<Rows>>,
    /// In the order in which they came.
    order: VecDeque<Place>,
    bytes: usize,
    /// Why rows cannot be decoded: trying again for each row of a damaged page, or for each row that
    /// a file only claims to have, would take the square of the time.
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
    /// The failure that is known of a place.
    pub(crate) fn check(&self, place: Place) -> Result<()> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.failures.get(&place).and_then(of_data).map_or(Ok(()), Err)
    }

    /// Remembers a failure of the data at a place, and gives it back.
    pub(crate) fn failed(&self, place: Place, error: Error) -> Error {
        if let Some(copy) = of_data(&error) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.failures.len() < KEPT_FAILURES {
                kept.failures.insert(place, copy);
            }
        }
        error
    }

    /// Forgets all of them: what was read may have been damaged for a while only.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

/// The same error, if it is one of the data: what the system refuses may work the next time.
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
