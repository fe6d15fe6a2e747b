//! Work on a separate thread while Python's thread handles Ctrl-C, progress callbacks, and requests
//! that only Python can answer.
use crate::{
    desk::{Desk, Fetched, Next, Offered},
    error::raise,
};
use fdconvert::{Cancel, Error, Observer, Progress, Result, Skipped, Stage, Steps};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde_json::Value;
use std::{
    collections::VecDeque,
    io, mem,
    panic::resume_unwind,
    path::Path,
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Longest delay of Ctrl-C and the progress callback.
const POLL: Duration = Duration::from_millis(100);

/// Number of samples to collect before the threads that wait for them are woken: waking one takes
/// longer than fetching a small sample.
pub(crate) const N_AT_ONCE: usize = 64;
/// Time after which they are woken for fewer samples.
pub(crate) const HELD: Duration = Duration::from_millis(1);

/// Runs `work` and returns its result. The work may request samples from the desk that it gets;
/// `fetch` answers with the sample at a position, and gets up to `n_coming` further positions that
/// will be requested next.
///
/// `progress` is called in this thread, at most ten times a second, with the number of finished
/// samples and their total. Ctrl-C, any exception of `progress`, and one that `fetch` returns, stop
/// the work.
pub(crate) fn attended(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter, &Arc<Desk>) -> Result<Value> + Send + 'static,
    n_coming: usize,
    fetch: impl FnMut(u64, &[u64]) -> PyResult<Fetched>,
) -> PyResult<Result<Value>> {
    Work::begin(work)?.attend(py, progress, n_coming, fetch)
}

/// Runs short work, and lets signals end it if one of these paths leads to a store with a server
/// that may not answer.
pub(crate) fn interruptible<'a, T: Send>(
    py: Python<'_>,
    paths: impl IntoIterator<Item = &'a Path>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if paths.into_iter().all(fdconvert_reader::is_path) {
        return py.detach(work).map_err(|error| raise(&error));
    }
    thread::scope(|scope| {
        let (done, waits) = mpsc::sync_channel::<()>(1);
        let worker = scope.spawn(move || {
            // Dropped when the work has ended, also by a panic.
            let _done = done;
            work()
        });
        // Without the interpreter's lock only shareable values may be captured.
        let waits = Mutex::new(waits);
        let has_ended = || {
            let waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout)
        };
        let mut interrupt = None;
        while interrupt.is_none() && !py.detach(has_ended) {
            interrupt = py.check_signals().err();
        }
        let _stopped = interrupt.is_some().then(fdconvert::plumbing::stop_requests);
        let found = py.detach(|| worker.join()).unwrap_or_else(|panic| resume_unwind(panic));
        match interrupt {
            Some(exception) => Err(exception),
            None => found.map_err(|error| raise(&error)),
        }
    })
}

/// Work in progress. Dropping it stops the work and waits for its end.
pub(crate) struct Work {
    meter: Arc<Meter>,
    desk: Arc<Desk>,
    worker: Option<JoinHandle<()>>,
    process: u32,
    shown: Option<(u64, u64)>,
    looked: Instant,
}

impl Work {
    pub(crate) fn begin(
        work: impl FnOnce(&Meter, &Arc<Desk>) -> Result<Value> + Send + 'static,
    ) -> PyResult<Self> {
        let meter = Arc::new(Meter::default());
        let desk = Arc::new(Desk::default());
        // The work has a separate thread, because signals only reach Python code in this one.
        let work = {
            let (meter, desk) = (Arc::clone(&meter), Arc::clone(&desk));
            move || desk.finish(in_pool(|| work(&meter, &desk)))
        };
        let worker = Some(thread::Builder::new().name("fdconvert".into()).spawn(work)?);
        let (process, looked) = (process::id(), Instant::now());
        Ok(Self { meter, desk, worker, process, shown: None, looked })
    }

    /// Returns true if this process is a fork of the one that began the work: it lacks the thread
    /// of the work, and a missing thread may hold locks.
    pub(crate) fn is_foreign(&self) -> bool {
        self.process != process::id()
    }

    /// Gives the work samples, numbered from `first`, when it is ready for them; returns false if
    /// it has ended with an error, which [`attend`](Self::attend) then returns.
    ///
    /// # Errors
    /// The exception of Ctrl-C or of `progress`.
    pub(crate) fn give(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        first: &mut u64,
        samples: &mut VecDeque<Fetched>,
    ) -> PyResult<bool> {
        let desk = Arc::clone(&self.desk);
        let mut offered = desk.offer(first, samples, Duration::ZERO);
        while offered == Offered::Early {
            let has_ended = self.has_ended();
            offered = py.detach(|| desk.offer(first, samples, POLL));
            py.check_signals()?;
            self.look(progress)?;
            // Without a result: by a panic.
            if has_ended && offered == Offered::Early {
                return Ok(false);
            }
        }
        self.look(progress)?;
        Ok(offered == Offered::Taken)
    }

    /// Sets the meter's number of samples so far, if nothing else does.
    pub(crate) fn count(&self, n_samples: u64) {
        self.meter.total.store(n_samples, Ordering::Relaxed);
    }

    /// Tells the work that it has received all `n_samples`.
    pub(crate) fn end_at(&self, n_samples: u64) {
        self.count(n_samples);
        self.desk.end_at(n_samples);
    }

    /// Answers the requests of the work until it is done.
    pub(crate) fn attend(
        mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        n_coming: usize,
        fetch: impl FnMut(u64, &[u64]) -> PyResult<Fetched>,
    ) -> PyResult<Result<Value>> {
        let result = self.answer(py, progress, n_coming, fetch);
        let _stopped = result.is_err().then(|| {
            self.meter.cancel.cancel();
            fdconvert::plumbing::stop_requests()
        });
        // After an exception its result is no longer needed.
        if let Err(panic) = py.detach(|| self.join()) {
            resume_unwind(panic);
        }
        let result = result?;
        if result.is_ok() {
            self.show(progress, true)?;
        }
        Ok(result)
    }

    fn answer(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        n_coming: usize,
        mut fetch: impl FnMut(u64, &[u64]) -> PyResult<Fetched>,
    ) -> PyResult<Result<Value>> {
        let desk = Arc::clone(&self.desk);
        let mut fetched: Vec<(u64, Fetched)> = Vec::new();
        let mut began = Instant::now();
        loop {
            let next = match fetched.is_empty() {
                true => py.detach(|| desk.next(POLL, n_coming)),
                false => desk.next(Duration::ZERO, n_coming),
            };
            match next {
                Next::Done(result) => return Ok(result),
                Next::Fetch(index, coming) => {
                    if fetched.is_empty() {
                        began = Instant::now();
                    }
                    fetched.push((index, fetch(index, &coming)?));
                    if fetched.len() >= N_AT_ONCE || began.elapsed() >= HELD {
                        desk.answer(fetched.drain(..));
                    }
                }
                Next::Nothing if !fetched.is_empty() => desk.answer(fetched.drain(..)),
                // It may have ended since, with a result or by a panic.
                Next::Nothing if self.has_ended() => {
                    return match desk.next(Duration::ZERO, 0) {
                        Next::Done(result) => Ok(result),
                        _ => Err(PyRuntimeError::new_err("the work left no result")),
                    };
                }
                Next::Nothing => {}
            }
            py.check_signals()?;
            self.look(progress)?;
        }
    }

    /// Calls `progress` if it is due.
    fn look(&mut self, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if self.looked.elapsed() < POLL {
            return Ok(());
        }
        self.looked = Instant::now();
        self.show(progress, false)
    }

    fn show(&mut self, progress: Option<&Bound<'_, PyAny>>, always: bool) -> PyResult<()> {
        let now = self.meter.read();
        match progress {
            Some(progress) if self.shown != Some(now) && (always || now.1 > 0) => {
                self.shown = Some(now);
                progress.call1(now).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn has_ended(&self) -> bool {
        self.worker.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the thread: one that is still ending would be missing in a child that is forked
    /// now.
    fn join(&mut self) -> thread::Result<()> {
        self.desk.close();
        self.worker.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_foreign() {
            // The system has no such thread here.
            mem::forget(self.worker.take());
        } else if self.worker.is_some() {
            self.meter.cancel.cancel();
            // Its result is no longer needed.
            let _ = self.join();
        }
    }
}

/// Runs the work with threads that end with it: those of Rayon's global pool would be missing in a
/// child of a later fork.
fn in_pool(work: impl FnOnce() -> Result<Value> + Send) -> Result<Value> {
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool = pool.map_err(|cause| Error::io("start", "threads")(io::Error::other(cause)))?;
    pool.install(work)
}

/// Progress of the work, for another thread to read, and the switch that stops it.
#[derive(Default)]
pub(crate) struct Meter {
    pub(crate) cancel: Cancel,
    done: AtomicU64,
    total: AtomicU64,
}

impl Meter {
    fn read(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    fn begin(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

impl Progress for Meter {
    fn stage(&self, _: Stage) -> Box<dyn Steps + '_> {
        Box::new(self)
    }

    fn packing(&self) -> Box<dyn Observer + '_> {
        Box::new(self)
    }
}

impl Steps for &Meter {
    fn total(&self, n: u64) {
        self.begin(n);
    }

    fn done(&self, n: u64) {
        self.done.store(n, Ordering::Relaxed);
    }

    fn step(&self) {
        self.add(1);
    }
}

impl Observer for &Meter {
    fn begin(&mut self, planned: u64) {
        Meter::begin(self, planned);
    }

    fn resumed(&mut self, samples: u64) {
        self.add(samples);
    }

    fn stored(&mut self, _bytes_in: u64, _bytes_stored: u64) {
        self.add(1);
    }

    fn skipped(&mut self, _: &Skipped) {
        self.add(1);
    }
}
