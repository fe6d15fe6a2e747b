//! What is done to records behind the program that makes them, by a thread of its own: those that
//! have no room in memory are written into the file.
//!
//! The thread never drops a piece: jobs stay with the spool as well until they are done, and go in
//! the thread of its caller. So it holds no lock of what the pieces belong to, an interpreter say,
//! when the caller forks the process; and what is undone is not lost in the child, which has no such
//! thread.
use bytes::Bytes;
use std::{
    collections::VecDeque,
    fs::File,
    io, mem,
    os::unix::fs::FileExt,
    process,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Bytes that are handed to the thread at once.
const JOB_BYTES: usize = 512 << 10;

/// Bytes that may wait for the thread, beside one job that is larger. As few as this stay in a cache,
/// and their memory is used again and again by the program that makes the next ones.
const WAITING_BYTES: usize = 8 << 20;

/// Bytes that stay with the spool although they are written. As long as the youngest values are there,
/// an allocator of one heap finds no free memory at its end: it would give that back to the system,
/// and the next value would begin with pages that have to be cleared.
const RETAINED_BYTES: usize = 4 << 20;

/// Smaller pieces are gathered before they are written.
const SMALL_BYTES: usize = 64 << 10;

/// Records for a place in the file.
#[derive(Default)]
pub(super) struct Job {
    pieces: Vec<Bytes>,
    n_bytes: usize,
    at: u64,
}

impl Job {
    /// Writes the pieces one behind the other.
    pub(super) fn write_to(&self, file: &File) -> io::Result<()> {
        let mut at = self.at;
        let mut small = Vec::new();
        let mut write = |bytes: &[u8]| -> io::Result<()> {
            file.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        };
        for piece in &self.pieces {
            if small.len() + piece.len() > SMALL_BYTES {
                write(&small)?;
                small.clear();
            }
            if piece.len() < SMALL_BYTES {
                small.extend_from_slice(piece);
            } else {
                write(piece)?;
            }
        }
        write(&small)
    }

    /// Place in the file.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// The file, and who writes it: as long as there is little to write that is the caller, at the end.
pub(super) struct Background {
    file: Arc<File>,
    thread: Option<Thread>,
    /// Job that is not handed over yet.
    pending: Job,
    /// Jobs that are handed over and not done, as far as was seen, and the last ones that are.
    waiting: VecDeque<Arc<Job>>,
    waiting_bytes: usize,
    /// The process that made this one.
    process: u32,
}

impl Background {
    pub(super) fn new(file: Arc<File>) -> Self {
        Self {
            file,
            thread: None,
            pending: Job::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            process: process::id(),
        }
    }

    /// Returns whether this is a process that was forked off the one that made this: it has no
    /// thread, and locks may be held by one that it does not have.
    pub(super) fn is_foreign(&self) -> bool {
        self.process != process::id()
    }

    #[cfg(test)]
    pub(super) fn pretend_to_be_foreign(&mut self) {
        self.process = 0;
    }

    /// Jobs that may be undone, in their order.
    pub(super) fn undone(&self) -> impl Iterator<Item = &Job> {
        let pending = Some(&self.pending).filter(|job| !job.is_empty());
        self.waiting.iter().map(|job| &**job).chain(pending)
    }

    /// Takes pieces for a place in the file, behind those that it took before. Waits while too much
    /// waits for the thread.
    ///
    /// # Errors
    /// Those of writing, also what was taken before; all later calls then fail, too.
    pub(super) fn push(&mut self, pieces: impl Iterator<Item = Bytes>, at: u64) -> io::Result<()> {
        if let Some(thread) = &self.thread {
            thread.check()?;
        }
        if self.pending.is_empty() {
            self.pending.at = at;
        }
        for piece in pieces {
            self.pending.n_bytes += piece.len();
            self.pending.pieces.push(piece);
        }
        if self.pending.n_bytes >= JOB_BYTES { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let thread = match &mut self.thread {
            Some(thread) => thread,
            none => none.insert(Thread::start(Arc::clone(&self.file))?),
        };
        let job = Arc::new(mem::take(&mut self.pending));
        self.waiting_bytes += job.n_bytes;
        self.waiting.push_back(Arc::clone(&job));
        thread.hand_over(job);
        loop {
            let n_left = thread.wait(self.waiting.len(), self.waiting_bytes > WAITING_BYTES)?;
            while self.waiting.len() > n_left && self.waiting_bytes > RETAINED_BYTES {
                let done = self.waiting.pop_front();
                self.waiting_bytes -= done.map_or(0, |job| job.n_bytes);
            }
            if self.waiting_bytes <= WAITING_BYTES || self.waiting.len() <= 1 {
                return Ok(());
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(thread) = self.thread.take() {
            thread.finish()?;
        }
        self.pending.write_to(&self.file)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            if self.is_foreign() {
                thread.forget();
            } else {
                thread.stop();
            }
        }
    }
}

struct Thread {
    shared: Arc<Shared>,
    handle: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The thread has something to do.
    given: Condvar,
    /// It has done something.
    done: Condvar,
    /// It ended early.
    has_failed: AtomicBool,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    /// The thread is at one more.
    is_busy: bool,
    /// No more jobs will come.
    is_closed: bool,
    /// Why it ended early.
    failure: Option<io::Error>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two assignments: the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn do_all(&self, file: &File) {
        // Also where it unwinds: the caller waits no longer.
        let ending = Ending(self);
        while let Some(job) = self.next() {
            let outcome = job.write_to(file);
            drop(job);
            let mut state = self.state();
            state.is_busy = false;
            if let Err(failure) = outcome {
                state.failure = Some(failure);
                return;
            }
            drop(state);
            self.done.notify_one();
        }
        mem::forget(ending);
    }

    /// The next job, when there is one; `None` when no more will come.
    fn next(&self) -> Option<Arc<Job>> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.is_busy = true;
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Why the thread ended early.
    fn failure(&self) -> io::Error {
        let state = self.state();
        let Some(failure) = &state.failure else { return died() };
        // The same each time.
        match failure.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(failure.kind(), failure.to_string()),
        }
    }
}

/// Says, when dropped, that the thread ended early.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.has_failed.store(true, Ordering::Release);
        // The caller, if it waits, has looked at it under the lock.
        drop(self.0.state());
        self.0.done.notify_one();
    }
}

fn died() -> io::Error {
    io::Error::other("the thread that writes has died")
}

impl Thread {
    fn start(file: Arc<File>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let run = move || its.do_all(&file);
        let handle = thread::Builder::new().name("spool".into()).spawn(run)?;
        Ok(Self { shared, handle })
    }

    fn check(&self) -> io::Result<()> {
        if self.shared.has_failed.load(Ordering::Acquire) {
            return Err(self.shared.failure());
        }
        Ok(())
    }

    fn hand_over(&self, job: Arc<Job>) {
        self.shared.state().jobs.push_back(job);
        self.shared.given.notify_one();
    }

    /// The number of `n_known` jobs that are not done; with `for_less`, waits until it is
    /// less than `n_known`.
    fn wait(&self, n_known: usize, for_less: bool) -> io::Result<usize> {
        let mut state = self.shared.state();
        loop {
            if self.shared.has_failed.load(Ordering::Acquire) {
                drop(state);
                return Err(self.shared.failure());
            }
            let n_left = state.jobs.len() + usize::from(state.is_busy);
            if !for_less || n_left < n_known || n_known <= 1 {
                return Ok(n_left);
            }
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until all is done.
    fn finish(self) -> io::Result<()> {
        self.shared.state().is_closed = true;
        self.shared.given.notify_one();
        self.handle.join().map_err(|_| died())?;
        if self.shared.has_failed.load(Ordering::Acquire) {
            return Err(self.shared.failure());
        }
        Ok(())
    }

    /// Ends it without doing the rest.
    fn stop(self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.jobs.clear();
        drop(state);
        self.shared.given.notify_one();
        // It has nothing to say that anyone would ask for.
        let _ = self.handle.join();
    }

    /// Leaves it to the process that has it.
    fn forget(self) {
        mem::forget(self);
    }
}
