//! Datasets of samples that Python has: objects become samples (`fields`, `image`), those of a
//! sequence are fetched (`sequence`) when they are packed (`served`), and others are spooled until all
//! are there (`spooled`).
//!
//! Objects are looked at in the thread that called, one at a time, so that the code that makes them
//! needs no locks; all else is done by threads of Rust without the interpreter.

mod fields;
mod image;
mod keys;
mod sequence;
mod served;
mod spooled;

pub(crate) use served::pack_samples;
pub(crate) use spooled::SampleWriter;

use crate::error::raise;
use fdconvert::{ByteCount, Error, OnError, Pack};
use fdconvert_core::probe::probe;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The option that says how much of a spool is in memory.
const MEMORY_BUDGET: &str = "memory_budget";

/// Request to pack something: all of it but the samples.
pub(crate) struct Request {
    pub(crate) pack: Pack,
    pub(crate) on_error: OnError,
    pub(crate) is_dry: bool,
}

impl Request {
    /// Of an output and a JSON object of options by name, for samples that do not wait.
    pub(crate) fn new(out: PathBuf, options: &str) -> PyResult<Self> {
        match Self::spooled(out, options)? {
            (request, None) => Ok(request),
            (_, Some(_)) => {
                let what = "it is for samples that come one after another, and wait until their \
                            number is known; that of these is known, so leave it out";
                Err(raise(&Error::usage(MEMORY_BUDGET, what)))
            }
        }
    }

    /// The same for samples that wait, and how many bytes of them may do so in memory.
    pub(crate) fn spooled(out: PathBuf, options: &str) -> PyResult<(Self, Option<u64>)> {
        let mut options: Map<String, Value> = serde_json::from_str(options).map_err(|cause| {
            PyRuntimeError::new_err(format!("options are not an object: {cause}"))
        })?;
        let memory = options.remove(MEMORY_BUDGET).map(|value| {
            let what = format!("{MEMORY_BUDGET}={value}");
            serde_json::from_value::<ByteCount>(value)
                .map_err(|cause| raise(&Error::usage("options", format!("{what}: {cause}"))))
        });
        let skips = options.get("on_error").is_some_and(|value| value == "skip");
        let is_dry = options.get("dry_run").is_some_and(|value| value == true);
        let pack = Pack::from_json(Vec::new(), out, options).map_err(|error| raise(&error))?;
        let on_error = if skips { OnError::Skip } else { OnError::Fail };
        let memory = memory.transpose()?.map(|bytes| bytes.0);
        Ok((Self { pack, on_error, is_dry }, memory))
    }
}

/// Check what can be checked of a pack before there is a sample.
#[pyfunction]
pub(crate) fn check_pack(py: Python<'_>, out: PathBuf, options: &str) -> PyResult<()> {
    let (Request { pack, is_dry, .. }, _) = Request::spooled(out, options)?;
    if is_dry {
        return Ok(());
    }
    py.detach(|| pack.check()).map_err(|error| raise(&error))
}

/// Return whether bytes start as those of an image file do.
#[pyfunction]
pub(crate) fn is_image(content: &Bound<'_, PyBytes>) -> bool {
    probe(content.as_bytes()).is_ok()
}

/// The exception, with the sample that it is about, where tracebacks show it.
fn noted(py: Python<'_>, error: PyErr, key: &str) -> PyErr {
    // An exception that takes no notes is raised without.
    let _ = error.value(py).call_method1("add_note", (format!("fdconvert: sample `{key}`"),));
    error
}

/// `ValueError: what it says`, as reports have it.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map(|name| name.to_string());
    let kind = kind.unwrap_or_else(|_| "exception".to_owned());
    match error.value(py).str().map(|text| text.to_string()) {
        Ok(text) if !text.is_empty() => format!("{kind}: {text}"),
        _ => kind,
    }
}
