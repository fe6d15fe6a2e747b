//! Prefetches ranges of objects.
//!
//! ```text
//! announce   merges ranges into pieces; a task on the runtime fetches each
//! read       is the range in a piece? wait for that, and return a slice; else send a request
//! drop       of the announcement: abandons its pieces and their requests
//! ```
//!
//! Nothing here can fail a read. A piece that cannot be fetched counts as not announced: the read
//! then sends its own request, and that one decides.
use crate::store::{
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

/// Announced ranges of an object, fetched or on their way. Drop abandons them.
#[derive(Debug)]
#[must_use = "what was announced is given up when this is dropped"]
pub(crate) struct Announcement {
    object: Arc<Object>,
    process: u32,
    pieces: Vec<(Key, AbortHandle)>,
}

/// Start of a piece, and a unique number.
type Key = (u64, u64);

impl Announcement {
    /// Starts to fetch ranges of an object; drops those beyond its end.
    pub(crate) fn new(object: &Arc<Object>, ranges: Vec<Range<u64>>) -> Self {
        let mut announced =
            Self { object: object.clone(), process: process::id(), pieces: Vec::new() };
        // The first read reports why there is no client.
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
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // After a fork, inherited pieces belong to threads that do not exist.
        if self.process != process::id() || self.pieces.is_empty() {
            return;
        }
        for (_, task) in &self.pieces {
            task.abort();
        }
        let given_up = self.object.announced.0.of(self.process).lock().take(&self.pieces);
        // Outside the lock, since it may free much memory.
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
    /// Waits for the piece and returns the bytes of a range inside it.
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
    /// Length of the longest piece so far.
    longest: u64,
    /// Number of pieces so far.
    count: u64,
}

impl Shelves {
    /// Waits for an announced range and returns it; `None` if it is not announced, or cannot be
    /// fetched.
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

    /// The piece that contains a range.
    fn find(&self, range: &Range<u64>) -> Option<Arc<Piece>> {
        let before = self.by_start.range(..=(range.start, u64::MAX)).rev();
        let near = before.take_while(|((start, _), _)| range.start - start <= self.longest);
        let mut holding = near.filter(|(_, piece)| range.end <= piece.range.end);
        holding.next().map(|(_, piece)| piece.clone())
    }
}
