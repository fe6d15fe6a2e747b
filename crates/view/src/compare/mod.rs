//! Two datasets by their keys: which samples both have, and whether they hold the same.
//!
//! One thread goes through the first dataset, in its order, and then through what only the second
//! one has. Of a sample of the first five bytes are kept, of one of the second sixteen while they are
//! matched. Samples with the same key are matched in their order.

mod contents;
mod found;

use crate::{
    answer::{Answer, Failure},
    request::Asked,
    server::Shared,
    worker::{self, Ended},
};
use contents::Contents;
use fdconvert_core::Reader;
use found::{Found, NONE, Row, State, States};
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

const MOST: u32 = 1000;
const DEFAULT: u32 = 200;

/// Samples between two looks at what others wait for.
const BLOCK: u64 = 256;

/// Two datasets, and what was found so far.
pub(crate) struct Comparison {
    readers: [Arc<dyn Reader>; 2],
    begun: Once,
    found: Mutex<Found>,
}

/// `api/compare`.
pub(crate) fn answer(shared: &Shared, asked: &Asked) -> Result<Answer, Failure> {
    let comparison = shared.comparison.as_ref();
    let comparison =
        comparison.ok_or_else(|| Failure::missing("there is one dataset and no second one"))?;
    let states = States::asked(asked)?;
    let start: u64 = asked.number("start")?.unwrap_or(0);
    let count = asked.number_within("count", 1..=MOST, DEFAULT)?;
    comparison.begin(&shared.ended);
    Ok(Answer::json(&comparison.page(states, start, count as usize)))
}

impl Comparison {
    pub(crate) fn new(a: Arc<dyn Reader>, b: Arc<dyn Reader>) -> Self {
        Self { readers: [a, b], begun: Once::new(), found: Mutex::default() }
    }

    fn begin(self: &Arc<Self>, ended: &Ended) {
        self.begun.call_once(|| {
            let (comparison, ended) = (self.clone(), ended.clone());
            worker::start("compare", move || comparison.compare(&ended));
        });
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(&self, states: States, start: u64, count: usize) -> Json {
        let found = self.found();
        let (scanned, is_complete) = (found.scanned(), found.is_complete());
        let (counts, total) = (found.counts(), found.total(states));
        let page = found.page(states, start, count);
        // Keys are read without holding up the comparison.
        drop(found);
        let [a, b] = &self.readers;
        let row = |row: Row| {
            let key = row.a.map(|index| a.key(index)).or_else(|| row.b.map(|index| b.key(index)));
            json!({"key": key, "a": row.a, "b": row.b, "same": row.state == State::Same})
        };
        let rows: Vec<Json> = page.into_iter().map(row).collect();
        let counts = State::ALL.into_iter().zip(counts);
        let counts: Map<String, Json> =
            counts.map(|(state, n)| (state.name().to_owned(), json!(n))).collect();
        json!({
            "scanned": scanned,
            "complete": is_complete,
            "total": total,
            "start": start,
            "rows": rows,
            "counts": counts,
        })
    }

    fn compare(&self, ended: &Ended) {
        let [a, b] = &self.readers;
        let (a, b) = (&**a, &**b);
        let Some(mut partners) = Partners::of(b, ended) else { return };
        let contents = Contents::of(a, b);
        let len = a.len().min(u64::from(NONE));
        let mut start = 0;
        while start < len {
            let end = len.min(start + BLOCK);
            let matched: Vec<(u64, u32)> =
                (start..end).map(|index| (index, partners.take(&a.key(index)))).collect();
            let ahead = contents.announce(&matched);
            for (index, partner) in matched {
                if ended.is_set() {
                    return;
                }
                let same = partner != NONE && contents.are_same(index, partner.into());
                self.found().add(partner, same);
            }
            drop(ahead);
            start = end;
        }
        self.found().end(partners.left());
    }
}

/// The samples of the second dataset by their keys, each to be taken once.
struct Partners<'a> {
    reader: &'a dyn Reader,
    /// Hashes of keys, sorted, with the numbers of the samples.
    by_key: Vec<(u64, u32)>,
    is_taken: Vec<bool>,
}

impl<'a> Partners<'a> {
    fn of(reader: &'a dyn Reader, ended: &Ended) -> Option<Self> {
        let len = u32::try_from(reader.len()).unwrap_or(NONE);
        let mut by_key = Vec::new();
        for index in 0..len {
            if u64::from(index) % BLOCK == 0 && ended.is_set() {
                return None;
            }
            by_key.push((xxh3_64(reader.key(index.into()).as_bytes()), index));
        }
        by_key.sort_unstable();
        Some(Self { reader, is_taken: vec![false; len as usize], by_key })
    }

    /// The first sample of that key that was not taken, or [`NONE`].
    fn take(&mut self, key: &str) -> u32 {
        let hash = xxh3_64(key.as_bytes());
        let first = self.by_key.partition_point(|(other, _)| *other < hash);
        let candidates = self.by_key.iter().skip(first).take_while(|(other, _)| *other == hash);
        let is_free = |index: u32| self.is_taken.get(index as usize) == Some(&false);
        let found = candidates
            .map(|(_, candidate)| *candidate)
            .find(|candidate| is_free(*candidate) && self.reader.key((*candidate).into()) == key);
        let Some(found) = found else { return NONE };
        if let Some(is_taken) = self.is_taken.get_mut(found as usize) {
            *is_taken = true;
        }
        found
    }

    fn left(self) -> Vec<u32> {
        let all = (0..).zip(self.is_taken);
        all.filter(|(_, is_taken)| !is_taken).map(|(index, _)| index).collect()
    }
}
