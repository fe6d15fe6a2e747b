//! The address ranges of mapped files, in a list that a signal handler may read.
//!
//! Entries are reused and never freed: there are as many as maps were open at once.
#![allow(unsafe_code)]

use std::{
    cell::UnsafeCell,
    path::Path,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering::SeqCst},
    },
};

/// A map, or a free slot for one.
pub(super) struct Entry {
    /// Number of holders, or [`FREE`], or [`CLOSED`]. The other fields are read only by holders,
    /// and written only by the thread that has closed the entry.
    holders: AtomicIsize,
    start: AtomicUsize,
    /// Bytes, whole pages.
    len: AtomicUsize,
    /// Works that have put zeros in its place and have not mapped the file again yet.
    pub(super) zeroed: AtomicUsize,
    file: UnsafeCell<Option<MappedFile>>,
    /// Never changes once the entry is in the list.
    next: AtomicPtr<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MappedFile {
    pub(super) path: Arc<Path>,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Length when it was mapped, in bytes.
    pub(super) len: u64,
}

const FREE: isize = -2;
const CLOSED: isize = -1;

static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

// SAFETY: all fields but `file` are atomic. `file` is written only between a successful change of
// `holders` to `CLOSED` and the next change away from it, which one thread at a time can be in, and
// read only by holders, who exclude `CLOSED`; the changes of `holders` order the accesses.
unsafe impl Sync for Entry {}

impl Entry {
    /// Registers a map; `len` is a multiple of the page size.
    pub(super) fn register(start: usize, len: usize, file: MappedFile) -> &'static Self {
        let free = entries()
            .find(|entry| entry.holders.compare_exchange(FREE, CLOSED, SeqCst, SeqCst).is_ok());
        let entry = free.unwrap_or_else(push);
        entry.start.store(start, SeqCst);
        entry.len.store(len, SeqCst);
        entry.zeroed.store(0, SeqCst);
        // SAFETY: this thread has closed the entry; see `Sync`.
        unsafe { *entry.file.get() = Some(file) };
        entry.holders.store(0, SeqCst);
        entry
    }

    /// Closes the entry, so that the map may be removed. Returns false if it is held: then the map
    /// has to stay.
    pub(super) fn close(&self) -> bool {
        self.holders.compare_exchange(0, CLOSED, SeqCst, SeqCst).is_ok()
    }

    /// Frees a closed entry.
    pub(super) fn free(&self) {
        self.start.store(0, SeqCst);
        self.len.store(0, SeqCst);
        // SAFETY: this thread has closed the entry; see `Sync`.
        unsafe { *self.file.get() = None };
        self.holders.store(FREE, SeqCst);
    }

    /// Holds the map around an address. May be called by a signal handler.
    pub(super) fn hold_at(address: usize) -> Option<&'static Self> {
        entries().find(|entry| {
            // The first check only avoids touching other entries; the second one counts.
            entry.contains(address) && entry.hold() && (entry.contains(address) || entry.release())
        })
    }

    /// Calls `look` for all maps, each held during the call.
    pub(super) fn for_each(mut look: impl FnMut(&'static Self)) {
        for entry in entries() {
            if entry.hold() {
                look(entry);
                entry.release();
            }
        }
    }

    /// Returns true if the entry could be held.
    fn hold(&self) -> bool {
        let one_more = |holders| (holders >= 0).then_some(holders + 1);
        self.holders.fetch_update(SeqCst, SeqCst, one_more).is_ok()
    }

    /// Releases the entry; returns false, for chaining.
    pub(super) fn release(&self) -> bool {
        self.holders.fetch_sub(1, SeqCst);
        false
    }

    fn contains(&self, address: usize) -> bool {
        let start = self.start.load(SeqCst);
        address.checked_sub(start).is_some_and(|offset| offset < self.len.load(SeqCst))
    }

    /// Address of the first byte, and length.
    pub(super) fn range(&self) -> (usize, usize) {
        (self.start.load(SeqCst), self.len.load(SeqCst))
    }

    /// Returns the mapped file. Only for holders.
    pub(super) fn file(&self) -> Option<MappedFile> {
        // SAFETY: the caller holds the entry, so it cannot be closed; see `Sync`.
        unsafe { (*self.file.get()).clone() }
    }
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: every pointer in the list comes from a box that was leaked in `push`.
    let at = |pointer: *mut Entry| unsafe { pointer.as_ref() };
    std::iter::successors(at(FIRST.load(SeqCst)), move |entry| at(entry.next.load(SeqCst)))
}

/// Adds a closed entry at the front of the list.
fn push() -> &'static Entry {
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        holders: AtomicIsize::new(CLOSED),
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        zeroed: AtomicUsize::new(0),
        file: UnsafeCell::new(None),
        next: AtomicPtr::new(ptr::null_mut()),
    }));
    let pointer = ptr::from_ref(entry).cast_mut();
    let prepend = |first| {
        entry.next.store(first, SeqCst);
        Some(pointer)
    };
    // The entry is not in the list while `next` changes.
    let _ = FIRST.fetch_update(SeqCst, SeqCst, prepend);
    entry
}
