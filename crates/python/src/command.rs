//! The command in this process.
use crate::error::raise_failure;
use fdconvert_cli::{Failure, Finished, Session};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};
use std::{
    ffi::OsString,
    panic::resume_unwind,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// How long Ctrl-C and the progress callback may have to wait.
const POLL: Duration = Duration::from_millis(100);

/// Run the command as a process of its own would and return its exit status.
///
/// It prints, and takes Ctrl-C for itself.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| fdconvert_cli::main(args))
}

/// Run the command and return what it would have printed.
///
/// `progress` is called in this thread, at most ten times a second, with how many samples are done
/// and how many there are. Ctrl-C, and any exception of `progress`, stop the work; nothing
/// half-made is left.
#[pyfunction]
#[pyo3(signature = (args, progress=None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    args: Vec<OsString>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let session = Arc::new(Session::captured());
    // The work has a thread of its own, because signals only reach Python code in this one.
    let (send, mut results) = mpsc::sync_channel(1);
    let work = {
        let session = Arc::clone(&session);
        move || {
            // When this thread no longer listens it has panicked.
            let _ = send.send(fdconvert_cli::run(args, &session));
        }
    };
    let worker = thread::Builder::new().name("fdconvert".into()).spawn(work)?;
    let mut shown = None;
    let mut show = |always: bool| {
        let now = session.gauge().read();
        match &progress {
            Some(progress) if shown != Some(now) && (always || now.1 > 0) => {
                shown = Some(now);
                progress.call1(now).map(drop)
            }
            _ => Ok(()),
        }
    };
    let result: Result<Finished, Failure> = loop {
        let result;
        // A receiver is not to be shared, but it may be lent to whoever waits.
        (result, results) = py.detach(move || (results.recv_timeout(POLL), results));
        match result {
            Ok(result) => break result,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals().and_then(|()| show(false)) {
                    session.cancel().cancel();
                    // What it comes to is no longer asked for.
                    let _ = py.detach(|| worker.join());
                    return Err(error);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => match py.detach(|| worker.join()) {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the command left no result")),
            },
        }
    };
    // A thread that is still ending would be missing in a child that is forked now.
    let _ = py.detach(|| worker.join());
    let finished = result.map_err(|failure| raise_failure(&failure))?;
    show(true)?;
    Ok(PyBytes::new(py, &finished.output))
}
