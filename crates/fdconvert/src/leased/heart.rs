//! A thread that renews the leases of this worker, however long reading, encoding or syncing takes.
use fdconvert_core::{Error, Result};
use fdconvert_storage::{Lease, Leases};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Renewals in the time that a lease lasts.
const BEATS: u32 = 4;

/// A lease, and whether it is known to be lost.
#[derive(Debug)]
struct Held {
    lease: Lease,
    is_lost: AtomicBool,
}

type AllHeld = Arc<Mutex<Vec<Arc<Held>>>>;

/// When leases were renewed last, and the longest time between two renewals.
#[derive(Debug)]
struct Pulse {
    last: Instant,
    longest: Duration,
}

impl Pulse {
    fn beat(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
    }
}

/// Renews leases until it is dropped.
#[derive(Debug)]
pub(super) struct Heart {
    store: Arc<dyn Leases>,
    held: AllHeld,
    pulse: Arc<Mutex<Pulse>>,
    stop: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Begins to beat.
    ///
    /// # Errors
    /// `Io` when the system has no thread left.
    pub(super) fn new(store: Arc<dyn Leases>) -> Result<Self> {
        let held = AllHeld::default();
        let (stop, stopped) = mpsc::sync_channel::<()>(0);
        let pulse = Arc::new(Mutex::new(Pulse { last: Instant::now(), longest: Duration::ZERO }));
        let every = store.lasts() / BEATS;
        let beating = (store.clone(), held.clone(), pulse.clone());
        let beat = move || {
            let (store, held, pulse) = beating;
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                lock(&pulse).beat();
                let all = lock(&held).clone();
                for held in all {
                    // What cannot be written now may be the next time; publishing looks again.
                    if let Ok(false) = store.renew(&held.lease) {
                        held.is_lost.store(true, Ordering::Relaxed);
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("leases".into()).spawn(beat);
        let thread = thread.map_err(Error::io("start", "the thread that renews leases"))?;
        Ok(Self { store, held, pulse, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns whether leases were not renewed for as long as they last.
    pub(super) fn was_paused(&self) -> bool {
        let mut pulse = lock(&self.pulse);
        pulse.beat();
        pulse.longest >= self.store.lasts()
    }

    /// Renews this lease from now on, and gives it back when the result is dropped.
    pub(super) fn hold(&self, lease: Lease) -> Holding {
        let held = Arc::new(Held { lease, is_lost: AtomicBool::new(false) });
        lock(&self.held).push(held.clone());
        Holding { store: self.store.clone(), all: self.held.clone(), held }
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lease that is renewed, and released when this is dropped.
#[derive(Debug)]
pub(super) struct Holding {
    store: Arc<dyn Leases>,
    all: AllHeld,
    held: Arc<Held>,
}

impl Holding {
    pub(super) fn lease(&self) -> &Lease {
        &self.held.lease
    }

    /// As far as is known.
    pub(super) fn is_lost(&self) -> bool {
        self.held.is_lost.load(Ordering::Relaxed)
    }

    /// Looks, and renews the lease if it is not lost. What cannot be looked at counts as not lost:
    /// its error shows elsewhere.
    pub(super) fn look(&self) -> bool {
        let is_lost = matches!(self.store.renew(&self.held.lease), Ok(false));
        if is_lost {
            self.held.is_lost.store(true, Ordering::Relaxed);
        }
        is_lost
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        lock(&self.all).retain(|held| !Arc::ptr_eq(held, &self.held));
        // One that stays goes stale, and its place with it.
        let _ = self.store.release(&self.held.lease);
    }
}
