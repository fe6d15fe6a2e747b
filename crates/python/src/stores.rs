//! Options of the stores that URLs lead to.
use crate::error::raise;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Set options of the stores that URLs lead to, for this process: ``endpoint``, ``region``,
/// ``access_key_id``, ``skip_signature``, ``account_name`` and so on.
///
/// They come on top of what the environment says. Stores that were used already keep theirs.
#[pyfunction]
pub(crate) fn set_store_options(options: BTreeMap<String, String>) -> PyResult<()> {
    fdconvert::set_store_options(options).map_err(|error| raise(&error))
}
