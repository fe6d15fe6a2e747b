//! Datasets of samples from Python: objects become samples (`fields`, `image`); those of a sequence
//! are fetched (`sequence`) when they are packed (`served`). Others are written one after another
//! (`written`): they are packed as they come (`streamed`), or wait in a temporary dataset if the
//! format or an option needs all of them first.
//!
//! Objects are read in the calling thread, one at a time, so that the code that makes them needs no
//! locks; threads of Rust do everything else without the interpreter.

mod fields;
mod image;
mod keys;
mod sequence;
mod served;
mod streamed;
mod written;

pub(crate) use served::pack_samples;
pub(crate) use written::SampleWriter;

use crate::error::raise;
use fdconvert::{Append, OnPackError, Pack};
use fdconvert_core::probe::probe;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Packing request: everything except the samples.
pub(crate) struct Request {
    pub(crate) pack: Pack,
    pub(crate) on_error: OnPackError,
    pub(crate) is_dry: bool,
    /// The edit of a dataset that gets the samples, and the number that it has.
    pub(crate) append: Option<(Append, u64)>,
}

impl Request {
    /// Creates a request from an output and a JSON object of options by name.
    pub(crate) fn new(out: PathBuf, options: &str) -> PyResult<Self> {
        let mut options: Map<String, Value> = serde_json::from_str(options).map_err(|cause| {
            PyRuntimeError::new_err(format!("options are not an object: {cause}"))
        })?;
        let appends = options.remove("append").is_some_and(|value| value == true);
        let skips = options.get("on_error").is_some_and(|value| value == "skip");
        let is_dry = options.get("dry_run").is_some_and(|value| value == true);
        let on_error = if skips { OnPackError::Skip } else { OnPackError::Fail };
        if appends {
            let append = Append::from_json(out.clone(), Vec::new(), options);
            let append = append.map_err(|error| raise(&error))?;
            let n_samples = append.check().map_err(|error| raise(&error))?;
            let (pack, append) = (Pack::new([] as [&PathBuf; 0], out), Some((append, n_samples)));
            return Ok(Self { pack, on_error, is_dry: false, append });
        }
        let pack = Pack::from_json(Vec::new(), out, options).map_err(|error| raise(&error))?;
        Ok(Self { pack, on_error, is_dry, append: None })
    }
}

/// Check the output and the options before the first sample.
#[pyfunction]
pub(crate) fn check_pack(py: Python<'_>, out: PathBuf, options: &str) -> PyResult<()> {
    let Request { pack, is_dry, append, .. } = Request::new(out, options)?;
    if is_dry || append.is_some() {
        return Ok(());
    }
    py.detach(|| pack.check()).map_err(|error| raise(&error))
}

/// Return the files that this process could not remove since the last call, each with the cause.
#[pyfunction]
pub(crate) fn left_files() -> Vec<String> {
    fdconvert::plumbing::left_files()
}

/// Return whether the bytes begin like an image file.
#[pyfunction]
pub(crate) fn is_image(content: &Bound<'_, PyBytes>) -> bool {
    probe(content.as_bytes()).is_ok()
}

/// Adds a note with the sample to the exception, so that tracebacks show it.
fn noted(py: Python<'_>, error: PyErr, key: &str) -> PyErr {
    // An exception that takes no notes is raised without.
    let _ = error.value(py).call_method1("add_note", (format!("fdconvert: sample `{key}`"),));
    error
}

/// Formats an exception like reports: `ValueError: its text`.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map(|name| name.to_string());
    let kind = kind.unwrap_or_else(|_| "exception".to_owned());
    match error.value(py).str().map(|text| text.to_string()) {
        Ok(text) if !text.is_empty() => format!("{kind}: {text}"),
        _ => kind,
    }
}
