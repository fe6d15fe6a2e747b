//! Bytes that a task on the runtime fetches, and that threads can wait for.
use crate::store::{client::Client, patience::unless_stopped};
use bytes::Bytes;
use futures_util::future::{Either, select};
use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, task::AbortHandle};

/// Bytes that are fetched or on their way.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    state: Mutex<State>,
    arrived: Condvar,
    /// Signalled when a thread waits for the bytes.
    wanted: Notify,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Coming,
    Here(Bytes),
    /// Abandoned, or refused by the store.
    Lost,
}

impl Fetched {
    /// Starts the request when a permit is free, or when a thread waits for the bytes. `request`
    /// returns `None` on failure.
    pub(crate) fn begin(
        self: &Arc<Self>,
        client: &Client,
        request: impl Future<Output = Option<Bytes>> + Send + 'static,
    ) -> AbortHandle {
        let (fetched, turns) = (self.clone(), client.ahead.clone());
        client.spawn(async move {
            let _arrival = Arrival(&fetched);
            let (turn, wanted) = (turns.acquire(), fetched.wanted.notified());
            // Held until the bytes arrive, unless a waiting thread skipped the queue.
            let _turn = match select(pin!(turn), pin!(wanted)).await {
                Either::Left((turn, _)) => turn.ok(),
                Either::Right(_) => None,
            };
            if let Some(bytes) = unless_stopped(request).await.flatten() {
                *fetched.lock() = State::Here(bytes);
            }
        })
    }

    /// Waits for the bytes; `None` if they do not arrive.
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

/// Ends the wait, even if the task is aborted.
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
