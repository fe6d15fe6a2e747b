//! Positions of samples in the forms that Python has: ranges, lists, arrays, masks.
use crate::{array::lends_buffers, error::UsageError};
use fdconvert_core::Indices;
use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyIndexError, PyTypeError},
    prelude::*,
    types::{PyBool, PyBytes, PyRange, PySlice, PyString},
};

/// Returns the positions among `len` samples. Negative ones count from the end.
///
/// # Errors
/// `IndexError` for one out of range, `UsageError` for a mask of another length, `TypeError`.
pub(super) fn positions(object: &Bound<'_, PyAny>, len: u64) -> PyResult<Indices> {
    if let Ok(slice) = object.cast::<PySlice>() {
        let slice = slice.indices(isize::try_from(len)?)?;
        return steps(slice.start as i64, slice.step as i64, slice.slicelength as u64, len);
    }
    if object.is_instance_of::<PyRange>() {
        let start: i64 = object.getattr("start")?.extract()?;
        let step: i64 = object.getattr("step")?.extract()?;
        let n = object.len()? as i64;
        let last = start + step * (n - 1).max(0);
        if (start < 0) == (last < 0) {
            let start = if start < 0 { start.saturating_add_unsigned(len) } else { start };
            return steps(start, step, n.unsigned_abs(), len);
        }
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(not_positions(object));
    }
    if let Some(array) = array_of(object)? {
        return of_array(&array, len);
    }
    let items: Vec<Bound<'_, PyAny>> =
        object.try_iter().map_err(|_| not_positions(object))?.collect::<PyResult<_>>()?;
    if !items.is_empty() && items.iter().all(|item| item.is_instance_of::<PyBool>()) {
        let mask = items.iter().map(|item| item.is_truthy()).collect::<PyResult<Vec<bool>>>()?;
        return of_mask(mask.len() as u64, mask.into_iter(), len);
    }
    let mut found = Indices::default();
    for item in items {
        if item.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("positions: a mask has no integers"));
        }
        let position = item.extract::<i64>().map_err(|_| not_positions(&item))?;
        found.extend([from_start(position, len)?]);
    }
    Ok(found)
}

fn not_positions(object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "this".into(), |it| it.to_string());
    let what = "is neither a position nor a range, list, array or mask of them";
    PyTypeError::new_err(format!("positions: {kind} {what}"))
}

/// Returns a view of an array in memory: the object's own, or that of NumPy's array of it.
fn array_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let view = object.py().import("builtins")?.getattr("memoryview")?;
    if lends_buffers(object) {
        return view.call1((object,)).map(Some);
    }
    match object.getattr_opt("__array__")? {
        Some(array) => view.call1((array.call0()?,)).map(Some),
        None => Ok(None),
    }
}

fn of_array(view: &Bound<'_, PyAny>, len: u64) -> PyResult<Indices> {
    let format: String = view.getattr("format")?.extract()?;
    let n_bytes: usize = view.getattr("itemsize")?.extract()?;
    let n_axes: usize = view.getattr("ndim")?.extract()?;
    if n_axes != 1 {
        return Err(PyTypeError::new_err(format!("positions: an array of {n_axes} axes, not one")));
    }
    let is_contiguous: bool = view.getattr("c_contiguous")?.extract()?;
    let bytes: Vec<u8>;
    let bytes = if is_contiguous {
        let cast = view.call_method1("cast", ("B",))?;
        PyBuffer::<u8>::get(&cast)?.to_vec(view.py())?
    } else {
        bytes = view.call_method0("tobytes")?.extract()?;
        bytes
    };
    let code = format.trim_start_matches(['@', '=']);
    let items = bytes.chunks_exact(n_bytes.max(1));
    match code {
        "?" => of_mask(items.len() as u64, items.map(|item| item != [0]), len),
        "b" | "h" | "i" | "l" | "q" | "n" | "B" | "H" | "I" | "L" | "Q" | "N" => {
            let is_signed = code.chars().all(char::is_lowercase);
            let mut found = Indices::default();
            for item in items {
                found.extend([from_start(integer(item, is_signed), len)?]);
            }
            Ok(found)
        }
        _ => {
            let what = format!("positions: an array of `{format}`, not of integers or booleans");
            Err(PyTypeError::new_err(what))
        }
    }
}

/// Reads an integer of this machine; one beyond `i64` is out of range in any case.
fn integer(item: &[u8], is_signed: bool) -> i64 {
    let is_negative = is_signed && item.last().is_some_and(|byte| byte >> 7 == 1);
    let mut bytes = [if is_negative { 0xff } else { 0 }; 8];
    for (byte, stored) in bytes.iter_mut().zip(item) {
        *byte = *stored;
    }
    let number = i64::from_le_bytes(bytes);
    if number < 0 && !is_signed { i64::MAX } else { number }
}

fn of_mask(n: u64, mask: impl Iterator<Item = bool>, len: u64) -> PyResult<Indices> {
    if n != len {
        let what = format!("positions: a mask of {n} values for {len} samples");
        return Err(UsageError::new_err(what));
    }
    Ok(Indices::of_mask(mask))
}

/// Returns `n` positions in even steps, all within `len`.
fn steps(start: i64, step: i64, n: u64, len: u64) -> PyResult<Indices> {
    let out = || PyIndexError::new_err(format!("positions: a range beyond {len} samples"));
    if n == 0 {
        return Ok(Indices::default());
    }
    let first = u64::try_from(start).map_err(|_| out())?;
    let indices = Indices::stepped(first, step, n).ok_or_else(out)?;
    if indices.check(len).is_err() { Err(out()) } else { Ok(indices) }
}

fn from_start(position: i64, len: u64) -> PyResult<u64> {
    let from_start = if position < 0 {
        i64::try_from(len).ok().and_then(|len| u64::try_from(position + len).ok())
    } else {
        Some(position.unsigned_abs())
    };
    from_start.filter(|position| *position < len).ok_or_else(|| {
        PyIndexError::new_err(format!("position {position} is out of range for {len} samples"))
    })
}
