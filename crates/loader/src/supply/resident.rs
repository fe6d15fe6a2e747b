use super::{
    Cache, Own, Request, Samples,
    copies::Copies,
    policy::{self, Candidates, Choice, Slotted},
};
use crate::{
    dataset::Fetched,
    order::{Order, Owners, Permutation, Place, Purpose, derive},
    stats::Counters,
};
use fdconvert_core::Result;
use std::sync::{Arc, OnceLock};

/// Keeps the same samples for the whole run.
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
        let residents = Residents::new(slotted);
        let kept = match slotted.folder {
            None => Kept::Memory((0..residents.n_slots()).map(|_| OnceLock::new()).collect()),
            Some(folder) => Kept::Folder {
                copies: Copies::open(folder, slotted.identity())?,
                of_all: slotted.owned_fit,
            },
        };
        Ok(Box::new(Filling(Arc::new(Slots { residents, kept }))))
    }
}

enum Residents {
    /// The samples of each stratum with ids below the second number; the first is the number of
    /// residents in the strata before it.
    All(Vec<(u64, u64)>),
    /// The samples that this cache owns.
    Owned { owners: Arc<Owners>, cache: u32 },
}

enum Home {
    /// The slot of that number.
    Here(u64),
    /// The cache of other ranks.
    Elsewhere,
    Storage,
}

impl Residents {
    fn new(Slotted { slots, owners, .. }: &Slotted<'_>) -> Self {
        if let Some((owners, cache)) = owners {
            return Self::Owned { owners: Arc::clone(owners), cache: *cache };
        }
        let mut before = 0;
        let numbered = |(_, n_slots): &(u64, u64)| {
            let first = before;
            before += n_slots;
            (first, *n_slots)
        };
        Self::All(slots.iter().map(numbered).collect())
    }

    fn n_slots(&self) -> u64 {
        match self {
            Self::All(strata) => strata.last().map_or(0, |(before, n_slots)| before + n_slots),
            Self::Owned { owners, cache } => owners.n_slots(*cache),
        }
    }

    fn home(&self, place: Place) -> Home {
        match self {
            Self::All(strata) => match strata.get(place.stratum as usize) {
                Some((before, n_slots)) if place.id < *n_slots => Home::Here(before + place.id),
                _ => Home::Storage,
            },
            Self::Owned { owners, cache } => match owners.of(place) {
                Some(slot) if slot.cache == *cache => Home::Here(slot.index),
                Some(_) => Home::Elsewhere,
                None => Home::Storage,
            },
        }
    }
}

/// The resident samples, each kept from its first use on.
struct Slots {
    residents: Residents,
    kept: Kept,
}

enum Kept {
    /// By number of the slot.
    Memory(Vec<OnceLock<Box<Fetched>>>),
    /// `of_all`: it also has room for samples of other ranks.
    Folder { copies: Copies, of_all: bool },
}

impl Slots {
    /// Returns a kept sample. A shared folder may also have one that other ranks own.
    fn get(&self, place: Place, home: &Home) -> Option<Fetched> {
        match (&self.kept, home) {
            (_, Home::Storage) | (Kept::Memory(_), Home::Elsewhere) => None,
            (Kept::Memory(slots), Home::Here(slot)) => {
                slot_of(slots, *slot)?.get().map(|fetched| Fetched::clone(fetched))
            }
            (Kept::Folder { copies, .. }, Home::Here(_) | Home::Elsewhere) => {
                copies.get(&name(place))
            }
        }
    }

    /// Returns true if a sample is kept; its copy may turn out to be damaged.
    fn has(&self, place: Place) -> bool {
        match (&self.kept, self.residents.home(place)) {
            (_, Home::Storage) | (Kept::Memory(_), Home::Elsewhere) => false,
            (Kept::Memory(slots), Home::Here(slot)) => {
                slot_of(slots, slot).is_some_and(|slot| slot.get().is_some())
            }
            (Kept::Folder { copies, .. }, Home::Here(_) | Home::Elsewhere) => {
                copies.has(&name(place))
            }
        }
    }

    /// Keeps a resident sample, and counts it if that fails.
    fn keep(&self, place: Place, home: &Home, fetched: Fetched, counters: &Counters) -> Fetched {
        let (fetched, is_kept) = self.put(place, home, fetched);
        if !is_kept {
            counters.not_kept();
        }
        fetched
    }

    /// Keeps a resident sample; returns false if that fails.
    fn put(&self, place: Place, home: &Home, fetched: Fetched) -> (Fetched, bool) {
        match (&self.kept, home) {
            (Kept::Memory(slots), Home::Here(slot)) => {
                let fetched = fetched.owned();
                // Another thread may have read it for a row that repeats or replaces another.
                let kept = slot_of(slots, *slot).map(|slot| slot.set(Box::new(fetched.clone())));
                drop(kept);
                (fetched, true)
            }
            (Kept::Folder { copies, .. }, Home::Here(_))
            | (Kept::Folder { copies, of_all: true }, Home::Elsewhere) => {
                let is_kept = copies.put(&name(place), &fetched).is_ok();
                (fetched, is_kept)
            }
            _ => (fetched, true),
        }
    }
}

fn slot_of(slots: &[OnceLock<Box<Fetched>>], slot: u64) -> Option<&OnceLock<Box<Fetched>>> {
    slots.get(usize::try_from(slot).ok()?)
}

fn name(Place { stratum, id }: Place) -> String {
    format!("{stratum}-{id}")
}

/// The slots, for all epochs.
struct Filling(Arc<Slots>);

impl Cache for Filling {
    fn samples(&self, order: Order, _consumed: u64) -> Box<dyn Samples> {
        Box::new(Epoch { order, slots: self.0.clone() })
    }

    fn own(&self, place: Place, own: &Own<'_>) -> Option<Result<Fetched>> {
        let home = self.0.residents.home(place);
        if !matches!(home, Home::Here(_)) {
            return None;
        }
        if let Some(fetched) = self.0.get(place, &home) {
            return Some(Ok(fetched));
        }
        Some((own.read)(place).map(|fetched| self.0.keep(place, &home, fetched, own.counters)))
    }

    fn has(&self, place: Place) -> bool {
        self.0.has(place)
    }
}

struct Epoch {
    order: Order,
    slots: Arc<Slots>,
}

impl Samples for Epoch {
    fn at(&self, position: u64) -> Option<Place> {
        self.order.at(position)
    }

    fn is_kept(&self, place: Place) -> bool {
        self.slots.has(place)
    }

    fn fetch(&self, request: Request<'_>) -> Result<Fetched> {
        let Request { place, counters, read, exchanged, .. } = request;
        let home = self.slots.residents.home(place);
        let moved_at = request.drawn_at.filter(|_| matches!(home, Home::Elsewhere));
        if moved_at.is_some() {
            counters.moved();
        }
        if let Some(fetched) = self.slots.get(place, &home) {
            counters.hit();
            return Ok(fetched);
        }
        let fetched = match moved_at.map(exchanged).transpose()?.flatten() {
            Some(fetched) => fetched,
            None => read(place)?,
        };
        Ok(self.slots.keep(place, &home, fetched, counters))
    }
}
