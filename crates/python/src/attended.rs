//! Work on a thread of its own, while Python's thread listens: to Ctrl-C, for the caller who wants
//! to know how far it is, and to requests that only Python can answer.
use crate::desk::{Desk, Next};
use fdconvert::{Cancel, Error, Image, Observer, Progress, Result, Sample, Skipped, Stage, Steps};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde_json::Value;
use std::{
    io,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Longest time that Ctrl-C and the progress callback may have to wait.
const POLL: Duration = Duration::from_millis(100);

/// Does `work` and returns what it comes to. It may ask for samples at the desk that it is given;
/// `fetch` answers: it is given the sample's position, and up to `n_coming` of samples that will be
/// next.
///
/// `progress` is called in this thread, at most ten times a second, with how many samples are done
/// and how many there are. Ctrl-C, any exception of `progress`, and one that `fetch` returns, stop
/// the work.
pub(crate) fn attended(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter, &Arc<Desk>) -> Result<Value> + Send + 'static,
    n_coming: usize,
    mut fetch: impl FnMut(u64, &[u64]) -> PyResult<Result<Sample<Image>>>,
) -> PyResult<Result<Value>> {
    let meter = Arc::new(Meter::default());
    let desk = Arc::new(Desk::default());
    // The work has a thread of its own, because signals only reach Python code in this one.
    let work = {
        let (meter, desk) = (Arc::clone(&meter), Arc::clone(&desk));
        move || desk.finish(in_pool(|| work(&meter, &desk)))
    };
    let worker = thread::Builder::new().name("fdconvert".into()).spawn(work)?;
    let mut shown = None;
    let mut show = |always: bool| {
        let now = meter.read();
        match progress {
            Some(progress) if shown != Some(now) && (always || now.1 > 0) => {
                shown = Some(now);
                progress.call1(now).map(drop)
            }
            _ => Ok(()),
        }
    };
    let mut looked = Instant::now();
    let ended = loop {
        let answered = match py.detach(|| desk.next(POLL, n_coming)) {
            Next::Done(result) => break Ok(result),
            Next::Fetch(index, coming) => {
                fetch(index, &coming).map(|sample| desk.answer(index, sample))
            }
            // It may have ended since, with a result or by a panic.
            Next::Nothing if worker.is_finished() => match desk.next(Duration::ZERO, 0) {
                Next::Done(result) => break Ok(result),
                _ => break Err(PyRuntimeError::new_err("the work left no result")),
            },
            Next::Nothing => Ok(()),
        };
        let mut look = || -> PyResult<()> {
            py.check_signals()?;
            if looked.elapsed() < POLL {
                return Ok(());
            }
            looked = Instant::now();
            show(false)
        };
        if let Err(error) = answered.and_then(|()| look()) {
            break Err(error);
        }
    };
    if ended.is_err() {
        meter.cancel.cancel();
    }
    desk.close();
    // A thread that is still ending would be missing in a child that is forked now. What it comes
    // to after an exception is no longer asked for.
    if let Err(panic) = py.detach(|| worker.join()) {
        resume_unwind(panic);
    }
    let result = ended?;
    if result.is_ok() {
        show(true)?;
    }
    Ok(result)
}

/// The work, with threads that end with it: those of Rayon's global pool would be missing in a
/// child of a later fork.
fn in_pool(work: impl FnOnce() -> Result<Value> + Send) -> Result<Value> {
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool = pool.map_err(|cause| Error::io("start", "threads")(io::Error::other(cause)))?;
    pool.install(work)
}

/// Progress of the work, for another thread to look at, and the switch that stops it.
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
