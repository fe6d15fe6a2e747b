//! The sampling of `fdconvert.Loader`, as `_sampling.py` passes it: a name, and values.
use super::options;
use crate::error::{UsageError, raise};
use fdconvert_core::{Error, Result};
use fdconvert_loader::{SampleList, Sampling, Weights};
use pyo3::{
    buffer::{Element, PyBuffer},
    conversion::FromPyObjectOwned,
    exceptions::{PyKeyboardInterrupt, PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyDict, PyTuple},
};

/// Reads the option `sampling`.
///
/// # Errors
/// `TypeError` and `UsageError`, with the name of the option.
pub(super) fn read(options: &Bound<'_, PyDict>) -> PyResult<Sampling> {
    let given = options::value(options, "sampling")?.cast_into::<PyTuple>()?;
    Ok(match at::<String>(&given, 0)?.as_str() {
        "shuffle" => Sampling::Shuffle,
        "sequential" => Sampling::Sequential,
        "windowed" => Sampling::Windowed { chunk: at(&given, 1)?, window: at(&given, 2)? },
        "balanced" => Sampling::Balanced { label: at(&given, 1)?, per_class: at(&given, 2)? },
        "weighted" => Sampling::Weighted {
            weights: weights(&given.get_item(1)?)?,
            n: at(&given, 2)?,
            replacement: at(&given, 3)?,
        },
        "repeated" => Sampling::Repeated(at(&given, 1)?),
        "order" => Sampling::Order(samples(&given.get_item(1)?)?.into()),
        "order_by_epoch" => Sampling::Order(by_epoch(given.get_item(1)?.unbind())),
        other => return Err(PyTypeError::new_err(format!("sampling: unknown `{other}`"))),
    })
}

fn at<'py, T: FromPyObjectOwned<'py>>(given: &Bound<'py, PyTuple>, number: usize) -> PyResult<T> {
    let value = given.get_item(number)?;
    let error: PyErr = match value.extract::<T>() {
        Ok(value) => return Ok(value),
        Err(error) => error.into(),
    };
    let shown = value.repr()?;
    if error.is_instance_of::<PyOverflowError>(value.py()) {
        return Err(UsageError::new_err(format!("sampling: {shown} is out of range")));
    }
    Err(PyTypeError::new_err(format!("sampling: {shown}: {}", error.value(value.py()))))
}

fn weights(given: &Bound<'_, PyAny>) -> PyResult<Weights> {
    let weights = match numbers::<f32>(given) {
        Ok(weights) => Weights::new(weights.iter().map(|weight| f64::from(*weight))),
        Err(_) => Weights::new(numbers::<f64>(given)?.iter().copied()),
    };
    weights.map_err(|error| raise(&error))
}

fn samples(given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let samples = numbers::<i64>(given)?;
    let wrong = samples.iter().zip(0_u64..).find(|(sample, _)| **sample < 0);
    if let Some((sample, position)) = wrong {
        let what = format!("position {position} of the order is sample {sample}, which is below 0");
        return Err(UsageError::new_err(format!("sampling: {what}")));
    }
    Ok(samples.into_iter().map(i64::unsigned_abs).collect())
}

fn numbers<T: Element>(given: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    if given.len()? == 0 {
        // The address of nothing need not be that of a number, and would be refused.
        return Ok(Vec::new());
    }
    PyBuffer::get(given)?.to_vec(given.py())
}

/// Wraps a function that returns the list of an epoch.
fn by_epoch(function: Py<PyAny>) -> SampleList {
    let list = move |epoch: u64| -> Result<Vec<u64>> {
        // The calling thread may outlive the interpreter.
        let listed = Python::try_attach(|py| {
            let listed = function.bind(py).call1((epoch,));
            listed.and_then(|listed| samples(&listed)).map_err(|error| failed(py, epoch, &error))
        });
        listed.unwrap_or(Err(Error::Cancelled))
    };
    SampleList::by_epoch(list)
}

/// Returns the error of the library for an exception of a function.
fn failed(py: Python<'_>, epoch: u64, error: &PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::Cancelled;
    }
    let what = error.value(py).to_string();
    let what = match what.strip_prefix("sampling: ") {
        Some(what) => what.to_owned(),
        None => format!("{}: {what}", error.get_type(py)),
    };
    Error::usage("sampling", format!("in epoch {epoch}: {what}"))
}
