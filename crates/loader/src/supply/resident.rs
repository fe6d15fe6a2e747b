use super::{
    Cache, Request, Samples,
    copies::Copies,
    policy::{self, Candidates, Choice, Slotted},
};
use crate::{
    dataset::Fetched,
    order::{Order, Permutation, Place, Purpose, derive},
};
use fdconvert_core::Result;
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::Xxh3;

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

    fn cache(&self, slotted: &Slotted<'_>) -> Result<Box<dyn Cache>> {
        let Slotted { slots, seed, fingerprint, folder, .. } = *slotted;
        let slots = slots.iter().map(|(_, n_slots)| *n_slots);
        let slots = match folder {
            None => {
                Slots::Memory(slots.map(|n| (0..n).map(|_| OnceLock::new()).collect()).collect())
            }
            Some(folder) => {
                let slots: Vec<u64> = slots.collect();
                let mut identity = Xxh3::new();
                let parts = [fingerprint, seed].into_iter().chain(slots.iter().copied());
                parts.for_each(|part| identity.update(&part.to_le_bytes()));
                Slots::Folder(Copies::open(folder, identity.digest())?, slots)
            }
        };
        Ok(Box::new(Residents(Arc::new(slots))))
    }
}

/// The resident samples by stratum and id; each is kept from its first use on.
enum Slots {
    Memory(Vec<Vec<OnceLock<Box<Fetched>>>>),
    /// With how many there are of each stratum.
    Folder(Copies, Vec<u64>),
}

impl Slots {
    /// A resident sample that is kept already.
    fn get(&self, place: Place) -> Option<Fetched> {
        match self {
            Self::Memory(_) => self.slot(place)?.get().map(|fetched| Fetched::clone(fetched)),
            Self::Folder(copies, _) => copies.get(&name(place)),
        }
    }

    /// Returns whether a resident sample is kept; a copy that is there may turn out to be damaged.
    fn has(&self, place: Place) -> bool {
        match self {
            Self::Memory(_) => self.slot(place).is_some_and(|slot| slot.get().is_some()),
            Self::Folder(copies, _) => copies.has(&name(place)),
        }
    }

    /// Keeps a resident sample; of one that cannot be kept it says so.
    fn put(&self, place: Place, fetched: Fetched) -> (Fetched, bool) {
        match self {
            Self::Memory(_) => {
                let fetched = fetched.owned();
                // Another thread may have read it for a row that repeats or replaces another.
                let kept = self.slot(place).map(|slot| slot.set(Box::new(fetched.clone())));
                drop(kept);
                (fetched, true)
            }
            Self::Folder(copies, _) => {
                let is_kept = copies.put(&name(place), &fetched).is_ok();
                (fetched, is_kept)
            }
        }
    }

    fn is_resident(&self, place: Place) -> bool {
        match self {
            Self::Memory(_) => self.slot(place).is_some(),
            Self::Folder(_, slots) => {
                slots.get(place.stratum as usize).is_some_and(|n_slots| place.id < *n_slots)
            }
        }
    }

    fn slot(&self, place: Place) -> Option<&OnceLock<Box<Fetched>>> {
        let Self::Memory(slots) = self else { return None };
        slots.get(place.stratum as usize)?.get(usize::try_from(place.id).ok()?)
    }
}

/// The name of a sample's copy.
fn name(Place { stratum, id }: Place) -> String {
    format!("{stratum}-{id}")
}

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

    fn is_kept(&self, place: Place) -> bool {
        self.slots.is_resident(place) && self.slots.has(place)
    }

    fn fetch(&self, Request { place, counters, read, .. }: Request<'_>) -> Result<Fetched> {
        if !self.slots.is_resident(place) {
            return read(place);
        }
        if let Some(fetched) = self.slots.get(place) {
            counters.hit();
            return Ok(fetched);
        }
        let (fetched, is_kept) = self.slots.put(place, read(place)?);
        if !is_kept {
            counters.not_kept();
        }
        Ok(fetched)
    }
}
