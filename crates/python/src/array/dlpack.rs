//! DLPack: tensors in a capsule, as specified at <https://dmlc.github.io/dlpack/latest/>.
use fdconvert_core::DType;
use pyo3::{exceptions::PyBufferError, ffi, prelude::*, types::PyCapsule};
use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};

/// The device of main memory, which is unique.
pub(super) const CPU: (i32, i32) = (1, 0);

/// Returns the device of a GPU by its number.
pub(super) const fn cuda(ordinal: i32) -> (i32, i32) {
    (2, ordinal)
}

const UNVERSIONED: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSION: [u32; 2] = [1, 0];
const FLAG_COPIED: u64 = 1 << 1;

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DataType {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

/// `DLTensor`
#[repr(C)]
pub(super) struct Tensor {
    pub(super) data: *mut c_void,
    pub(super) device_type: i32,
    pub(super) device_id: i32,
    pub(super) ndim: i32,
    pub(super) dtype: DataType,
    pub(super) shape: *mut i64,
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

/// `DLManagedTensor`
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`
#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
}

pub(super) struct Parts<'py, 'a> {
    /// Keeps the data in place; referenced until the consumer has released the tensor.
    pub(super) owner: Bound<'py, PyAny>,
    pub(super) data: *mut c_void,
    pub(super) device: (i32, i32),
    pub(super) dtype: DType,
    pub(super) shape: &'a [isize],
    /// Strides in bytes.
    pub(super) strides: &'a [isize],
}

/// Target of the context: owns everything that a tensor points to.
struct Held {
    owner: Py<PyAny>,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
}

/// Creates a capsule of DLPack 0, for older consumers.
pub(super) fn unversioned<'py>(parts: Parts<'py, '_>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = parts.owner.py();
    let (tensor, held) = tensor(parts)?;
    let context = Box::into_raw(held).cast();
    let managed = Managed { tensor, context, deleter: Some(delete) };
    let pointer = NonNull::from(Box::leak(Box::new(managed))).cast();
    // SAFETY: the pointer matches the contents of a capsule with that name: a managed tensor, which
    // owns what it points to and lives until its deleter is called, by its one consumer or by
    // `destroy`.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(py, pointer, UNVERSIONED, Some(destroy))
    };
    if capsule.is_err() {
        // SAFETY: the tensor was made above and no capsule owns it.
        unsafe { delete(pointer.cast().as_ptr()) };
    }
    capsule
}

/// Creates a capsule of DLPack 1.
pub(super) fn versioned<'py>(
    parts: Parts<'py, '_>,
    copied: bool,
) -> PyResult<Bound<'py, PyCapsule>> {
    let py = parts.owner.py();
    let (tensor, held) = tensor(parts)?;
    let managed = ManagedVersioned {
        version: VERSION,
        context: Box::into_raw(held).cast(),
        deleter: Some(delete_versioned),
        flags: if copied { FLAG_COPIED } else { 0 },
        tensor,
    };
    let pointer = NonNull::from(Box::leak(Box::new(managed))).cast();
    // SAFETY: as in `unversioned`.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(py, pointer, VERSIONED, Some(destroy_versioned))
    };
    if capsule.is_err() {
        // SAFETY: the tensor was made above and no capsule owns it.
        unsafe { delete_versioned(pointer.cast().as_ptr()) };
    }
    capsule
}

/// Returns the tensor, and the data that must live as long.
fn tensor(parts: Parts<'_, '_>) -> PyResult<(Tensor, Box<Held>)> {
    let Parts { owner, data, device: (device_type, device_id), dtype, shape, strides } = parts;
    let itemsize = dtype.size() as i64;
    let shape: Box<[i64]> = shape.iter().map(|&n| n as i64).collect();
    // Counted in elements here, in bytes everywhere else.
    let strides = strides.iter().map(|&stride| stride as i64 / itemsize).collect();
    let ndim = i32::try_from(shape.len())
        .map_err(|_| PyBufferError::new_err("the array has too many dimensions"))?;
    let mut held = Box::new(Held { owner: owner.unbind(), shape, strides });
    let tensor = Tensor {
        data,
        device_type,
        device_id,
        ndim,
        dtype: data_type(dtype),
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Ok((tensor, held))
}

fn data_type(dtype: DType) -> DataType {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
    };
    DataType { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

/// Frees a tensor. Its consumer may call it from any thread, attached to the interpreter or not.
///
/// # Safety
/// `managed` was made by [`unversioned`] and is not used afterwards.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: it comes from a leaked box, as does its context, and is freed once.
    unsafe {
        let managed = Box::from_raw(managed);
        release(managed.context);
    }
}

/// # Safety
/// As for [`delete`], made by [`versioned`].
unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as in `delete`.
    unsafe {
        let managed = Box::from_raw(managed);
        release(managed.context);
    }
}

/// # Safety
/// `context` is that of a tensor which is being freed.
unsafe fn release(context: *mut c_void) {
    // SAFETY: it was made from a box of this type.
    let held = unsafe { Box::from_raw(context.cast::<Held>()) };
    // Python calls this without PyO3's knowledge, so that PyO3 would delay the release until it is
    // next entered. At the end of the process nothing can be entered, and nothing need be freed.
    let owner = held.owner;
    let _ = Python::try_attach(|_| drop(owner));
}

/// Frees the tensor of a capsule without a consumer. A consumer takes the tensor over and renames
/// the capsule.
///
/// # Safety
/// As Python calls it: `capsule` is one made by [`unversioned`], about to be freed.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: `capsule` is a capsule, and under this name its pointer is a tensor of `unversioned`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, UNVERSIONED.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, UNVERSIONED.as_ptr()).cast());
        }
    }
}

/// # Safety
/// As for [`destroy`], made by [`versioned`].
unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `destroy`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}
