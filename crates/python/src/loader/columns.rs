//! The columns of a batch as Python objects.
use super::numbers;
use crate::array::Array;
use fdconvert_core::{ArraySpec, DType};
use fdconvert_loader::{Batch, Column};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};

/// The fields that were asked for: numbers as arrays, the rest as lists.
pub(super) fn to_dict<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in batch.fields() {
        dict.set_item(name, to_object(py, name, column)?)?;
    }
    Ok(dict)
}

/// The labels: as such a column, but JSON as text.
pub(super) fn labels<'py>(py: Python<'py>, batch: &Batch) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(column) = batch.label_column() else { return Ok(None) };
    if let Column::Json(documents) = column {
        let texts = documents.iter().map(|document| PyString::from_bytes(py, document));
        return Ok(Some(PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)?.into_any()));
    }
    to_object(py, "label", column).map(Some)
}

fn to_object<'py>(py: Python<'py>, name: &str, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    let array = match column {
        Column::Int(ints) => numbers(ints.iter().copied())?,
        Column::Float(floats) => {
            let shape = vec![floats.len() as u64];
            let bytes: Vec<u8> = floats.iter().copied().flat_map(f64::to_ne_bytes).collect();
            Array::from_slice(&bytes, &ArraySpec { dtype: DType::F64, shape, torch: false })?
        }
        Column::Array { spec, bytes } => Array::from_slice(bytes, spec)?,
        Column::Text(texts) => return Ok(PyList::new(py, texts)?.into_any()),
        Column::Json(values) | Column::Bytes(values) => {
            let values = values.iter().map(|value| PyBytes::new(py, value));
            return Ok(PyList::new(py, values)?.into_any());
        }
        _ => {
            let what = format!("the field `{name}` has no Python form yet");
            return Err(PyRuntimeError::new_err(what));
        }
    };
    Ok(Bound::new(py, array)?.into_any())
}
