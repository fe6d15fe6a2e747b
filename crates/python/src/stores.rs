//! The stores that URLs lead to: their options, and names that they cannot list.
use crate::error::raise;
use pyo3::{exceptions::PyRuntimeWarning, prelude::*};
use std::{collections::BTreeMap, ffi::CString, path::Path};

/// Set options of stores for this process, in addition to the environment.
///
/// `options` maps names to text: ``endpoint``, ``region``, ``access_key_id``, ``skip_signature``,
/// ``account_name`` and so on. Stores that were used before keep their options. Raises
/// `UsageError` for unknown names.
#[pyfunction]
pub(crate) fn set_store_options(options: BTreeMap<String, String>) -> PyResult<()> {
    fdconvert::set_store_options(options).map_err(|error| raise(&error))
}

/// Warns of names that lists of stores have left out, since what is below them is missing.
pub(crate) fn warn_of_left_out<'a>(
    py: Python<'_>,
    paths: impl IntoIterator<Item = &'a Path>,
) -> PyResult<()> {
    for note in paths.into_iter().filter_map(fdconvert::plumbing::left_out) {
        let what = CString::new(format!("fdconvert: {note}"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &what, 1)?;
    }
    Ok(())
}
