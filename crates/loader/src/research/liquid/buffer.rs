use super::replay::Draw;
use crate::{dataset::Fetched, order::Place, stats::Counters};
use fdconvert_core::Result;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The slots of a two-region buffer. The replay decides which samples have one; the buffer contains
/// at most these and the ones in flight.
///
/// Different threads make a draw and the refill that loads its sample, in any order. The first one
/// reads, the other waits for it and finds the bytes: each sample is read once.
pub(super) struct Buffer {
    /// True if there are refills.
    reads_ahead: bool,
    slots: Mutex<BTreeMap<Place, Arc<Mutex<Slot>>>>,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    /// In memory since before the epoch.
    Kept(Box<Fetched>),
    /// Read by a refill of this epoch, and counted then.
    Refilled(Box<Fetched>),
    /// Drawn before its refill, which then has nothing to do.
    Drawn(Option<Box<Fetched>>),
}

impl Buffer {
    pub(super) fn new(reads_ahead: bool) -> Self {
        Self { reads_ahead, slots: Mutex::default() }
    }

    pub(super) fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    /// Drops all samples that are not wanted.
    pub(super) fn retain(&self, is_wanted: impl Fn(Place) -> bool) {
        lock(&self.slots).retain(|place, slot| {
            let mut slot = lock(slot);
            *slot = match std::mem::take(&mut *slot) {
                Slot::Kept(fetched) | Slot::Refilled(fetched) | Slot::Drawn(Some(fetched))
                    if is_wanted(*place) =>
                {
                    Slot::Kept(fetched)
                }
                _ => Slot::Empty,
            };
            !matches!(*slot, Slot::Empty)
        });
    }

    /// Returns the sample at a place. A draw frees its slot or keeps it; any other read changes
    /// nothing.
    pub(super) fn fetch(
        &self,
        place: Place,
        draw: Option<Draw>,
        counters: &Counters,
        read: impl FnOnce() -> Result<Fetched>,
    ) -> Result<Fetched> {
        let Some(Draw { keep, loaded, refill: _ }) = draw else {
            let slot = lock(&self.slots).get(&place).cloned();
            let fetched = slot.and_then(|slot| lock(&slot).fetched());
            return fetched.map_or_else(read, Ok);
        };
        let slot = lock(&self.slots).entry(place).or_default().clone();
        let mut slot = lock(&slot);
        let (found, was_refilled) = match std::mem::take(&mut *slot) {
            Slot::Kept(fetched) => (Some(*fetched), false),
            Slot::Refilled(fetched) => (Some(*fetched), true),
            Slot::Drawn(fetched) => (fetched.map(|fetched| *fetched), false),
            Slot::Empty => (None, false),
        };
        let fetched = match found {
            Some(fetched) => {
                if !loaded {
                    counters.hit();
                }
                fetched
            }
            None => {
                let fetched = read();
                if fetched.is_err() {
                    lock(&self.slots).remove(&place);
                }
                fetched?
            }
        };
        let stays = keep.then(|| Box::new(fetched.clone().owned()));
        let is_refill_due = self.reads_ahead && loaded && !was_refilled;
        *slot = match stays {
            // The refill must find that there is nothing to do; it removes this.
            stays if is_refill_due => Slot::Drawn(stays),
            Some(stays) => Slot::Kept(stays),
            None => Slot::Empty,
        };
        if matches!(*slot, Slot::Empty) {
            lock(&self.slots).remove(&place);
        }
        Ok(fetched)
    }

    /// Reads a sample ahead of its draw. A failure is left to the draw, which meets it again.
    pub(super) fn refill(&self, place: Place, read: impl FnOnce() -> Result<Fetched>) {
        let slot = lock(&self.slots).entry(place).or_default().clone();
        let mut slot = lock(&slot);
        *slot = match std::mem::take(&mut *slot) {
            Slot::Empty => match read() {
                Ok(fetched) => Slot::Refilled(Box::new(fetched.owned())),
                Err(_) => Slot::Empty,
            },
            Slot::Drawn(Some(fetched)) => Slot::Kept(fetched),
            Slot::Drawn(None) => Slot::Empty,
            there => there,
        };
        if matches!(*slot, Slot::Empty) {
            lock(&self.slots).remove(&place);
        }
    }

    #[cfg(test)]
    fn n_images(&self) -> usize {
        lock(&self.slots).values().filter(|slot| lock(slot).fetched().is_some()).count()
    }
}

impl Slot {
    fn fetched(&self) -> Option<Fetched> {
        match self {
            Self::Empty | Self::Drawn(None) => None,
            Self::Kept(fetched) | Self::Refilled(fetched) | Self::Drawn(Some(fetched)) => {
                Some(Fetched::clone(fetched))
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic during a read leaves the slot empty, which is a valid state.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::RowValues;
    use bytes::Bytes;
    use fdconvert_core::{Codec, Encoded, Error};

    fn sample() -> Result<Fetched> {
        let bytes = Bytes::from_static(&[1, 2, 3]);
        let image = Encoded::new(Codec::Raw, 1, 1, bytes);
        let values = RowValues { label: 1, fields: None };
        Ok(Fetched { key: "a".into(), image, values, is_owned: true })
    }

    fn unread() -> Result<Fetched> {
        Err(Error::sample("a", "read although it is there"))
    }

    const PLACE: Place = Place { stratum: 0, id: 5 };

    fn draw(keep: bool, loaded: bool) -> Option<Draw> {
        Some(Draw { keep, loaded, refill: None })
    }

    #[test]
    fn draw_and_refill_read_once_in_either_order() {
        let counters = Counters::default();
        for keep in [false, true] {
            let buffer = Buffer::new(true);
            buffer.refill(PLACE, sample);
            assert_eq!(buffer.n_images(), 1);
            buffer.fetch(PLACE, draw(keep, true), &counters, unread).unwrap();
            assert_eq!(buffer.n_images(), usize::from(keep));

            let buffer = Buffer::new(true);
            buffer.fetch(PLACE, draw(keep, true), &counters, sample).unwrap();
            buffer.refill(PLACE, unread);
            assert_eq!(buffer.n_images(), usize::from(keep));
            assert_eq!(lock(&buffer.slots).len(), usize::from(keep));
            // The sample is in memory since the start of the next epoch.
            buffer.retain(|place| place == PLACE);
            assert_eq!(buffer.fetch(PLACE, draw(false, false), &counters, unread).is_ok(), keep);
            assert_eq!(buffer.n_images(), 0);
        }
        assert_eq!(counters.read(1, std::time::Duration::ZERO).hits, 1);
    }

    #[test]
    fn failures_leave_nothing_and_are_met_again() {
        let (buffer, counters) = (Buffer::new(true), Counters::default());
        buffer.refill(PLACE, unread);
        assert!(lock(&buffer.slots).is_empty());
        assert!(buffer.fetch(PLACE, draw(true, true), &counters, unread).is_err());
        assert!(lock(&buffer.slots).is_empty());
        // A row that repeats another removes nothing.
        buffer.refill(PLACE, sample);
        buffer.fetch(PLACE, None, &counters, unread).unwrap();
        assert_eq!(buffer.n_images(), 1);
        buffer.retain(|_| false);
        assert_eq!(buffer.n_images(), 0);
    }
}
