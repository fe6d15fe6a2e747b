//! Datasets of samples that Python has: objects become samples (`fields`, `image`), those of a
//! sequence are fetched (`sequence`) when they are packed (`served`). Others are written one after
//! another (`written`): they are packed as they come (`streamed`), or spooled until all are there where
//! the format or an option needs that.
//!
//! Objects are looked at in the thread that called, one at a time, so that the code that makes them
//! needs no locks; all else is done by threads of Rust without the interpreter.

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
use fdconvert::{ByteCount, Error, OnError, Pack};
use fdconvert_core::probe::probe;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The option that says how much of a spool is in memory.
const MEMORY_BUDGET: &str = "memory_budget";

/// The option that says how many samples will be written.
const N_SAMPLES: &str = "n_samples";

/// Request to pack something: all of it but the samples.
pub(crate) struct Request {
    pub(crate) pack: Pack,
    pub(crate) on_error: OnError,
    pub(crate) is_dry: bool,
}

/// How samples are written that come one after another.
#[derive(Default, Clone, Copy)]
pub(crate) struct Writing {
    /// Bytes of those that wait which do so in memory.
    pub(crate) memory_budget: Option<u64>,
    /// Number of samples that there will be.
    pub(crate) n_samples: Option<u64>,
}

impl Request {
    /// Of an output and a JSON object of options by name, for samples that can be asked for.
    pub(crate) fn new(out: PathBuf, options: &str) -> PyResult<Self> {
        let (request, writing) = Self::written(out, options)?;
        let refuse = |option: &'static str, what: &str| {
            let what = format!("{what}; that of these is known, so leave it out");
            Err(raise(&Error::usage(option, what)))
        };
        if writing.memory_budget.is_some() {
            let what = "it is for samples that come one after another, and wait until their number \
                        is known";
            return refuse(MEMORY_BUDGET, what);
        }
        if writing.n_samples.is_some() {
            return refuse(N_SAMPLES, "it is for samples that come one after another");
        }
        Ok(request)
    }

    /// The same for samples that come one after another.
    pub(crate) fn written(out: PathBuf, options: &str) -> PyResult<(Self, Writing)> {
        let mut options: Map<String, Value> = serde_json::from_str(options).map_err(|cause| {
            PyRuntimeError::new_err(format!("options are not an object: {cause}"))
        })?;
        let mut writing = Writing::default();
        if let Some(value) = options.remove(MEMORY_BUDGET) {
            let refused = meaningless(MEMORY_BUDGET, &value);
            let bytes: ByteCount = serde_json::from_value(value).map_err(refused)?;
            writing.memory_budget = Some(bytes.0);
        }
        if let Some(value) = options.remove(N_SAMPLES) {
            let refused = meaningless(N_SAMPLES, &value);
            writing.n_samples = Some(serde_json::from_value(value).map_err(refused)?);
        }
        let skips = options.get("on_error").is_some_and(|value| value == "skip");
        let is_dry = options.get("dry_run").is_some_and(|value| value == true);
        let pack = Pack::from_json(Vec::new(), out, options).map_err(|error| raise(&error))?;
        let on_error = if skips { OnError::Skip } else { OnError::Fail };
        Ok((Self { pack, on_error, is_dry }, writing))
    }
}

/// The refusal of an option's value.
fn meaningless(name: &str, value: &Value) -> impl FnOnce(serde_json::Error) -> PyErr + use<> {
    let what = format!("{name}={value}");
    move |cause| raise(&Error::usage("options", format!("{what}: {cause}")))
}

/// Check what can be checked of a pack before there is a sample.
#[pyfunction]
pub(crate) fn check_pack(py: Python<'_>, out: PathBuf, options: &str) -> PyResult<()> {
    let (Request { pack, is_dry, .. }, _) = Request::written(out, options)?;
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
