//! Bytes that a task on the runtime fetches, and a thread may wait for.
use crate::{client::Client, patience::unless_stopped};
use bytes::Bytes;
use futures_util::future::{Either, select};
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, task::AbortHandle};

/// Bytes that are fetched, or on their way.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    state: Mutex<State>,
    arrived: Condvar,
    /// A thread waits for it.
    wanted: Notify,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Coming,
    Here(Bytes),
    /// Given up, or the store refuses.
    Lost,
}

impl Fetched {
    /// Begins to fetch them once it is their turn, or when a thread waits for them. `request` gives
    /// `None` where they cannot be had.
    pub(crate) fn begin(
        self: &Arc<Self>,
        client: &Client,
        request: impl Future<Output = Option<Bytes>> + Send + 'static,
    ) -> AbortHandle {
        let (fetched, turns) = (self.clone(), client.ahead.clone());
        client.spawn(async move {
            let _arrival = Arrival(&fetched);
            let (turn, wanted) = (turns.acquire(), fetched.wanted.notified());
            // Held until the bytes are here, unless a waiting thread went ahead of its turn.
            let _turn = match select(pin!(turn), pin!(wanted)).await {
                Either::Left((turn, _)) => turn.ok(),
                Either::Right(_) => None,
            };
            if let Some(bytes) = unless_stopped(request).await.flatten() {
                *fetched.lock() = State::Here(bytes);
            }
        })
    }

    /// The bytes once they are here; `None` where they do not come.
    pub(crate) fn wait(&self) -> Option<Bytes> {
        let mut state = self.lock();
        if matches!(*state, State::Coming) {
            self.wanted.notify_one();
        }
        loop {
            match &*state {
                State::Coming => {
                    state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                State::Here(bytes) => return Some(bytes.clone()),
                State::Lost => return None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the wait, also where the task is aborted.
struct Arrival<'a>(&'a Fetched);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if matches!(*state, State::Coming) {
            *state = State::Lost;
        }
        drop(state);
        self.0.arrived.notify_all();
    }
}
