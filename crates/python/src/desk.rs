//! The exchange between threads of Rust, which request samples, and Python's thread, which answers.
//!
//! Samples are announced before they are requested, and fetched in idle time, so that a thread
//! mostly finds its sample ready and does not wait. If Python's thread gets samples one after
//! another, it offers them, and waits until they are announced.
use fdconvert::Result;
use fdconvert_core::{Ahead, Error, Image, Sample, Value};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// One for each piece of work.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// Signals work for Python's thread.
    asked: Condvar,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// Samples that threads wait for.
    awaited: BTreeSet<u64>,
    /// Awaited samples that Python's thread has not taken yet.
    wanted: VecDeque<u64>,
    /// Samples that will be requested, in approximately this order.
    coming: VecDeque<u64>,
    /// Samples that Python's thread has taken, and not answered yet.
    taken: Vec<u64>,
    answers: BTreeMap<u64, Fetched>,
    /// Bytes of the answers.
    answer_bytes: u64,
    result: Option<Result<serde_json::Value>>,
    is_closed: bool,
    /// Samples before this one were announced or requested, or are not needed.
    end: u64,
    /// Number of samples of a stream, once it is known.
    n_samples: Option<u64>,
}

impl State {
    /// Returns the next sample that a thread waits for, or else an announced one.
    fn next_index(&mut self) -> Option<u64> {
        let Some(index) = self.wanted.pop_front() else { return self.coming.pop_front() };
        // Announced samples are requested in approximately that order: it is among the first.
        if let Some(place) = self.coming.iter().position(|coming| *coming == index) {
            self.coming.remove(place);
        }
        Some(index)
    }

    fn put(&mut self, index: u64, sample: Fetched) {
        self.answer_bytes += sample.as_ref().map_or(0, bytes_of);
        self.answers.insert(index, sample);
    }

    fn remove(&mut self, index: u64) -> Option<Fetched> {
        let sample = self.answers.remove(&index)?;
        let bytes = sample.as_ref().map_or(0, bytes_of);
        self.answer_bytes = self.answer_bytes.saturating_sub(bytes);
        Some(sample)
    }

    /// Takes the needed ones of samples numbered from `first`, and drops those that are not needed;
    /// leaves those that may be needed later, or are too much. Returns whether a thread waited for
    /// one.
    fn take(&mut self, first: &mut u64, samples: &mut VecDeque<Fetched>) -> bool {
        let mut is_awaited = false;
        while *first < self.end
            && (self.answer_bytes < MOST_BYTES || self.awaited.contains(first))
            && let Some(sample) = samples.pop_front()
        {
            let index = mem::replace(first, *first + 1);
            let coming = self.coming.iter().position(|coming| *coming == index);
            let is_coming = coming.and_then(|place| self.coming.remove(place)).is_some();
            let wanted = self.wanted.iter().position(|wanted| *wanted == index);
            let is_wanted = wanted.and_then(|place| self.wanted.remove(place)).is_some();
            if is_coming || is_wanted {
                self.put(index, sample);
                is_awaited |= self.awaited.contains(&index);
            }
        }
        is_awaited
    }
}

/// Limit on the bytes of offered samples that may wait for requests, whatever their estimated size.
const MOST_BYTES: u64 = 64 << 20;

/// Estimates the bytes of a sample in memory.
pub(crate) fn bytes_of(sample: &Sample<Image>) -> u64 {
    let bytes = sample.values.iter().map(|value| match value {
        Value::Image(_) | Value::Images(_) => value.images().iter().map(Image::n_bytes).sum(),
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes.len(),
        Value::Text(text) => text.len(),
        _ => size_of::<u64>(),
    });
    (size_of::<Sample<Image>>() + bytes.sum::<usize>()) as u64
}

/// A sample, or the error of fetching it.
pub(crate) type Fetched = Result<Sample<Image>>;

#[derive(PartialEq, Eq)]
pub(crate) enum Offered {
    /// They were taken.
    Taken,
    /// Some were not announced yet, or too many are waiting.
    Early,
    /// The work has ended with an error.
    Failed,
}

pub(crate) enum Next {
    /// Fetch this sample. The others will be requested next, in approximately their order.
    Fetch(u64, Vec<u64>),
    /// End: the work is done.
    Done(Result<serde_json::Value>),
    /// Nothing was requested: check for signals.
    Nothing,
}

impl Desk {
    /// Returns sample `index` once Python's thread has fetched it.
    ///
    /// # Errors
    /// The error of the fetch; `Cancelled` once Python's thread no longer answers.
    pub(crate) fn ask(&self, index: u64) -> Fetched {
        let mut state = self.state();
        loop {
            let was_full = state.answer_bytes >= MOST_BYTES;
            if let Some(answer) = state.remove(index) {
                state.awaited.remove(&index);
                if was_full {
                    self.asked.notify_one();
                }
                return answer;
            }
            if state.is_closed {
                return Err(Error::Cancelled);
            }
            if let Some(n_samples) = state.n_samples.filter(|n| *n <= index) {
                state.awaited.remove(&index);
                let what = format!("{index} is not below {n_samples}, the number of samples");
                return Err(Error::usage("index", what));
            }
            if !state.taken.contains(&index) && !state.wanted.contains(&index) {
                state.wanted.push_back(index);
                state.end = state.end.max(index + 1);
                self.asked.notify_one();
            }
            state.awaited.insert(index);
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Announces samples; dropping the result discards those that were not requested.
    pub(crate) fn announce(self: &Arc<Self>, indices: &[u64]) -> Ahead {
        let mut state = self.state();
        let n_samples = state.n_samples.unwrap_or(u64::MAX);
        state.coming.extend(indices.iter().filter(|index| **index < n_samples));
        let end = indices.iter().max().map_or(0, |last| last + 1);
        state.end = state.end.max(end);
        drop(state);
        self.asked.notify_one();
        let mut ahead = Ahead::default();
        ahead
            .hold(Announced { desk: Arc::clone(self), indices: indices.iter().copied().collect() });
        ahead
    }

    /// Waits for the next task for at most that time. Besides the sample to fetch, it returns at
    /// most `n_coming` of the next ones.
    pub(crate) fn next(&self, at_most: Duration, n_coming: usize) -> Next {
        let mut state = self.state();
        loop {
            if let Some(result) = state.result.take() {
                return Next::Done(result);
            }
            if let Some(index) = state.next_index() {
                state.taken.push(index);
                return Next::Fetch(index, state.coming.iter().take(n_coming).copied().collect());
            }
            let waited = self.asked.wait_timeout(state, at_most);
            let (waiting, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return Next::Nothing;
            }
            state = waiting;
        }
    }

    /// Answers with samples by their numbers, all that were taken.
    pub(crate) fn answer(&self, samples: impl IntoIterator<Item = (u64, Fetched)>) {
        let mut state = self.state();
        state.taken.clear();
        for (index, sample) in samples {
            state.put(index, sample);
        }
        // Threads that wait for others would wake for nothing.
        let is_awaited = state.awaited.iter().any(|index| state.answers.contains_key(index));
        drop(state);
        if is_awaited {
            self.answered.notify_all();
        }
    }

    /// Offers samples, numbered from `first`, in the order of their requests; taken ones are
    /// removed. Waits for at most that time.
    pub(crate) fn offer(
        &self,
        first: &mut u64,
        samples: &mut VecDeque<Fetched>,
        at_most: Duration,
    ) -> Offered {
        let mut state = self.state();
        loop {
            match &state.result {
                Some(Err(_)) => return Offered::Failed,
                // An interrupted run had stored all remaining ones.
                Some(Ok(_)) => state.end = u64::MAX,
                None => {}
            }
            // Threads that wait for others would wake for nothing.
            if state.take(first, samples) {
                self.answered.notify_all();
            }
            if samples.is_empty() {
                return Offered::Taken;
            }
            if at_most.is_zero() {
                return Offered::Early;
            }
            let waited = self.asked.wait_timeout(state, at_most);
            let (waiting, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return Offered::Early;
            }
            state = waiting;
        }
    }

    /// Sets the number of samples: requests for later ones fail.
    pub(crate) fn end_at(&self, n_samples: u64) {
        let mut state = self.state();
        state.n_samples = Some(n_samples);
        state.wanted.retain(|index| *index < n_samples);
        state.coming.retain(|index| *index < n_samples);
        drop(state);
        self.answered.notify_all();
    }

    /// Returns the number of samples, once it is known.
    pub(crate) fn n_samples(&self) -> Option<u64> {
        self.state().n_samples
    }

    /// Ends the work with its result.
    pub(crate) fn finish(&self, result: Result<serde_json::Value>) {
        self.state().result = Some(result);
        self.asked.notify_one();
    }

    /// Makes present and future requests fail.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.answered.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics between two assignments: the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Announced {
    desk: Arc<Desk>,
    indices: BTreeSet<u64>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut state = self.desk.state();
        // All were requested, unless the run ends early.
        state.coming.retain(|coming| !self.indices.contains(coming));
        for index in &self.indices {
            state.remove(*index);
        }
    }
}
