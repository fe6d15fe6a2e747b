//! Lists of numbers of any lengths, as two arrays.
use crate::{
    array::{Array, dtype_named},
    error::{DataError, UsageError},
};
use fdconvert_core::{ArraySpec, DType};
use pyo3::{prelude::*, pybacked::PyBackedBytes};
use serde::de::DeserializeOwned;

/// Return the numbers of lists in JSON, one after the other, and where each list begins.
///
/// `documents` is what a batch or a dataset has of a field of JSON: a list of numbers for each row, or
/// nothing for one without a sample. Of `values, offsets` row `i` has the values from `offsets[i]` to
/// before `offsets[i + 1]`. `dtype` is "int64", "int32", "float64" or "float32".
///
/// Raises `DataError` with the row for a document that is not a list of such numbers.
#[pyfunction]
#[pyo3(signature = (documents, dtype="int64"))]
pub(crate) fn ragged(
    py: Python<'_>,
    documents: Vec<PyBackedBytes>,
    dtype: &str,
) -> PyResult<(Array, Array)> {
    let found = dtype_named(dtype);
    let (bytes, offsets) = py.detach(|| match found {
        Some(DType::I64) => joined(&documents, i64::to_ne_bytes),
        Some(DType::I32) => joined(&documents, i32::to_ne_bytes),
        Some(DType::F64) => joined(&documents, f64::to_ne_bytes),
        Some(DType::F32) => joined(&documents, f32::to_ne_bytes),
        _ => Err(UsageError::new_err(format!(
            "dtype: {dtype} is none of \"int64\", \"int32\", \"float64\", \"float32\""
        ))),
    })?;
    let dtype = found.unwrap_or(DType::I64);
    let array = |bytes: &[u8], dtype: DType| {
        let shape = vec![bytes.len() as u64 / dtype.size()];
        Array::from_slice(bytes, &ArraySpec { dtype, shape, torch: false })
    };
    let offsets: Vec<u8> = offsets.into_iter().flat_map(i64::to_ne_bytes).collect();
    Ok((array(&bytes, dtype)?, array(&offsets, DType::I64)?))
}

fn joined<T: DeserializeOwned, const N: usize>(
    documents: &[PyBackedBytes],
    to_bytes: impl Fn(T) -> [u8; N],
) -> PyResult<(Vec<u8>, Vec<i64>)> {
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for (row, document) in documents.iter().enumerate() {
        if !document.is_empty() {
            let values: Vec<T> = serde_json::from_slice(document).map_err(|cause| {
                DataError::new_err(format!("row {row} is not a list of such numbers: {cause}"))
            })?;
            bytes.extend(values.into_iter().flat_map(&to_bytes));
        }
        offsets.push((bytes.len() / N) as i64);
    }
    Ok((bytes, offsets))
}
