//! Decoded rows that are kept for the samples beside the one that was asked for.
use super::values::Rows;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes that are kept at most.
const KEPT_BYTES: usize = 128 << 20;

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

    /// Forgets all of them: what was read may have been damaged for a while only.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}
