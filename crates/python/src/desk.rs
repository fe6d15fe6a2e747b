//! Where threads of Rust ask Python's thread for samples, and find its answers.
//!
//! Samples that will be asked for are announced, and fetched while nothing else is to be done, so
//! that a thread mostly finds its sample there and does not wait.
use fdconvert::Result;
use fdconvert_core::{Ahead, Error, Image, Sample};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// One for each piece of work.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    /// Python's thread has something to do.
    asked: Condvar,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// Samples that threads wait for.
    awaited: BTreeSet<u64>,
    /// Those of them that Python's thread has not taken yet.
    wanted: VecDeque<u64>,
    /// Samples that will be wanted, in about this order.
    coming: VecDeque<u64>,
    /// The one that Python's thread is at.
    at: Option<u64>,
    answers: BTreeMap<u64, Result<Sample<Image>>>,
    result: Option<Result<Value>>,
    is_closed: bool,
}

impl State {
    /// Sample that is waited for, or else one that is announced.
    fn next_index(&mut self) -> Option<u64> {
        let Some(index) = self.wanted.pop_front() else { return self.coming.pop_front() };
        // What was announced is asked for in about that order: it is among the first.
        if let Some(place) = self.coming.iter().position(|coming| *coming == index) {
            self.coming.remove(place);
        }
        Some(index)
    }
}

/// Next task of Python's thread.
pub(crate) enum Next {
    /// Fetch this sample. The others will be asked for next, in about their order.
    Fetch(u64, Vec<u64>),
    /// End: the work is done.
    Done(Result<Value>),
    /// Look around, as nothing is asked.
    Nothing,
}

impl Desk {
    /// Sample `index`, when Python's thread has fetched it.
    ///
    /// # Errors
    /// What that says; `Cancelled` when it does not listen any more.
    pub(crate) fn ask(&self, index: u64) -> Result<Sample<Image>> {
        let mut state = self.state();
        loop {
            if let Some(answer) = state.answers.remove(&index) {
                state.awaited.remove(&index);
                return answer;
            }
            if state.is_closed {
                return Err(Error::Cancelled);
            }
            if state.at != Some(index) && !state.wanted.contains(&index) {
                state.wanted.push_back(index);
                self.asked.notify_one();
            }
            state.awaited.insert(index);
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Announces samples; what is not asked for is forgotten when the result is dropped.
    pub(crate) fn announce(self: &Arc<Self>, indices: &[u64]) -> Ahead {
        self.state().coming.extend(indices);
        self.asked.notify_one();
        let mut ahead = Ahead::default();
        ahead
            .hold(Announced { desk: Arc::clone(self), indices: indices.iter().copied().collect() });
        ahead
    }

    /// Waits for something to do, for so long at most. Of the samples that come behind the one to fetch
    /// it tells `n_coming` at most.
    pub(crate) fn next(&self, at_most: Duration, n_coming: usize) -> Next {
        let mut state = self.state();
        loop {
            if let Some(result) = state.result.take() {
                return Next::Done(result);
            }
            if let Some(index) = state.next_index() {
                state.at = Some(index);
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

    /// Answers with a sample, or why there is none.
    pub(crate) fn answer(&self, index: u64, sample: Result<Sample<Image>>) {
        let mut state = self.state();
        state.at = None;
        state.answers.insert(index, sample);
        // Threads that wait for others would wake for nothing.
        let is_awaited = state.awaited.contains(&index);
        drop(state);
        if is_awaited {
            self.answered.notify_all();
        }
    }

    /// The work is done.
    pub(crate) fn finish(&self, result: Result<Value>) {
        self.state().result = Some(result);
        self.asked.notify_one();
    }

    /// Threads that wait for an answer, now or later, are told that there is none.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.answered.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics between two assignments: the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Samples that were announced.
struct Announced {
    desk: Arc<Desk>,
    indices: BTreeSet<u64>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut state = self.desk.state();
        // All were asked for, unless the run ends early.
        state.coming.retain(|coming| !self.indices.contains(coming));
        for index in &self.indices {
            state.answers.remove(index);
        }
    }
}
