//! Several datasets as one.
use super::{Dataset, Origin};
use crate::error::{UsageError, raise};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyMapping, PyString},
};

/// Join datasets, one after the other.
///
/// `datasets` are `Dataset`s or paths. Their fields must agree; classes are joined by name, in
/// sorted order if they differ. The result has the other options of the first dataset.
#[pyfunction]
pub(crate) fn concat(datasets: &Bound<'_, PyAny>) -> PyResult<Dataset> {
    let wrong = || PyTypeError::new_err("datasets: it is a list of datasets or paths");
    if datasets.is_instance_of::<PyString>() || datasets.is_instance_of::<Dataset>() {
        return Err(wrong());
    }
    let parts = datasets.try_iter().map_err(|_| wrong())?;
    let parts = parts.map(|part| opened(&part?)).collect::<PyResult<Vec<_>>>()?;
    joined(datasets.py(), parts, None)
}

/// Mix datasets: a ``Loader`` takes a share of every epoch from each.
///
/// `shares` maps datasets or paths to shares, or is a list of such pairs: ``{"a.beton": 0.7,
/// "b.beton": 0.3}``. Shares are relative. The samples, and their positions, are those of `concat`,
/// and an epoch has as many rows. Within an epoch each sample of a dataset comes equally often, or
/// once more than others; each epoch has other draws.
#[pyfunction]
pub(crate) fn mix(shares: &Bound<'_, PyAny>) -> PyResult<Dataset> {
    let wrong = || {
        PyTypeError::new_err(
            "shares: it maps datasets to shares: {\"a.beton\": 0.7, \"b.beton\": 0.3}",
        )
    };
    let pairs = match shares.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => shares.clone(),
    };
    let (mut parts, mut numbers) = (Vec::new(), Vec::new());
    for pair in pairs.try_iter().map_err(|_| wrong())? {
        let (part, share): (Bound<'_, PyAny>, f64) = pair?.extract().map_err(|_| wrong())?;
        parts.push(opened(&part)?);
        numbers.push(share);
    }
    joined(shares.py(), parts, Some(numbers))
}

fn opened(part: &Bound<'_, PyAny>) -> PyResult<Py<Dataset>> {
    if let Ok(dataset) = part.cast::<Dataset>() {
        return Ok(dataset.clone().unbind());
    }
    let opened = part.py().get_type::<Dataset>().call1((part,))?;
    Ok(opened.cast_into::<Dataset>()?.unbind())
}

fn joined(py: Python<'_>, parts: Vec<Py<Dataset>>, shares: Option<Vec<f64>>) -> PyResult<Dataset> {
    let Some(first) = parts.first() else {
        return Err(UsageError::new_err("datasets: there is none"));
    };
    let is_alike = |part: &Py<Dataset>| {
        let (first, part) = (first.get(), part.get());
        let transforms = [first, part].map(|it| it.transform.as_ref().map(Py::as_ptr));
        first.how == part.how && transforms[0] == transforms[1]
    };
    if !parts.iter().all(is_alike) {
        let what = "datasets: they differ in decode, orient, verify, limits or transform";
        return Err(UsageError::new_err(what));
    }
    let samples = parts.iter().map(|part| part.get().samples.clone());
    let samples = match &shares {
        None => fdconvert::concat(samples),
        Some(shares) => fdconvert::mix(samples.zip(shares.iter().copied())),
    };
    let samples = samples.map_err(|error| raise(&error))?;
    let like = first.get().with(py, samples);
    Ok(Dataset { origin: Origin::Joined { parts, shares }, ..like })
}
