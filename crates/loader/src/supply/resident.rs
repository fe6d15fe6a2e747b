use crate::{dataset::Fetched, groups::Groups, order::Place, stats::Counters};
use fdconvert_core::Result;
use std::sync::OnceLock;

/// The resident samples: a slot for each, empty until it is first used, and never emptied.
pub(super) struct Resident {
    /// By stratum and id.
    slots: Vec<Vec<OnceLock<Box<Fetched>>>>,
}

impl Resident {
    pub(super) fn new(groups: &Groups) -> Self {
        let slots = |(_, n_slots)| (0..n_slots).map(|_| OnceLock::new()).collect();
        Self { slots: groups.slots().map(slots).collect() }
    }

    pub(super) fn fetch(
        &self,
        place: Place,
        counters: &Counters,
        read: impl FnOnce() -> Result<Fetched>,
    ) -> Result<Fetched> {
        let slots = self.slots.get(place.stratum as usize);
        let id = usize::try_from(place.id).ok();
        let Some(slot) = slots.and_then(|slots| slots.get(id?)) else { return read() };
        if let Some(fetched) = slot.get() {
            counters.hit();
            return Ok(Fetched::clone(fetched));
        }
        let fetched = read()?.owned();
        // Another thread may have read it for a row that repeats or replaces another: the same.
        let _ = slot.set(Box::new(fetched.clone()));
        Ok(fetched)
    }
}
