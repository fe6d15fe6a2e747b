use super::{
    Cache, Request, Samples,
    policy::{self, Candidates, Choice},
};
use crate::{
    dataset::Fetched,
    order::{Order, Permutation, Place, Purpose, derive},
};
use fdconvert_core::Result;
use std::sync::{Arc, OnceLock};

/// The same samples for the whole run.
pub(super) struct Method;

impl policy::Method for Method {
    fn name(&self) -> &'static str {
        "resident"
    }

    fn choose(&self, candidates: &Candidates<'_>) -> Result<Choice> {
        let Candidates { group, len, n_bytes, seed, size, .. } = *candidates;
        let residence = Permutation::new(len, derive(seed, Purpose::Resident, [group, 0]));
        let mut left = candidates.share_of(n_bytes);
        let mut n_slots = 0;
        while n_slots < len {
            let Some(rest) = left.checked_sub(size(residence.at(n_slots))?) else { break };
            left = rest;
            n_slots += 1;
        }
        Ok(Choice { n_slots, residence: Some(residence) })
    }

    fn cache(&self, slots: &[(u64, u64)], _seed: u64, _n_ranks: u32) -> Box<dyn Cache> {
        let slots = slots.iter().map(|(_, n_slots)| (0..*n_slots).map(|_| OnceLock::new()));
        Box::new(Residents(Arc::new(Slots(slots.map(Iterator::collect).collect()))))
    }
}

/// A slot for each resident sample by stratum and id, empty until it is first used, and never
/// emptied.
struct Slots(Vec<Vec<OnceLock<Box<Fetched>>>>);

struct Residents(Arc<Slots>);

impl Cache for Residents {
    fn samples(&self, order: Order, _consumed: u64) -> Box<dyn Samples> {
        Box::new(Epoch { order, slots: self.0.clone() })
    }
}

/// An epoch with residents.
struct Epoch {
    order: Order,
    slots: Arc<Slots>,
}

impl Samples for Epoch {
    fn at(&self, position: u64) -> Option<Place> {
        self.order.at(position)
    }

    fn fetch(&self, Request { place, counters, read, .. }: Request<'_>) -> Result<Fetched> {
        let slots = self.slots.0.get(place.stratum as usize);
        let id = usize::try_from(place.id).ok();
        let Some(slot) = slots.and_then(|slots| slots.get(id?)) else { return read(place) };
        if let Some(fetched) = slot.get() {
            counters.hit();
            return Ok(Fetched::clone(fetched));
        }
        let fetched = read(place)?.owned();
        // Another thread may have read it for a row that repeats or replaces another: the same.
        let _ = slot.set(Box::new(fetched.clone()));
        Ok(fetched)
    }
}
