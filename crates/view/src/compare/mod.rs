//! Two datasets by their keys: which samples both have, and whether they hold the same.
//!
//! The comparison is that of `fdconvert diff`, in the order of the first dataset; checksums are
//! trusted where they are recorded. Of a sample of the first five bytes are kept.

mod found;

use crate::{
    answer::{Answer, Failure},
    request::Asked,
    server::Shared,
    worker,
};
use fdconvert_codec::Decoder;
use fdconvert_core::{Reader, Result};
use fdconvert_pipeline::{Cancel, Comparison as Pairs, Matched};
use fdconvert_storage::sigbus;
use found::{Found, NONE, Row, State, States};
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

const MOST: u32 = 1000;
const DEFAULT: u32 = 200;

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

    fn begin(self: &Arc<Self>, ended: &Cancel) {
        self.begun.call_once(|| {
            let (comparison, ended) = (self.clone(), ended.clone());
            worker::start("compare", move || {
                let compare = || comparison.compare(&ended);
                // An error here is that the server ends.
                let _ = match worker::pool("compare") {
                    Some(pool) => pool.install(compare),
                    None => compare(),
                };
            });
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

    fn compare(&self, ended: &Cancel) -> Result<()> {
        let [a, b] = &self.readers;
        let comparison = Pairs::new(&**a, &**b).trusting_checksums();
        let Matched { both, only_a, only_b } = comparison.matched(ended)?;
        let mut only_a = only_a.into_iter().peekable();
        // What cannot be read is not the same.
        let is_same = |pair: [u64; 2], decoder: &mut Decoder| {
            let changed = sigbus::caught(|| comparison.compare(pair, decoder));
            Ok(changed.is_ok_and(|changed| changed.is_none()))
        };
        comparison.each(&both, ended, is_same, |[one, other], is_same| {
            let mut found = self.found();
            while only_a.next_if(|index| *index < one).is_some() {
                found.add(NONE, false);
            }
            found.add(u32::try_from(other).unwrap_or(NONE), is_same);
        })?;
        let mut found = self.found();
        only_a.for_each(|_| found.add(NONE, false));
        found.end(only_b.into_iter().filter_map(|index| u32::try_from(index).ok()).collect());
        Ok(())
    }
}
