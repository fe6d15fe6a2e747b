//! Batches in host memory, made ahead of the consumer and delivered in order.
use super::{
    Waited,
    epoch::Epoch,
    queue::{Next, Queue},
    setup::Setup,
    threads::{self, Running, Shared},
};
use crate::{
    device::DeviceRows,
    exchange::{self, Board},
    order::State,
    supply::Supply,
};
use fdconvert_core::Result;
use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

/// A batch, or the reason for its absence, and its rows that are left to a GPU.
pub(crate) type Produced = (Waited, Option<Box<DeviceRows>>);

pub(super) struct Producer {
    setup: Arc<Setup>,
    supply: Arc<Supply>,
    board: Option<Arc<Board>>,
    state: State,
    running: Option<Running>,
    /// Shared with every batch, to count them.
    token: Arc<()>,
}

impl Producer {
    /// Creates a producer. Threads start with the first requested batch, except the one that
    /// exchanges samples with other ranks, which may start first.
    ///
    /// # Errors
    /// `Usage` for datasets that cannot be read with the options.
    pub(super) fn new(setup: Arc<Setup>) -> Result<Self> {
        let supply = Arc::new(setup.supply()?);
        let state = setup.start(0);
        let board = match setup.exchanging() {
            Some(options) => Some(exchange::start(&setup, &supply, options)?),
            None => None,
        };
        Ok(Self { setup, supply, board, state, running: None, token: Arc::default() })
    }

    /// Returns the state at which the next batch begins.
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the number of live batches in host memory.
    pub(super) fn n_kept(&self) -> u64 {
        n_kept(&self.token)
    }

    /// Returns true if the next batch waits for one that the consumer keeps: `next_for` has let the
    /// ring grow as far as its memory allows.
    pub(super) fn waits_for_memory(&self) -> bool {
        let running = self.running.as_ref().filter(|running| !running.is_foreign());
        running.is_some_and(|running| running.shared.lock().is_starved())
    }

    /// Returns the reason if direct reads come from the page cache or memory.
    pub(super) fn cached_because(&self) -> Option<String> {
        self.supply.store.cached_because()
    }

    /// Returns the reason if moved rows are read from storage instead of received from their
    /// owners.
    pub(super) fn exchange_failure(&self) -> Option<String> {
        self.own_board()?.failure()
    }

    /// Leaves the exchange and waits at most `patience` until the other ranks know; returns whether
    /// they do.
    pub(super) fn leave_exchange(&mut self, patience: Duration) -> bool {
        self.stop_at(self.state);
        let Some(board) = self.own_board() else { return true };
        board.close();
        board.wait_for_end(patience)
    }

    /// Ends the threads; the next batch begins at that state.
    pub(super) fn stop_at(&mut self, state: State) {
        if let Some(board) = self.own_board() {
            // Releases the threads that wait for a sample.
            board.end();
        }
        if let Some(running) = self.running.take() {
            if running.is_foreign() {
                std::mem::forget(running);
            } else {
                running.stop();
            }
        }
        self.state = state;
    }

    /// Returns the next batch, or the reason for its absence after that time.
    ///
    /// # Errors
    /// The errors of samples, subject to the policy; the epoch is over then.
    pub(super) fn next_for(&mut self, patience: Duration) -> Result<Produced> {
        let is_foreign = self.board.as_ref().is_some_and(|board| board.is_foreign());
        if is_foreign || self.running.as_ref().is_some_and(Running::is_foreign) {
            // This is a child of the process that had the threads. Its lock may be held forever.
            std::mem::forget((self.running.take(), self.board.take()));
            // Nor can we know whether a thread was filling a slot. So the memory is left to the
            // parent, and its contents are read again.
            let fresh = Arc::new(self.setup.supply()?);
            std::mem::forget(std::mem::replace(&mut self.supply, fresh));
        }
        let running = match &self.running {
            Some(running) => running,
            None => {
                let started = self.start()?;
                self.running.insert(started)
            }
        };
        let began = Instant::now();
        let shared = &running.shared;
        let mut queue = shared.lock();
        let next = loop {
            match queue.next() {
                Next::NotYet => {}
                next => break next,
            }
            if queue.is_starved()
                && n_kept(&self.token) < self.setup.options.most_buffers(&self.setup.views)
            {
                queue.grow();
                shared.wake_workers();
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok((Waited::NotYet, None));
            }
            let waited = shared.ready.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(queue);
        match next {
            Next::Done(done) => {
                // This may have been the last row.
                shared.wake_workers();
                self.setup.counters.delivered(began.elapsed(), running.began.elapsed());
                let (batch, device_rows) = threads::batch(shared, done, &self.token)?;
                self.state = batch.state();
                if let Some(board) = &self.board {
                    board.delivered(batch.epoch(), batch.step(), self.state.consumed);
                }
                Ok((Waited::Batch(batch), device_rows))
            }
            Next::Failed(error) => {
                self.stop_at(self.state);
                Err(error)
            }
            Next::End | Next::NotYet => {
                self.stop_at(self.state);
                self.state = self.setup.start(self.state.epoch.wrapping_add(1));
                Ok((Waited::End, None))
            }
        }
    }

    fn start(&self) -> Result<Running> {
        let cursor = self.setup.resume(&self.state)?;
        let (setup, supply, board) = (&self.setup, &self.supply, &self.board);
        let epoch = Epoch::new(setup.clone(), supply.clone(), board.clone(), &self.state)?;
        let queue = Queue::new(cursor.clone(), setup.clone());
        let shared = Shared::new(queue, epoch, cursor.clone());
        let Some(board) = board else { return Running::start(shared) };
        board.begin(shared.epoch.clone(), cursor);
        Running::start(shared).inspect_err(|_| board.end())
    }

    /// Returns the board, unless this process is a fork of the one with the thread that fills it.
    fn own_board(&self) -> Option<&Arc<Board>> {
        self.board.as_ref().filter(|board| !board.is_foreign())
    }
}

/// Counts the batches that share this token.
fn n_kept(token: &Arc<()>) -> u64 {
    Arc::strong_count(token).saturating_sub(1) as u64
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.stop_at(self.state);
        if let Some(board) = self.own_board() {
            board.close();
        }
    }
}
