//! What the command does, as functions, and the command itself in this process.
use crate::error::raise;
use fdconvert::{
    Cancel, Context, DiffOptions, InspectOptions, Observer, Pack, PackOptions, Planned, Prepared,
    ProfileOptions, Progress, Result, Skipped, Stage, Steps, VerifyOptions, check_plan_place,
    diff_with, document, inspect_with, merge_with, plan_with, profile_document, profile_with,
    verify_with,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde_json::{Map, Value};
use std::{
    ffi::OsString,
    io,
    panic::resume_unwind,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
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

/// Do what the command of that name does and return its document as JSON.
///
/// `options` is a JSON object of options by name. `progress` is called in this thread, at most ten
/// times a second, with how many samples are done and how many there are. Ctrl-C, and any exception
/// of `progress`, stop the work; nothing half-made is left.
#[pyfunction]
#[pyo3(signature = (command, paths, options, progress=None))]
pub(crate) fn call(
    py: Python<'_>,
    command: String,
    paths: Vec<PathBuf>,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options: Map<String, Value> = serde_json::from_str(options)
        .map_err(|cause| PyRuntimeError::new_err(format!("options are no object: {cause}")))?;
    let meter = Arc::new(Meter::default());
    // The work has a thread of its own, because signals only reach Python code in this one.
    let (send, mut results) = mpsc::sync_channel(1);
    let work = {
        let meter = Arc::clone(&meter);
        move || {
            // When this thread no longer listens it has panicked.
            let _ = send.send(in_pool(&command, paths, options, &meter));
        }
    };
    let worker = thread::Builder::new().name("fdconvert".into()).spawn(work)?;
    let mut shown = None;
    let mut show = |always: bool| {
        let now = meter.read();
        match &progress {
            Some(progress) if shown != Some(now) && (always || now.1 > 0) => {
                shown = Some(now);
                progress.call1(now).map(drop)
            }
            _ => Ok(()),
        }
    };
    let result = loop {
        let result;
        // A receiver is not to be shared, but it may be lent to the one who waits.
        (result, results) = py.detach(move || (results.recv_timeout(POLL), results));
        match result {
            Ok(result) => break result,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals().and_then(|()| show(false)) {
                    meter.cancel.cancel();
                    // What it comes to is no longer asked for.
                    let _ = py.detach(|| worker.join());
                    return Err(error);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => match py.detach(|| worker.join()) {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the work left no result")),
            },
        }
    };
    // A thread that is still ending would be missing in a child that is forked now.
    let _ = py.detach(|| worker.join());
    let found = result.map_err(|error| raise(&error))?;
    show(true)?;
    Ok(found.to_string())
}

/// The work, with threads that end with it: those of Rayon's global pool would be missing in a
/// child of a later fork.
fn in_pool(
    command: &str,
    paths: Vec<PathBuf>,
    options: Map<String, Value>,
    meter: &Meter,
) -> Result<Value> {
    let pool = rayon::ThreadPoolBuilder::new().build();
    let pool =
        pool.map_err(|cause| fdconvert::Error::io("start", "threads")(io::Error::other(cause)))?;
    let context = Context { cancel: &meter.cancel, progress: meter };
    pool.install(|| carry_out(command, paths, options, context))
}

fn carry_out(
    command: &str,
    mut paths: Vec<PathBuf>,
    mut options: Map<String, Value>,
    context: Context<'_>,
) -> Result<Value> {
    let last = paths.pop().unwrap_or_default();
    match command {
        "pack" | "unpack" => {
            let done = if command == "pack" { "packed" } else { "unpacked" };
            let dry = options.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
            let pack = Pack::from_json(paths, last, options)?;
            let pack = if command == "unpack" { pack.unpacking() } else { pack };
            match pack.prepare(context)? {
                Prepared::Samples(samples) if dry => Ok(samples.plan_document()),
                Prepared::Samples(samples) => Ok(samples.document(done, &samples.run(context)?)),
                Prepared::Formula(formula) => Ok(formula.document(&formula.run(dry, context)?)),
            }
        }
        "plan" => {
            let overwrite = options.remove("overwrite").is_some_and(|it| it == true);
            let cache = options.remove("listing_cache");
            let cache = cache.and_then(|file| file.as_str().map(PathBuf::from));
            check_plan_place(&last, overwrite)?;
            let options = PackOptions::from_json(options)?;
            let planned = plan_with(&paths, &options, cache.as_deref(), context)?;
            let bytes = planned.save(&last, overwrite)?;
            Ok(planned.document(&last, bytes))
        }
        "pack_plan" => {
            let plan = paths.pop().unwrap_or_default();
            let dry = options.remove("dry_run").is_some_and(|it| it == true);
            let planned = Planned::load_with(&plan, context)?.with_json(options)?;
            let samples = planned.prepare(&last, dry)?;
            if dry {
                return Ok(samples.plan_document());
            }
            Ok(samples.document("packed", &samples.run(context)?))
        }
        "merge" => Ok(merge_with(&last, paths.pop().as_deref(), context)?.document(&last)),
        "inspect" => {
            Ok(inspect_with(&last, &InspectOptions::from_json(options)?, context)?.document())
        }
        "verify" => {
            let options = VerifyOptions::from_json(options)?;
            Ok(verify_with(&last, &options, context)?.document(&last, &options))
        }
        "diff" => {
            let first = paths.pop().unwrap_or_default();
            let datasets = [first.as_path(), last.as_path()];
            Ok(diff_with(datasets, &DiffOptions::from_json(options)?, context)?.document(datasets))
        }
        "profile" => {
            // Python's own command line says nothing about this call.
            options.remove("command");
            let options = ProfileOptions::from_json(options)?;
            profile_document(&profile_with(&last, &options, context)?)
        }
        other => Ok(document(other, Map::new())),
    }
}

/// How far the work is, for another thread to look at, and the switch that stops it.
#[derive(Default)]
struct Meter {
    cancel: Cancel,
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
