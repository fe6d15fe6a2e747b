//! Comparison of two datasets by their keys: common samples, and their differences.
//!
//! The comparison is that of `fdconvert diff`, in the order of the first dataset; recorded
//! checksums are trusted. It takes twelve bytes per sample.
use crate::{
    answer::{Answer, Failure},
    request::Asked,
    worker,
};
use fdconvert_codec::Decoder;
use fdconvert_core::{Reader, Result};
use fdconvert_pipeline::{Cancel, Comparison, Matched};
use fdconvert_storage::sigbus;
use serde_json::{Map, Value as Json, json};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

const MOST: u32 = 1000;
const DEFAULT: u32 = 200;

/// Position of a sample missing from one of the two.
const NONE: u32 = u32::MAX;

/// Names of states, in parameters and counts.
const STATES: [&str; 4] = ["same", "changed", "only_a", "only_b"];

/// Two datasets, and the results so far.
pub(crate) struct SideBySide {
    readers: [Arc<dyn Reader>; 2],
    begun: Once,
    found: Mutex<Pairs>,
}

/// The pairs so far, in the order of the first dataset, then those only in the second one.
#[derive(Debug, Default)]
struct Pairs {
    pairs: Vec<Pair>,
    /// Number of pairs by state.
    counts: [u64; 4],
    is_complete: bool,
}

/// The samples with one key.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: u32,
    b: u32,
    is_same: bool,
}

impl Pair {
    /// Returns its position in [`STATES`].
    fn state(self) -> usize {
        match self {
            Self { b: NONE, .. } => 2,
            Self { a: NONE, .. } => 3,
            Self { is_same, .. } => usize::from(!is_same),
        }
    }
}

/// `api/compare`.
pub(crate) fn answer(
    comparison: &Arc<SideBySide>,
    asked: &Asked,
    ended: &Cancel,
) -> Result<Answer, Failure> {
    let mut states = [false; 4];
    for (_, value) in asked.parameters().filter(|(name, _)| *name == "state") {
        let known = states.iter_mut().zip(STATES).find(|(_, name)| *name == value);
        let Some((is_in, _)) = known else {
            let known = STATES.join(", ");
            return Err(Failure::asked_wrong(format!("`state={value}` is none of: {known}")));
        };
        *is_in = true;
    }
    if states == [false; 4] {
        states = [true; 4];
    }
    let start: u64 = asked.number("start")?.unwrap_or(0);
    let count = asked.number_within("count", 1..=MOST, DEFAULT)?;
    comparison.begin(ended);
    Ok(Answer::json(&comparison.page(states, start, count as usize)))
}

impl SideBySide {
    pub(crate) fn new(a: Arc<dyn Reader>, b: Arc<dyn Reader>) -> Self {
        Self { readers: [a, b], begun: Once::new(), found: Mutex::default() }
    }

    fn begin(self: &Arc<Self>, ended: &Cancel) {
        self.begun.call_once(|| {
            let (comparison, ended) = (self.clone(), ended.clone());
            worker::start("compare", move || {
                let compare = || comparison.compare(&ended);
                // The only error is the end of the server.
                let _ = match worker::pool("compare") {
                    Some(pool) => pool.install(compare),
                    None => compare(),
                };
            });
        });
    }

    fn found(&self) -> MutexGuard<'_, Pairs> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(&self, states: [bool; 4], start: u64, count: usize) -> Json {
        let found = self.found();
        let (counts, is_complete) = (found.counts, found.is_complete);
        let [same, changed, only_a, _] = counts;
        let is_in = |pair: &&Pair| states.get(pair.state()) == Some(&true);
        let start_of_page = usize::try_from(start).unwrap_or(usize::MAX);
        let pairs = found.pairs.iter().filter(is_in).skip(start_of_page).take(count);
        let page: Vec<Pair> = pairs.copied().collect();
        // Released first, so that reading keys does not block the comparison.
        drop(found);
        let row = |pair: Pair| {
            let [a, b] = [pair.a, pair.b].map(|index| (index != NONE).then_some(u64::from(index)));
            let [first, second] = &self.readers;
            let key = a.map(|index| first.key(index)).or_else(|| b.map(|index| second.key(index)));
            json!({"key": key, "a": a, "b": b, "same": pair.is_same})
        };
        let rows: Vec<Json> = page.into_iter().map(row).collect();
        let total: u64 =
            counts.iter().zip(states).filter(|(_, is_in)| *is_in).map(|(n, _)| n).sum();
        let counts: Map<String, Json> =
            STATES.into_iter().zip(counts).map(|(state, n)| (state.to_owned(), json!(n))).collect();
        json!({
            "scanned": same + changed + only_a,
            "complete": is_complete,
            "total": total,
            "start": start,
            "rows": rows,
            "counts": counts,
        })
    }

    fn compare(&self, ended: &Cancel) -> Result<()> {
        let [a, b] = &self.readers;
        let comparison = Comparison::new(&**a, &**b).trusting_checksums();
        let Matched { both, only_a, only_b } = comparison.matched(ended)?;
        let mut only_a = only_a.into_iter().peekable();
        // Samples that cannot be read count as different.
        let is_same = |pair: [u64; 2], decoder: &mut Decoder| {
            let changed = sigbus::caught(|| comparison.compare(pair, decoder));
            Ok(changed.is_ok_and(|changed| changed.is_none()))
        };
        comparison.each(&both, ended, is_same, |[one, other], is_same| {
            let mut found = self.found();
            while let Some(index) = only_a.next_if(|index| *index < one) {
                found.add(Some(index), None, false);
            }
            found.add(Some(one), Some(other), is_same);
        })?;
        let mut found = self.found();
        only_a.for_each(|index| found.add(Some(index), None, false));
        only_b.into_iter().for_each(|index| found.add(None, Some(index), false));
        found.is_complete = true;
        Ok(())
    }
}

impl Pairs {
    fn add(&mut self, a: Option<u64>, b: Option<u64>, is_same: bool) {
        let number = |index: Option<u64>| index.and_then(|it| u32::try_from(it).ok());
        let [a, b] = [a, b].map(|index| number(index).unwrap_or(NONE));
        let pair = Pair { a, b, is_same };
        if let Some(count) = self.counts.get_mut(pair.state()) {
            *count += 1;
        }
        self.pairs.push(pair);
    }
}
