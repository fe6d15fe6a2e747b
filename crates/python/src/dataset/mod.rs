//! The map-style dataset.
mod choice;
mod joined;
mod pickle;
mod positions;

use crate::{
    attended::interruptible,
    error::{DataError, UsageError, raise},
    sample::{Decode, How, Picture, fetch, fetch_many, from_json, n_threads_of, to_dict},
    stores::warn_of_left_out,
};
use choice::Step;
use fdconvert_core::{Limits, Sample};
use fdconvert_reader::sigbus;
pub(crate) use joined::{concat, mix};
pub(crate) use pickle::restored;
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyIndexError, PyRuntimeError, PyTypeError},
    prelude::*,
    types::{PyBytes, PyDict, PyIterator, PyList, PyRange, PySlice, PyTuple},
};
use std::path::{Path, PathBuf};

/// Number of samples that each thread fetches between two checks for Ctrl-C.
const SAMPLES_PER_LOOK: usize = 64;
/// The same for labels, which need no decoding.
const LABELS_PER_LOOK: u64 = 4096;

/// A packed dataset, a folder of images, or a recipe for fractals, as a sequence of dictionaries.
///
/// `path` is anything that `fdconvert inspect` opens. `split` is the name of the split to open, or
/// a list of names; samples of a dataset with several splits need it, or `split()`, with `"all"` for
/// the whole.
///
/// `decode="rgb"` decodes images to arrays of height, width and three channels of 8 bits;
/// `decode=None` returns them as stored, as `get` does. `orient` turns decoded photos upright by
/// their EXIF orientation, as `Loader` does by default. `transform` is called with every sample,
/// and its result is returned instead.
///
/// `threads` fetch several samples at once: by default one per core, but only one in a process that
/// multiprocessing has started. `verify` compares samples with their stored checksums, if there are
/// any. `max_pixels` and `max_file_bytes` are the limits of an image.
///
/// `where`, `keys`, `split` and `select` return a dataset of the chosen samples with the same
/// options, to be indexed, loaded or narrowed again; `concat` and `mix` join several. A choice is
/// made from names, sizes and labels and keeps at most 4 bytes for each sample that is left, nothing
/// for a range. Samples are numbered from 0 again; classes and their numbers stay.
///
/// A dataset can be pickled and used on both sides of a fork: it keeps no threads between calls.
#[pyclass(frozen, subclass, module = "fdconvert")]
pub(crate) struct Dataset {
    samples: fdconvert::Dataset,
    /// False if splits would be mixed unasked.
    is_split: bool,
    origin: Origin,
    /// The dataset from which the steps have chosen; `None` without steps.
    root: Option<Py<Dataset>>,
    steps: Vec<Step>,
    how: How,
    threads: Option<usize>,
    transform: Option<Py<PyAny>>,
}

enum Origin {
    Path {
        /// As given, for people.
        path: PathBuf,
        /// For other processes, which may run in another folder; URLs and recipes are unchanged.
        absolute: PathBuf,
        split: Option<Py<PyAny>>,
    },
    /// A concatenation, or with shares a mix. Of chosen samples the root has it.
    Joined { parts: Vec<Py<Dataset>>, shares: Option<Vec<f64>> },
}

#[pymethods]
impl Dataset {
    #[new]
    #[pyo3(signature = (
        path, *, split=None, decode=Some("rgb"), transform=None, threads=None, verify=true,
        max_pixels=100_000_000, max_file_bytes=1_073_741_824, orient=false
    ), text_signature = "(path, *, split=None, decode='rgb', transform=None, threads=None, verify=True, max_pixels=100000000, max_file_bytes=1073741824, orient=False)")]
    #[allow(clippy::too_many_arguments, reason = "in Python they have names")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        split: Option<Py<PyAny>>,
        decode: Option<&str>,
        transform: Option<Py<PyAny>>,
        threads: Option<usize>,
        verify: bool,
        max_pixels: u64,
        max_file_bytes: u64,
        orient: bool,
    ) -> PyResult<Self> {
        let decode = match decode {
            None => Decode::No,
            Some("rgb") => Decode::Rgb,
            Some(other) => {
                let what = format!("decode: `{other}` is neither \"rgb\" nor None");
                return Err(UsageError::new_err(what));
            }
        };
        n_threads_of(py, threads)?;
        if let Some(transform) = &transform
            && !transform.bind(py).is_callable()
        {
            return Err(PyTypeError::new_err("transform: it cannot be called"));
        }
        let is_path = fdconvert_reader::is_path(&path);
        let absolute = if is_path { std::path::absolute(&path)? } else { path.clone() };
        let names = split.as_ref().map(|split| split_names(split.bind(py))).transpose()?;
        let open = || {
            let whole = fdconvert::open(&path)?;
            names.as_ref().map_or_else(|| Ok(whole.clone()), |names| whole.split(names))
        };
        let samples = interruptible(py, [&*path], || sigbus::caught(open))?;
        warn_of_left_out(py, [&*path])?;
        let limits = Limits { max_pixels, max_file_bytes };
        let how = How { decode, orient, limits, verify };
        let is_split = samples.check_splits().is_ok();
        let origin = Origin::Path { path, absolute, split };
        Ok(Self {
            samples,
            is_split,
            origin,
            root: None,
            steps: Vec::new(),
            how,
            threads,
            transform,
        })
    }

    /// Return the dataset of the samples for which an expression holds.
    ///
    /// The expressions are those of ``pack(where=...)``, such as ``label != "cat" && width >= 64``;
    /// ``index`` is the position in this dataset.
    #[pyo3(name = "where")]
    fn by_expression(slf: &Bound<'_, Self>, expression: String) -> PyResult<Self> {
        choice::chosen(slf, Step::Where(expression))
    }

    /// Return the dataset of the samples with these keys, in the order of this dataset.
    ///
    /// `keys` is a file with one key per line, or an iterable. Unknown keys raise `UsageError`.
    fn keys(slf: &Bound<'_, Self>, keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        choice::by_keys(slf, keys)
    }

    /// Return the dataset of the samples of a split, or of a list of splits.
    ///
    /// ``"all"`` stands for the whole, with its splits mixed.
    fn split(slf: &Bound<'_, Self>, names: &Bound<'_, PyAny>) -> PyResult<Self> {
        choice::chosen(slf, Step::Split(split_names(names)?))
    }

    /// Return the dataset of the samples at these positions, in this order; repeats are allowed.
    ///
    /// `positions` is a range, a slice, a list or an array of integers, which count from the end if
    /// negative, or a mask with a boolean for each sample.
    fn select(slf: &Bound<'_, Self>, positions: &Bound<'_, PyAny>) -> PyResult<Self> {
        choice::by_position(slf, positions)
    }

    /// Return sample `index`, or a list of samples for a slice.
    ///
    /// Negative positions count from the end.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.n_samples()?)?;
            let positions =
                (0..range.slicelength.cast_signed()).map(|n| range.start + n * range.step);
            let positions: Result<Vec<u64>, _> = positions.map(u64::try_from).collect();
            return Ok(self.list(py, &positions?)?.into_any());
        }
        let index = self.position(index)?;
        let fetch = || fetch(&*self.samples, index, self.how);
        let sample = self.interruptible(py, fetch)?;
        self.finish(py, sample)
    }

    /// Return several samples, decoded by several threads.
    ///
    /// `torch.utils.data.DataLoader` calls this with the indices of a batch.
    fn __getitems__<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        // This lets torch, if it is loaded, make tensors of arrays.
        py.import("fdconvert._collate")?.call_method0("register")?;
        let positions: PyResult<Vec<u64>> =
            indices.try_iter()?.map(|index| self.position(&index?)).collect();
        self.list(py, &positions?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.n_samples()?.unsigned_abs())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let py = slf.py();
        let indices = PyRange::new(py, 0, slf.get().n_samples()?)?;
        let map = py.import("builtins")?.getattr("map")?;
        map.call1((slf.getattr("__getitem__")?, indices))?.try_iter()
    }

    /// Return sample `index` with its images as stored, without the transform.
    ///
    /// Each image is a dictionary of `bytes`, `codec`, `width` and `height`.
    fn get<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let index = self.position(index)?;
        let how = How { decode: Decode::No, ..self.how };
        let fetch = || fetch(&*self.samples, index, how);
        let sample = self.interruptible(py, fetch)?;
        to_dict(py, self.samples.schema(), sample)
    }

    /// Return the key of sample `index`: its name, or for files the path below the source's folder.
    fn key(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<String> {
        let index = self.position(index)?;
        let key = || sigbus::caught(|| Ok(self.samples.key(index)));
        py.detach(key).map_err(|error| raise(&error))
    }

    /// Return the labels of all samples; `None` for a dataset without integer labels.
    ///
    /// Labels of other kinds are fields of the samples.
    fn labels(&self, py: Python<'_>) -> PyResult<Option<Vec<i64>>> {
        self.check_splits()?;
        if self.samples.schema().label().is_none() {
            return Ok(None);
        }
        let len = self.samples.len();
        let mut labels = Vec::with_capacity(self.__len__()?);
        for start in (0..len).step_by(LABELS_PER_LOOK as usize) {
            let chunk = start..len.min(start + LABELS_PER_LOOK);
            let read = || {
                let labels = chunk.clone().map(|index| self.label_at(index));
                labels.collect::<Result<Vec<_>, _>>()
            };
            for label in py.detach(|| sigbus::caught(read)).map_err(|error| raise(&error))? {
                labels.push(label.ok_or_else(|| DataError::new_err("a sample has no label"))?);
            }
            py.check_signals()?;
        }
        Ok(Some(labels))
    }

    /// The path as given; ``None`` for several datasets as one.
    #[getter]
    fn path(&self) -> PyResult<Option<String>> {
        let origin = self.root.as_ref().map_or(&self.origin, |root| &root.get().origin);
        let Origin::Path { path, .. } = origin else { return Ok(None) };
        let path = path.to_str().ok_or_else(|| UsageError::new_err("path: no text"))?;
        Ok(Some(path.to_owned()))
    }

    /// The fields, as `fdconvert inspect --json` shows them.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_vec(self.samples.schema())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        from_json(py, &text)
    }

    /// The names of the label's classes 0, 1, 2, ...; `None` if none are recorded.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let schema = self.samples.schema();
        let field = schema.label().and_then(|label| schema.fields.get(label));
        let names = field.and_then(|field| field.class_names.as_ref());
        names.map(|names| PyList::new(py, names.iter())).transpose()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (shown, n) = (choice::shown(py, self)?, self.samples.len());
        Ok(match (&self.origin, self.steps.is_empty()) {
            (Origin::Path { .. }, true) => {
                format!("{}, samples={n})", shown.strip_suffix(')').unwrap_or(&shown))
            }
            _ => format!("<{shown} of {n} samples>"),
        })
    }

    /// Return HTML for notebooks: the first samples as small pictures.
    #[pyo3(name = "_repr_html_")]
    fn repr_html(slf: &Bound<'_, Self>) -> PyResult<String> {
        let html = slf.py().import("fdconvert._html")?;
        html.call_method1("of_dataset", (slf,))?.extract()
    }

    /// Return a PNG of the first image of sample `index`, its longer side at most `side` pixels.
    #[pyo3(name = "_thumbnail")]
    fn thumbnail<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
        side: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let index = self.position(index)?;
        let png = || fdconvert::plumbing::thumbnail(&*self.samples, index, side, &self.how.limits);
        let png = py.detach(png).map_err(|error| raise(&error))?;
        Ok(PyBytes::new(py, &png))
    }

    /// Return the label of sample `index`; `None` without one.
    #[pyo3(name = "_label")]
    fn label(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        let index = self.position(index)?;
        let label = || sigbus::caught(|| self.label_at(index));
        py.detach(label).map_err(|error| raise(&error))
    }

    /// Return the arguments from which pickle opens the same dataset in another process.
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let Origin::Path { absolute, split, .. } = &self.origin else {
            return Err(PyTypeError::new_err("chosen and joined samples have no arguments"));
        };
        let options = PyDict::new(py);
        options.set_item("decode", (self.how.decode == Decode::Rgb).then_some("rgb"))?;
        options.set_item("split", split)?;
        options.set_item("transform", &self.transform)?;
        options.set_item("threads", self.threads)?;
        options.set_item("verify", self.how.verify)?;
        options.set_item("max_pixels", self.how.limits.max_pixels)?;
        options.set_item("max_file_bytes", self.how.limits.max_file_bytes)?;
        options.set_item("orient", self.how.orient)?;
        Ok((PyTuple::new(py, [path_object(py, absolute)?])?, options))
    }

    /// Return the call from which pickle makes the same dataset: choices are made again, or are in
    /// it as positions.
    fn __reduce_ex__<'py>(
        slf: &Bound<'py, Self>,
        protocol: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(call) = pickle::reduced(py, slf.get())? {
            return Ok(call.into_pyobject(py)?.into_any());
        }
        let object = py.import("builtins")?.getattr("object")?;
        object.call_method1("__reduce_ex__", (slf, protocol))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.root)?;
        match &self.origin {
            Origin::Path { split, .. } => visit.call(split)?,
            Origin::Joined { parts, .. } => parts.iter().try_for_each(|part| visit.call(part))?,
        }
        visit.call(&self.transform)
    }
}

impl Dataset {
    fn label_at(&self, index: u64) -> fdconvert_core::Result<Option<i64>> {
        if self.how.verify {
            self.samples.verify_row(index)?;
        }
        self.samples.label(index)
    }

    fn interruptible<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> fdconvert_core::Result<T> + Send,
    ) -> PyResult<T> {
        interruptible(py, self.paths().iter().map(|path| &**path), work)
    }

    /// Refuses splits that would be mixed unasked.
    fn check_splits(&self) -> PyResult<()> {
        if self.is_split {
            return Ok(());
        }
        self.samples.check_splits().map_err(|error| raise(&error))
    }

    fn n_samples(&self) -> PyResult<isize> {
        self.check_splits()?;
        Ok(isize::try_from(self.samples.len())?)
    }

    /// Returns a position from the start, of any object that Python accepts as an index.
    fn position(&self, index: &Bound<'_, PyAny>) -> PyResult<u64> {
        let len = self.n_samples()?;
        let index = index.extract::<isize>().map_err(|error| {
            let py = index.py();
            if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
                return PyIndexError::new_err("dataset index out of range");
            }
            if error.is_instance_of::<PyTypeError>(py) {
                let kind = index.get_type().name().map_or_else(|_| "this".into(), |it| it.to_string());
                return PyTypeError::new_err(format!(
                    "a dataset is indexed by integers and slices, not by {kind}; for several samples \
                     write [dataset[i] for i in positions]"
                ));
            }
            error
        })?;
        let from_start = if index < 0 { index + len } else { index };
        if !(0..len).contains(&from_start) {
            let what = format!("dataset index {index} is out of range for {len} samples");
            return Err(PyIndexError::new_err(what));
        }
        Ok(from_start.unsigned_abs() as u64)
    }

    fn list<'py>(&self, py: Python<'py>, indices: &[u64]) -> PyResult<Bound<'py, PyList>> {
        let n_threads = n_threads_of(py, self.threads)?;
        let samples = PyList::empty(py);
        for chunk in indices.chunks(n_threads * SAMPLES_PER_LOOK) {
            let fetch = || fetch_many(&*self.samples, chunk, self.how, n_threads);
            for sample in self.interruptible(py, fetch)? {
                samples.append(self.finish(py, sample)?)?;
            }
            py.check_signals()?;
        }
        Ok(samples)
    }

    fn finish<'py>(&self, py: Python<'py>, sample: Sample<Picture>) -> PyResult<Bound<'py, PyAny>> {
        let dict = to_dict(py, self.samples.schema(), sample)?;
        match &self.transform {
            Some(transform) => transform.bind(py).call1((dict,)),
            None => Ok(dict.into_any()),
        }
    }
}

fn split_names(split: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(name) = split.extract::<String>() {
        return Ok(vec![name]);
    }
    split.extract::<Vec<String>>().map_err(|_| {
        PyTypeError::new_err("split: it is the name of a split, a list of names, or \"all\"")
    })
}

fn path_object<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    // Text like that of `os`: a `pathlib.Path` would make pickles of another platform unreadable.
    Ok(path.as_os_str().into_pyobject(py)?.into_any())
}
