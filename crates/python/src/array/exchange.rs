//! DLPack's exchange in C, <https://dmlc.github.io/dlpack/latest/c_api.html>: a look at a tensor of
//! another library by a function that its type names, where a call of its methods takes longer than
//! all else that a small tensor takes.
use super::dlpack::{CPU, DataType, Tensor};
use pyo3::{
    exceptions::PyException,
    intern,
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};
use std::{
    ffi::{CStr, c_int, c_void},
    mem::MaybeUninit,
    slice,
};

/// Name of the capsules.
const CAPSULE: &CStr = c"dlpack_exchange_api";
/// Major version of what is declared here.
const MAJOR: u32 = 1;

/// `DLPackExchangeAPIHeader`
#[repr(C)]
struct Header {
    version: [u32; 2],
    /// That of an older version, or null.
    previous: *const Self,
}

/// `DLPackExchangeAPI`, as far as it is used.
#[repr(C)]
struct Api {
    header: Header,
    allocate: *const c_void,
    from_object: *const c_void,
    to_object: *const c_void,
    /// Fills in a tensor that is the object's own: 0, or -1 and an exception.
    look: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
}

/// The shape of a tensor of bytes and a copy of them, row by row; `None` where its type has no such
/// exchange, and for one that has to be converted first: of other elements, elsewhere than in main
/// memory, with gaps or another order.
///
/// # Errors
/// An exception that does not concern the tensor, such as that of Ctrl-C.
pub(crate) fn bytes_of_tensor(
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<(Vec<usize>, Vec<u8>)>> {
    let py = object.py();
    let name = intern!(py, "__dlpack_c_exchange_api__");
    let Some(found) = object.get_type().getattr_opt(name)? else { return Ok(None) };
    let Ok(capsule) = found.cast::<PyCapsule>() else { return Ok(None) };
    let Ok(pointer) = capsule.pointer_checked(Some(CAPSULE)) else { return Ok(None) };
    let mut header: *const Header = pointer.as_ptr().cast_const().cast();
    // SAFETY: what a capsule of this name points to begins with a header in every version, as do those
    // before it, and lives as long as the process.
    while unsafe { header.as_ref() }.is_some_and(|header| header.version[0] > MAJOR) {
        // SAFETY: as before; it is not null.
        header = unsafe { (*header).previous };
    }
    // SAFETY: as before.
    if unsafe { header.as_ref() }.is_none_or(|header| header.version[0] != MAJOR) {
        return Ok(None);
    }
    // SAFETY: it is not null, and of this version it begins a table as it is declared above.
    let Some(look) = (unsafe { (*header.cast::<Api>()).look }) else { return Ok(None) };
    let mut tensor = MaybeUninit::<Tensor>::uninit();
    // SAFETY: the object is of the type that has the table, and there is room for a tensor.
    let status = unsafe { look(object.as_ptr().cast(), tensor.as_mut_ptr()) };
    if status != 0 {
        // What kind of tensor it is that cannot be looked at, its own conversion says.
        return match PyErr::take(py) {
            Some(error) if !error.is_instance_of::<PyException>(py) => Err(error),
            _ => Ok(None),
        };
    }
    // SAFETY: it was filled in, which 0 says, and nothing runs that may free it as long as this thread
    // is attached to the interpreter and calls nothing of Python's.
    Ok(unsafe { copied(tensor.assume_init_ref()) })
}

/// # Safety
/// The tensor is whole, and so is what it points to.
unsafe fn copied(tensor: &Tensor) -> Option<(Vec<usize>, Vec<u8>)> {
    let DataType { code, bits, lanes } = tensor.dtype;
    if tensor.device_type != CPU.0 || (code, bits, lanes) != (1, 8, 1) {
        return None;
    }
    let ndim = usize::try_from(tensor.ndim).ok()?;
    // There may be no strides, where they would be those of rows without gaps.
    let sides = |sides: *const i64| {
        let is_there = ndim > 0 && !sides.is_null();
        // SAFETY: there are as many as there are dimensions.
        is_there.then(|| unsafe { slice::from_raw_parts(sides, ndim) })
    };
    let shape = sides(tensor.shape)?.iter().map(|&side| usize::try_from(side).ok());
    let shape: Vec<usize> = shape.collect::<Option<_>>()?;
    let mut n_bytes = 1_usize;
    let strides = sides(tensor.strides);
    for (at, &side) in shape.iter().enumerate().rev() {
        let stride = strides.and_then(|strides| usize::try_from(strides[at]).ok());
        if side > 1 && strides.is_some() && stride != Some(n_bytes) {
            return None;
        }
        n_bytes = n_bytes.checked_mul(side)?;
    }
    if n_bytes == 0 {
        return Some((shape, Vec::new()));
    }
    if tensor.data.is_null() || isize::try_from(n_bytes).is_err() {
        return None;
    }
    let offset = usize::try_from(tensor.byte_offset).ok()?;
    // SAFETY: elements of a byte without gaps, of which there are so many behind the offset.
    let data = unsafe { slice::from_raw_parts(tensor.data.cast::<u8>().add(offset), n_bytes) };
    Some((shape, data.to_vec()))
}
