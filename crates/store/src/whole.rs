//! Whole objects that will be read soon, each fetched by one request before it is asked for.
//!
//! As with [ranges](crate::Object::announce), nothing here can fail a read: an object that could not
//! be fetched is as though it had not been announced.
use crate::{
    client::Client,
    fetched::Fetched,
    location::Location,
    object::{Object, get_whole},
    per_process::PerProcess,
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::task::AbortHandle;

/// An object that will be read soon as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Its URL.
    pub path: PathBuf,
    /// Its bytes, where they are known: an object of another length is then not taken.
    pub len: Option<u64>,
}

/// Objects that were announced, by their URLs. They are kept for as long as what
/// [`announce`](Self::announce) returned.
#[derive(Debug, Default)]
pub struct Wholes(Arc<PerProcess<Shelf>>);

#[derive(Debug, Default)]
struct Shelf(Mutex<BTreeMap<PathBuf, Held>>);

/// An object, and how many announcements have it.
#[derive(Debug)]
struct Held {
    whole: Arc<Whole>,
    n_announced: usize,
}

/// An object that is fetched or on its way; given up when no announcement has it.
#[derive(Debug)]
struct Whole {
    fetched: Arc<Fetched>,
    task: AbortHandle,
    process: u32,
}

impl Drop for Whole {
    fn drop(&mut self) {
        // What a forked child inherits belongs to threads that it does not have.
        if self.process == process::id() {
            self.task.abort();
        }
    }
}

/// Objects that were announced together. Dropped, they are given up.
#[derive(Debug)]
#[must_use = "what was announced is given up when this is dropped"]
pub struct WholesAhead {
    shelves: Arc<PerProcess<Shelf>>,
    process: u32,
    paths: Vec<PathBuf>,
}

impl Wholes {
    /// Begins to fetch objects of at most `max_bytes` each. At most 128 requests of a process that
    /// read ahead are in flight, and those that a read waits for; how many objects are announced is
    /// the caller's business.
    pub fn announce(
        &self,
        objects: impl IntoIterator<Item = Expected>,
        max_bytes: u64,
    ) -> WholesAhead {
        let here = process::id();
        let mut announced =
            WholesAhead { shelves: self.0.clone(), process: here, paths: Vec::new() };
        let shelf = self.0.of(here);
        for expected in objects {
            // What is empty needs no request, and what is too long is refused by who reads it.
            if expected.len.is_some_and(|len| len == 0 || len > max_bytes) {
                continue;
            }
            match shelf.lock().entry(expected.path.clone()) {
                Entry::Occupied(mut held) => held.get_mut().n_announced += 1,
                Entry::Vacant(free) => {
                    let Some(whole) = begin(&expected, max_bytes) else { continue };
                    free.insert(Held { whole, n_announced: 1 });
                }
            }
            announced.paths.push(expected.path);
        }
        announced
    }

    /// The bytes of an announced object, once they are here; `None` where it is not announced, and
    /// where it cannot be fetched.
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

    /// One announcement less; the object, where it was the last one.
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
            // Not under the lock: it may be much memory.
            drop(given_up);
        }
    }
}

/// Begins to fetch an object; `None` where no request can be made: why is what the read says.
fn begin(Expected { path, len }: &Expected, max_bytes: u64) -> Option<Arc<Whole>> {
    let location = Location::parse(path).ok()?;
    let client = Client::of(&location).ok()?;
    let fetched = Arc::new(Fetched::default());
    let task = match *len {
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
