//! Prefetches whole objects, each by one request.
//!
//! As with [ranges](crate::store::Object::announce), nothing here can fail a read: an object that could
//! not be fetched counts as not announced.
use crate::place::is_url;
use crate::store::{
    client::Client,
    fetched::Fetched,
    location::Location,
    object::{Object, get_whole},
    per_process::PerProcess,
};
use bytes::Bytes;
use fdconvert_core::Ahead;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::task::AbortHandle;

/// Files that will be read soon, each as a whole. Those in stores are prefetched; nothing happens
/// for local files.
#[derive(Debug, Default)]
pub struct Wholes(Arc<PerProcess<Shelf>>);

#[derive(Debug, Default)]
struct Shelf(Mutex<BTreeMap<PathBuf, Held>>);

/// An object, and the number of its announcements.
#[derive(Debug)]
struct Held {
    whole: Arc<Whole>,
    n_announced: usize,
}

/// An object that is fetched or on its way; abandoned with its last announcement.
#[derive(Debug)]
struct Whole {
    fetched: Arc<Fetched>,
    task: AbortHandle,
    process: u32,
}

impl Drop for Whole {
    fn drop(&mut self) {
        // After a fork, inherited tasks belong to threads that do not exist.
        if self.process == process::id() {
            self.task.abort();
        }
    }
}

/// Objects that were announced together. Drop abandons them.
#[derive(Debug)]
struct WholesAhead {
    shelves: Arc<PerProcess<Shelf>>,
    process: u32,
    paths: Vec<PathBuf>,
}

impl Wholes {
    /// Announces files of at most `max_bytes` each, with their lengths if known: an object of
    /// another length is not used. They are kept until the result is dropped.
    ///
    /// A process has at most 128 prefetch requests in flight, plus those that a read waits for; the
    /// caller limits the number of announced files.
    pub fn read_ahead(
        &self,
        files: impl IntoIterator<Item = (PathBuf, Option<u64>)>,
        max_bytes: u64,
    ) -> Ahead {
        let here = process::id();
        let mut announced =
            WholesAhead { shelves: self.0.clone(), process: here, paths: Vec::new() };
        let shelf = self.0.of(here);
        for (path, len) in files {
            // An empty object needs no request, and its reader refuses one that is too long.
            if !is_url(&path) || len.is_some_and(|len| len == 0 || len > max_bytes) {
                continue;
            }
            match shelf.lock().entry(path.clone()) {
                Entry::Occupied(mut held) => held.get_mut().n_announced += 1,
                Entry::Vacant(free) => {
                    let Some(whole) = begin(&path, len, max_bytes) else { continue };
                    free.insert(Held { whole, n_announced: 1 });
                }
            }
            announced.paths.push(path);
        }
        let mut ahead = Ahead::default();
        ahead.hold(announced);
        ahead
    }

    /// Returns the bytes of an announced file, waiting for them; `None` if it has to be read.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<Bytes> {
        let fetched = self.0.get()?.lock().get(path)?.whole.fetched.clone();
        fetched.wait()
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes one announcement; returns the object if it was the last one.
    fn give_up(&self, path: &Path) -> Option<Held> {
        let mut shelf = self.lock();
        let held = shelf.get_mut(path)?;
        held.n_announced -= 1;
        if held.n_announced > 0 { None } else { shelf.remove(path) }
    }
}

impl Drop for WholesAhead {
    fn drop(&mut self) {
        if self.process != process::id() {
            return;
        }
        let shelf = self.shelves.of(self.process);
        for path in &self.paths {
            let given_up = shelf.give_up(path);
            // Outside the lock, since it may free much memory.
            drop(given_up);
        }
    }
}

/// Starts to fetch an object; `None` if no request can be sent: the read reports why.
fn begin(path: &Path, len: Option<u64>, max_bytes: u64) -> Option<Arc<Whole>> {
    let location = Location::parse(path).ok()?;
    let client = Client::of(&location).ok()?;
    let fetched = Arc::new(Fetched::default());
    let task = match len {
        Some(len) => {
            let (object, asked) = (Object::with_len(path, len).ok()?, client.clone());
            fetched.begin(&client, async move { object.request(&asked, 0, len).await.ok() })
        }
        None => {
            let asked = client.clone();
            fetched.begin(&client, async move { get_whole(&asked, &location, max_bytes).await })
        }
    };
    Some(Arc::new(Whole { fetched, task, process: process::id() }))
}
