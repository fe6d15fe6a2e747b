//! Ranges that will be read soon, fetched before they are asked for.
//!
//! ```text
//! announce   ranges -> merged ones, each a piece that a task on the runtime fetches
//! read       a piece that holds the range? wait for it, and take a slice; else ask as usual
//! drop       of the announcement: its pieces are given up, with their requests
//! ```
//!
//! Nothing here can fail a read. A piece that cannot be fetched is as though it had not been
//! announced: the read then makes a request of its own, whose word counts.
use crate::{
    client::Client,
    count,
    merge::{Merged, merge},
    object::Object,
};
use bytes::Bytes;
use futures_util::future::{Either, select};
use std::{
    collections::BTreeMap,
    ops::Range,
    pin::pin,
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio::{sync::Notify, task::AbortHandle};

/// Ranges of an object that were announced: fetched, or on their way. Dropped, they are given up.
#[derive(Debug)]
#[must_use = "what was announced is given up when this is dropped"]
pub struct Announcement {
    object: Arc<Object>,
    process: u32,
    pieces: Vec<(Key, AbortHandle)>,
}

/// Where a piece begins, and a number that no other has.
type Key = (u64, u64);

impl Announcement {
    /// Begins to fetch ranges of an object; those beyond its end are left out.
    pub(crate) fn new(object: &Arc<Object>, ranges: Vec<Range<u64>>) -> Self {
        let mut announced =
            Self { object: object.clone(), process: process::id(), pieces: Vec::new() };
        // Why there is no client is what the first read says.
        let Ok(client) = object.client() else { return announced };
        let shelf = object.announced.of(announced.process);
        for merged in merge(ranges) {
            let piece = Arc::new(Piece::new(merged.range.clone()));
            let key = shelf.lock().put(piece.clone());
            let task = fetch(object.clone(), client.clone(), piece, merged);
            announced.pieces.push((key, client.spawn(task)));
        }
        announced
    }

    /// Requests that bring the ranges.
    #[must_use]
    pub fn n_requests(&self) -> usize {
        self.pieces.len()
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // What a forked child inherits belongs to threads that it does not have.
        if self.process != process::id() || self.pieces.is_empty() {
            return;
        }
        for (_, task) in &self.pieces {
            task.abort();
        }
        let given_up = self.object.announced.of(self.process).lock().take(&self.pieces);
        // Not under the lock: it may be much memory.
        drop(given_up);
    }
}

/// Fetches a piece once it is its turn, or when somebody waits for it.
async fn fetch(object: Arc<Object>, client: Client, piece: Arc<Piece>, merged: Merged) {
    let _arrival = Arrival(&piece);
    let (turn, wanted) = (client.ahead.acquire(), piece.wanted.notified());
    // Held until the bytes are here, where it was a turn and not somebody's need.
    let _turn = match select(pin!(turn), pin!(wanted)).await {
        Either::Left((turn, _)) => turn.ok(),
        Either::Right(_) => None,
    };
    let Range { start, end } = merged.range;
    if let Ok(bytes) = object.request(&client, start, end).await {
        count::over_fetched(merged.gaps);
        *piece.lock() = State::Here(bytes);
    }
}

/// Ends the wait for a piece, also where its task is aborted.
struct Arrival<'a>(&'a Piece);

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

/// A merged range.
#[derive(Debug)]
struct Piece {
    range: Range<u64>,
    state: Mutex<State>,
    arrived: Condvar,
    /// Somebody waits for it.
    wanted: Notify,
}

#[derive(Debug)]
enum State {
    Coming,
    Here(Bytes),
    /// Given up, or the store refuses.
    Lost,
}

impl Piece {
    fn new(range: Range<u64>) -> Self {
        let (arrived, wanted) = (Condvar::new(), Notify::new());
        Self { range, state: Mutex::new(State::Coming), arrived, wanted }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a range that lies in it, once they are here.
    fn wait(&self, Range { start, end }: Range<u64>) -> Option<Bytes> {
        let mut state = self.lock();
        if matches!(*state, State::Coming) {
            self.wanted.notify_one();
        }
        loop {
            match &*state {
                State::Coming => {
                    state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                State::Here(bytes) => {
                    let place = |at: u64| usize::try_from(at.checked_sub(self.range.start)?).ok();
                    let (start, end) = (place(start)?, place(end)?);
                    return (end <= bytes.len()).then(|| bytes.slice(start..end));
                }
                State::Lost => return None,
            }
        }
    }
}

/// What is announced of an object.
///
/// A forked child has the locks of its parent as they were, held ones for ever, and tasks that no
/// thread works on. So each process has a shelf of its own, which it appends, and looks at no other.
#[derive(Debug, Default)]
pub(crate) struct Shelves(OnceLock<Box<Shelf>>);

#[derive(Debug)]
struct Shelf {
    process: u32,
    pieces: Mutex<Pieces>,
    next: Shelves,
}

#[derive(Debug, Default)]
struct Pieces {
    by_start: BTreeMap<Key, Arc<Piece>>,
    /// The length of the longest that there was.
    longest: u64,
    /// Pieces that there were.
    count: u64,
}

impl Shelves {
    /// An announced range, once it is here; `None` where it is not announced, and where it cannot
    /// be fetched.
    pub(crate) fn read(&self, range: Range<u64>) -> Option<Bytes> {
        let mut shelf = self.0.get()?;
        let here = process::id();
        while shelf.process != here {
            shelf = shelf.next.0.get()?;
        }
        let piece = shelf.lock().find(&range)?;
        piece.wait(range)
    }

    fn of(&self, process: u32) -> &Shelf {
        let make = || {
            let (pieces, next) = Default::default();
            Box::new(Shelf { process, pieces, next })
        };
        let mut shelf = self.0.get_or_init(make);
        while shelf.process != process {
            shelf = shelf.next.0.get_or_init(make);
        }
        shelf
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pieces {
    fn put(&mut self, piece: Arc<Piece>) -> Key {
        let Range { start, end } = piece.range;
        self.longest = self.longest.max(end - start);
        self.count += 1;
        let key = (start, self.count);
        self.by_start.insert(key, piece);
        key
    }

    fn take(&mut self, pieces: &[(Key, AbortHandle)]) -> Vec<Arc<Piece>> {
        pieces.iter().filter_map(|(key, _)| self.by_start.remove(key)).collect()
    }

    /// The piece that holds a range.
    fn find(&self, range: &Range<u64>) -> Option<Arc<Piece>> {
        let before = self.by_start.range(..=(range.start, u64::MAX)).rev();
        let near = before.take_while(|((start, _), _)| range.start - start <= self.longest);
        let mut holding = near.filter(|(_, piece)| range.end <= piece.range.end);
        holding.next().map(|(_, piece)| piece.clone())
    }
}
