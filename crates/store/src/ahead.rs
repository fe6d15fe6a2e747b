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
    fetched::Fetched,
    merge::{Merged, merge},
    object::Object,
    per_process::PerProcess,
};
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    ops::Range,
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::task::AbortHandle;

/// Ranges of an object that were announced: fetched, or on their way. Dropped, they are given up.
#[derive(Debug)]
#[must_use = "what was announced is given up when this is dropped"]
pub struct Announcement {
    object: Arc<Object>,
    process: u32,
    pieces: Vec<(Key, AbortHandle)>,
}

/// Start of a piece, and a number that no other has.
type Key = (u64, u64);

impl Announcement {
    /// Begins to fetch ranges of an object; those beyond its end are left out.
    pub(crate) fn new(object: &Arc<Object>, ranges: Vec<Range<u64>>) -> Self {
        let mut announced =
            Self { object: object.clone(), process: process::id(), pieces: Vec::new() };
        // Why there is no client is what the first read says.
        let Ok(client) = object.client() else { return announced };
        let shelf = object.announced.0.of(announced.process);
        for Merged { range, gaps } in merge(ranges) {
            let piece = Arc::new(Piece { range: range.clone(), fetched: Arc::default() });
            let key = shelf.lock().put(piece.clone());
            let request = fetch(object.clone(), client.clone(), range, gaps);
            announced.pieces.push((key, piece.fetched.begin(&client, request)));
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
        let given_up = self.object.announced.0.of(self.process).lock().take(&self.pieces);
        // Not under the lock: it may be much memory.
        drop(given_up);
    }
}

async fn fetch(object: Arc<Object>, client: Client, range: Range<u64>, gaps: u64) -> Option<Bytes> {
    let bytes = object.request(&client, range.start, range.end).await.ok()?;
    count::over_fetched(gaps);
    Some(bytes)
}

/// A merged range.
#[derive(Debug)]
struct Piece {
    range: Range<u64>,
    fetched: Arc<Fetched>,
}

impl Piece {
    /// Bytes of a range that lies in it, once they are here.
    fn wait(&self, Range { start, end }: Range<u64>) -> Option<Bytes> {
        let bytes = self.fetched.wait()?;
        let place = |at: u64| usize::try_from(at.checked_sub(self.range.start)?).ok();
        let (start, end) = (place(start)?, place(end)?);
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }
}

/// Announced pieces of an object.
#[derive(Debug, Default)]
pub(crate) struct Shelves(PerProcess<Shelf>);

#[derive(Debug, Default)]
struct Shelf(Mutex<Pieces>);

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
        let piece = self.0.get()?.lock().find(&range)?;
        piece.wait(range)
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
