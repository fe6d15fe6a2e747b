//! Batches for training: the workspace's loader behind a lock, with its batches as arrays.
//!
//! Its user interface is `Loader` in `python/fdconvert/_loader.py`, which turns arrays into NumPy's
//! or torch's and counts epochs. This module contains the waiting, the options and the memory.
mod columns;
mod exchange;
mod names;
mod options;
mod sampling;

use crate::{
    array::{Array, DeviceArray, Target},
    attended::interruptible,
    dataset::Dataset,
    error::{UsageError, raise_spelled},
    sample::ROUNDED,
};
use fdconvert_core::{ArraySpec, DType, Error};
use fdconvert_loader::{Batch, Datasets, Loader, Memory, Shape, Sizes, State, Waited};
use pyo3::{
    exceptions::PyRuntimeWarning,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    ffi::CString,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Longest delay of Ctrl-C, and of another thread that requests the statistics.
const POLL: Duration = Duration::from_millis(100);

/// Longest wait of a closed loader for the other ranks to know. A thread inside Python at the end
/// of the interpreter could not end itself.
const PARTING: Duration = Duration::from_secs(5);

/// Time without a batch after which a caller that keeps all memory for batches gets an error or a
/// warning: another thread may drop one until then.
const PATIENCE: Duration = Duration::from_secs(10);

/// The engine of `fdconvert.Loader`; use that class instead.
#[pyclass(frozen, module = "fdconvert._fdconvert")]
pub(crate) struct BatchSource {
    /// `None` once it is closed.
    loader: Mutex<Option<Loader>>,
    shape: Shape,
    /// Number of delivered batches with memory in use.
    lent: Arc<AtomicUsize>,
    /// True once the warning about rounded images was raised.
    is_told: AtomicBool,
}

#[pymethods]
impl BatchSource {
    #[new]
    fn new(
        py: Python<'_>,
        dataset: &Bound<'_, Dataset>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = options::read(options)?;
        let paths = dataset.get().paths();
        let samples = dataset.get().to_load()?;
        let open = || {
            let datasets = Datasets::try_from(samples)?;
            Loader::new(datasets, options)
        };
        let loader = interruptible(py, paths.iter().map(|path| &**path), || Ok(open()))?;
        let loader = loader.map_err(|error| raise(&error))?;
        let shape = loader.shape();
        Ok(Self {
            loader: Mutex::new(Some(loader)),
            shape,
            lent: Arc::default(),
            is_told: AtomicBool::new(false),
        })
    }

    /// Return the next batch, or `None` at the end of the epoch.
    ///
    /// Its images are copied to `out`, if given. Otherwise they are in the loader's memory, which
    /// it reuses after the array is gone.
    #[pyo3(signature = (out=None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        // Refused before a batch is taken that could not be delivered.
        let target = out.map(|out| Target::new(out, self.shape)).transpose()?;
        let mut tell_at = Some(Instant::now() + PATIENCE);
        let batch = loop {
            match self.with(py, |loader| loader.next_for(POLL))? {
                Waited::Batch(batch) => break batch,
                Waited::End => return Ok(None),
                Waited::NotYet => {}
            }
            if let Err(exception) = py.check_signals() {
                // Its threads may wait for a server that does not answer.
                let _stopped = fdconvert::plumbing::stop_requests();
                self.with(py, |loader| {
                    loader.stop();
                    Ok(())
                })?;
                return Err(exception);
            }
            if tell_at.is_some_and(|at| at < Instant::now())
                && self.with(py, |loader| Ok(loader.waits_for_memory()))?
            {
                tell_at = None;
                self.tell_keeper(py)?;
            }
        };
        if self.with(py, |loader| Ok(loader.rounded()))? > 0
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), ROUNDED, 4)?;
        }
        self.tuple(py, batch, target).map(Some)
    }

    /// Return the number of batches of a whole epoch.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.with(py, |loader| Ok(loader.len()))?)?)
    }

    /// Return the class names, in the order of the labels' numbers.
    fn classes(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        self.with(py, |loader| Ok(loader.datasets().class_names().map(|names| names.to_vec())))
    }

    /// Return the number of samples in an epoch, on all ranks together.
    fn n_samples(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |loader| Ok(loader.n_samples()))
    }

    /// Return the epoch of the next batch.
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |loader| Ok(loader.epoch()))
    }

    /// Go to the start of an epoch, which may be the current one.
    fn begin(&self, py: Python<'_>, epoch: u64) -> PyResult<()> {
        self.with(py, |loader| {
            if loader.epoch() == epoch {
                loader.set_epoch(epoch.wrapping_add(1))?;
            }
            loader.set_epoch(epoch)
        })
    }

    /// Return why the exchange with other ranks ended; `None` while it works.
    fn exchange_failure(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |loader| Ok(loader.exchange_failure()))
    }

    /// Return the position after the last batch.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |loader| Ok(loader.state().to_string()))
    }

    /// Resume at a position.
    fn restore(&self, py: Python<'_>, state: &str) -> PyResult<()> {
        self.with(py, |loader| loader.restore(&state.parse::<State>()?))
    }

    /// Return the name and the version of each dataset, and None for one without versions.
    fn versions(&self, py: Python<'_>) -> PyResult<Vec<Option<(String, u64)>>> {
        self.with(py, |loader| Ok(loader.datasets().versions()))
    }

    /// Return counts, and times in seconds.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (stats, left_out) =
            self.with(py, |loader| Ok((loader.stats(), loader.datasets().left_out())))?;
        let dict = PyDict::new(py);
        for (name, count) in [
            ("samples", stats.samples),
            ("batches", stats.batches),
            ("failures", stats.failures),
            ("substituted", stats.substituted),
            ("retries", stats.retries),
            ("rounded", stats.rounded),
            ("fetched_bytes", stats.fetched_bytes),
            ("storage_bytes", stats.storage_bytes),
            ("reads", stats.reads),
            ("hits", stats.hits),
            ("not_kept", stats.not_kept),
            ("moved", stats.moved),
            ("exchanged", stats.exchanged),
            ("exchanged_bytes", stats.exchanged_bytes),
            ("not_exchanged", stats.not_exchanged),
            ("requests", stats.requests),
            ("received_bytes", stats.received_bytes),
            ("over_fetched_bytes", stats.over_fetched_bytes),
        ] {
            dict.set_item(name, count)?;
        }
        if let Some(decoded) = stats.decoded {
            for (name, count) in [
                ("decoded_by_index", decoded.by_index),
                ("decoded_by_nvjpeg", decoded.by_nvjpeg),
                ("drawn_on_gpu", decoded.drawn_on_gpu),
                ("decoded_by_cpu", decoded.by_cpu),
                ("failed_on_gpu", decoded.failed_on_gpu),
                ("stored_bytes", decoded.stored_bytes),
            ] {
                dict.set_item(name, count)?;
            }
        }
        for (name, time) in [
            ("fetch_s", stats.fetch),
            ("decode_s", stats.decode),
            ("draw_s", stats.draw),
            ("render_s", stats.render),
            ("stalled_s", stats.stalled),
            ("stall_p50_s", stats.stall_p50),
            ("stall_p95_s", stats.stall_p95),
            ("stall_p99_s", stats.stall_p99),
            ("elapsed_s", stats.elapsed),
        ] {
            dict.set_item(name, time.as_secs_f64())?;
        }
        dict.set_item("first_batch_s", stats.first_batch.map(|time| time.as_secs_f64()))?;
        dict.set_item("batches_kept", self.lent.load(Ordering::Relaxed))?;
        dict.set_item("threads", stats.threads)?;
        dict.set_item("jpeg_entropy", stats.jpeg_entropy)?;
        dict.set_item("fields_left_out", left_out)?;
        // Before the first batch there was no wait, and nothing is known.
        dict.set_item("verdict", (stats.batches > 0).then(|| stats.verdict.name()))?;
        Ok(dict)
    }

    /// Reset the statistics.
    fn reset_stats(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |loader| {
            loader.reset_stats();
            Ok(())
        })
    }

    /// Stop the threads. Returned batches stay valid.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            part_with(self.loader.lock().unwrap_or_else(PoisonError::into_inner).take());
        });
    }
}

impl BatchSource {
    /// Reports that the kept batches take all memory: as an error in the main thread, which waits
    /// for itself, and as a warning in others, because the main thread may drop their batches.
    fn tell_keeper(&self, py: Python<'_>) -> PyResult<()> {
        let shape = self.shape;
        let (kept, bytes) =
            self.with(py, |loader| Ok((loader.stats().kept, loader.options().prefetch_bytes)))?;
        let all = fdconvert_core::size((shape.rows * shape.row_bytes()) as u64 * kept);
        let what = format!(
            "Prefetch.bytes: {kept} batches are kept, {all}, and {} of memory are for batches: keep \
             copies (numpy's `copy()`, torch's `clone()`), or raise it",
            fdconvert_core::size(bytes)
        );
        let threading = py.import("threading")?;
        let current = threading.call_method0("current_thread")?;
        if current.is(&threading.call_method0("main_thread")?) {
            return Err(UsageError::new_err(what));
        }
        let what = CString::new(format!("fdconvert.Loader: no batch for 10 seconds: {what}"))?;
        // The fourth frame from here is that of the loop.
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &what, 4)
    }

    /// Runs a function on the loader without the interpreter, because another thread may hold the
    /// lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Loader) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| {
            self.loader.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
        });
        match result {
            Some(result) => result.map_err(|error| raise(&error)),
            None => Err(UsageError::new_err("loader: it is closed")),
        }
    }

    fn tuple<'py>(
        &self,
        py: Python<'py>,
        batch: Batch,
        target: Option<Target>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let labels = columns::labels(py, &batch)?;
        // Larger datasets do not exist.
        let integers = |values: &[u64]| numbers(values.iter().map(|&value| value as i64));
        let (samples, occurrences) = (integers(batch.samples())?, integers(batch.occurrences())?);
        let (valid, substituted) = (flags(batch.valid())?, flags(batch.substituted())?);
        let (epoch, step, state) = (batch.epoch(), batch.step(), batch.state().to_string());
        let fields = columns::to_dict(py, &batch)?;
        let geometry = columns::geometry(py, &batch)?;
        // A batch on a GPU has only its images there.
        let images = match (batch.memory(), target) {
            (Memory::Device(_), _) => {
                DeviceArray::of_batch(batch, &self.lent)?.into_pyobject(py)?.into_any()
            }
            (Memory::Host(_), Some(target)) => {
                Array::copy_of_batch(py, &batch, target)?.into_pyobject(py)?.into_any()
            }
            (Memory::Host(_), None) => images(py, batch, &self.lent)?.into_any(),
        };
        (
            images,
            labels,
            samples,
            valid,
            substituted,
            occurrences,
            epoch,
            step,
            state,
            fields,
            geometry,
        )
            .into_pyobject(py)
    }
}

impl Drop for BatchSource {
    fn drop(&mut self) {
        let loader = self.loader.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Its threads end with their current sample; other threads of Python need not wait for
        // that. After the end of the interpreter the closure is dropped, and the loader.
        let _ = Python::try_attach(|py| py.detach(|| part_with(loader)));
    }
}

/// Returns the exception for an error of the library, with options as callers of the loader know
/// them.
fn raise(error: &Error) -> PyErr {
    raise_spelled(error, names::spelled)
}

/// Returns the images of a batch: an array for each group of views, a list of arrays of rows of their
/// own sizes, or patches with their places.
fn images<'py>(
    py: Python<'py>,
    batch: Batch,
    lent: &Arc<AtomicUsize>,
) -> PyResult<Bound<'py, PyDict>> {
    let groups = PyDict::new(py);
    if batch.sizes() == &Sizes::Own {
        groups.set_item("images", Array::of_rows(batch, lent)?)?;
        return Ok(groups);
    }
    if let Sizes::Patches(patches) = *batch.sizes() {
        let most = u64::from(patches.most);
        let grids: Vec<(u32, u32)> = batch.patches().collect();
        let shape = vec![grids.len() as u64, most];
        let (mut places, mut are_valid) = (Vec::new(), Vec::new());
        for (rows, columns) in grids {
            let own = (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column]));
            let n_own = u64::from(rows) * u64::from(columns);
            let padding = (n_own..most).map(|_| [0; 2]);
            places.extend(own.chain(padding).flatten().map(i64::from));
            are_valid.extend((0..most).map(|patch| patch < n_own));
        }
        let place_shape = [&shape[..], &[2]].concat();
        groups.set_item("patch_coord", shaped(places.into_iter(), place_shape)?)?;
        let spec = ArraySpec { dtype: DType::Bool, shape, torch: false };
        let bytes = are_valid.into_iter().map(u8::from).collect();
        groups.set_item("patch_valid", Array::from_vec(bytes, &spec)?)?;
        groups.set_item("patches", Array::of_patches(batch, patches, lent)?)?;
        return Ok(groups);
    }
    for (name, array) in Array::of_batch(batch, lent)? {
        groups.set_item(name, array)?;
    }
    Ok(groups)
}

/// Ends a loader, after the other ranks know.
fn part_with(loader: Option<Loader>) {
    if let Some(mut loader) = loader {
        loader.leave_exchange(PARTING);
    }
}

fn numbers(numbers: impl ExactSizeIterator<Item = i64>) -> PyResult<Array> {
    let shape = vec![numbers.len() as u64];
    shaped(numbers, shape)
}

fn shaped(numbers: impl Iterator<Item = i64>, shape: Vec<u64>) -> PyResult<Array> {
    let bytes: Vec<u8> = numbers.flat_map(i64::to_ne_bytes).collect();
    Array::from_slice(&bytes, &ArraySpec { dtype: DType::I64, shape, torch: false })
}

fn flags(flags: &[bool]) -> PyResult<Array> {
    let bytes = flags.iter().map(|&flag| u8::from(flag)).collect();
    let shape = vec![flags.len() as u64];
    Array::from_vec(bytes, &ArraySpec { dtype: DType::Bool, shape, torch: false })
}
