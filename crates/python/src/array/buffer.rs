//! Python's buffer protocol, PEP 3118.
use super::Array;
use fdconvert_core::DType;
use pyo3::{exceptions::PyBufferError, ffi, prelude::*};
use std::{
    ffi::{CStr, c_int},
    ptr,
};

/// Fills a view of the array according to `flags`.
///
/// # Safety
/// `view` is null or valid for writing a `Py_buffer`.
pub(super) unsafe fn fill(
    array: Bound<'_, Array>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    // SAFETY: null, or valid as the caller promises. The struct need not be initialised as a whole,
    // so that fields are written one by one below and none is read.
    if view.is_null() {
        return Err(PyBufferError::new_err("there is no view to fill"));
    }
    let asks = |flag: c_int| flags & flag == flag;
    let this = array.get();
    if asks(ffi::PyBUF_F_CONTIGUOUS) && this.shape.len() > 1 {
        // SAFETY: `view` is valid for writing, by the caller's promise.
        unsafe { (&raw mut (*view).obj).write(ptr::null_mut()) };
        return Err(PyBufferError::new_err("the array is row-major"));
    }
    let format = if asks(ffi::PyBUF_FORMAT) {
        format(this.dtype).as_ptr().cast_mut()
    } else {
        ptr::null_mut()
    };
    // The protocol's pointers are mutable, but consumers must not change what they point to.
    let shape = this.shape.as_ptr().cast_mut();
    let strides = this.strides.as_ptr().cast_mut();
    let buf = this.memory.pointer().as_ptr().cast();
    let len = isize::try_from(this.memory.len())?;
    let itemsize = isize::try_from(this.dtype.size())?;
    let ndim = c_int::try_from(this.shape.len())?;
    // SAFETY: `view` is valid for writing, by the caller's promise. Its pointers lead into the
    // array (its class is frozen: shape and strides are never replaced) or to constants, and the
    // reference in `obj` keeps the array alive until the view is released.
    unsafe {
        (&raw mut (*view).buf).write(buf);
        (&raw mut (*view).len).write(len);
        (&raw mut (*view).itemsize).write(itemsize);
        (&raw mut (*view).readonly).write(0);
        (&raw mut (*view).ndim).write(ndim);
        (&raw mut (*view).format).write(format);
        (&raw mut (*view).shape).write(if asks(ffi::PyBUF_ND) { shape } else { ptr::null_mut() });
        (&raw mut (*view).strides).write(if asks(ffi::PyBUF_STRIDES) {
            strides
        } else {
            ptr::null_mut()
        });
        (&raw mut (*view).suboffsets).write(ptr::null_mut());
        (&raw mut (*view).internal).write(ptr::null_mut());
        (&raw mut (*view).obj).write(array.into_ptr());
    }
    Ok(())
}

/// Returns the type in the syntax of the `struct` module, with NumPy's additions.
fn format(dtype: DType) -> &'static CStr {
    match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::U8 => c"B",
        DType::I16 => c"h",
        DType::U16 => c"H",
        DType::I32 => c"i",
        DType::U32 => c"I",
        DType::I64 => c"q",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    }
}
