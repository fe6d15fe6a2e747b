//! Arrays that other libraries use without copying: the buffer protocol, NumPy's array interface
//! and DLPack, none of which requires NumPy.
//!
//! All unsafe code of the crate is in this module, because these protocols consist of handing out
//! addresses. They rest on one fact: the memory of an [`Array`] exists from its creation, is never
//! moved, resized or accessed by reference again, and is released when the object is freed. Every
//! protocol makes its consumer hold the object.
#![allow(unsafe_code)]

mod buffer;
mod device;
mod dlpack;
mod memory;

pub(crate) use device::DeviceArray;

use crate::error::UsageError;
use fdconvert_core::{ArraySpec, DType};
use fdconvert_loader::{Batch, DType as PixelType, GroupImages, Patches, Shape};
use memory::Memory;
use pyo3::{
    buffer::{PyBuffer, PyUntypedBuffer},
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyBytes, PyCapsule, PyDict, PyTuple},
};
use std::{
    ffi::c_int,
    sync::{Arc, atomic::AtomicUsize},
};

/// Returns true if an object's type has the buffer protocol: requesting a buffer raises an
/// exception for a "no", which takes a fifth of the total time for a small tensor.
pub(crate) fn lends_buffers(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive while it is borrowed, and only its type is read.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// A row-major array of numbers that NumPy, torch and others use without copying.
///
/// `numpy.asarray(array)`, `torch.from_dlpack(array)` and `memoryview(array)` all view the same
/// memory, may write to it and keep it alive. `data` is copied from any object with the buffer
/// protocol; `dtype` is NumPy's name of the type.
#[pyclass(frozen, weakref, module = "fdconvert")]
pub(crate) struct Array {
    memory: Memory,
    dtype: DType,
    /// Kept in the forms that the protocols point to.
    shape: Box<[isize]>,
    strides: Box<[isize]>,
}

#[pymethods]
impl Array {
    #[new]
    fn new(data: &Bound<'_, PyAny>, shape: Vec<u64>, dtype: &str) -> PyResult<Self> {
        let dtype = dtype_named(dtype)
            .ok_or_else(|| PyTypeError::new_err(format!("dtype: `{dtype}` is not supported")))?;
        let data: Vec<u8> = PyBuffer::<u8>::get(data)?.to_vec(data.py())?;
        Self::from_slice(&data, &ArraySpec { dtype, shape, torch: false })
    }

    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// NumPy's name of the elements' type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The size of all elements in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.memory.len()
    }

    /// Return a copy of all elements, row by row, little endian.
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.memory.to_vec())
    }

    fn __len__(&self) -> PyResult<usize> {
        let outer = self.shape.first().map(|n| n.unsigned_abs());
        outer.ok_or_else(|| PyTypeError::new_err("an array without dimensions has no length"))
    }

    fn __repr__(&self) -> String {
        let shape: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        format!("fdconvert.Array(shape=({}), dtype='{}')", shape.join(", "), self.dtype())
    }

    fn __getnewargs__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyTuple>, &'static str)> {
        Ok((self.tobytes(py), self.shape(py)?, self.dtype()))
    }

    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.dtype.numpy())?;
        let read_only = false;
        interface
            .set_item("data", (self.memory.pointer().as_ptr().expose_provenance(), read_only))?;
        Ok(interface)
    }

    /// Return DLPack's device: main memory.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }

    /// Return a DLPack capsule, of version 1 if `max_version` allows it.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if stream.is_some() {
            return Err(PyValueError::new_err("stream: main memory has none"));
        }
        if dl_device.is_some_and(|device| device != dlpack::CPU) {
            return Err(PyBufferError::new_err("dl_device: the array is in main memory"));
        }
        let copied = copy == Some(true);
        let array = if copied { slf.get().copy(slf.py())? } else { slf.clone() };
        let Self { memory, dtype, shape, strides } = array.get();
        let parts = dlpack::Parts {
            owner: array.clone().into_any(),
            data: memory.pointer().as_ptr().cast(),
            device: dlpack::CPU,
            dtype: *dtype,
            shape,
            strides,
        };
        if max_version.is_some_and(|(major, _)| major >= 1) {
            dlpack::versioned(parts, copied)
        } else {
            dlpack::unversioned(parts)
        }
    }

    /// # Safety
    /// As Python calls it: `view` is a `Py_buffer` to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: the caller's promise is passed on.
        unsafe { buffer::fill(slf, view, flags) }
    }
}

impl Array {
    /// Takes bytes over without copying them; for elements of one byte.
    pub(crate) fn from_vec(data: Vec<u8>, spec: &ArraySpec) -> PyResult<Self> {
        if spec.dtype.size() != 1 {
            // Bytes have any alignment, larger elements do not.
            return Self::from_slice(&data, spec);
        }
        check_len(data.len(), spec)?;
        Self::with(Memory::from_bytes(data), spec)
    }

    /// Copies bytes to memory that is aligned for elements of any type.
    pub(crate) fn from_slice(data: &[u8], spec: &ArraySpec) -> PyResult<Self> {
        check_len(data.len(), spec)?;
        Self::with(Memory::copy_of(data), spec)
    }

    /// Takes over the images of a batch: an array for each group of views. Their memory returns to
    /// the loader with the last of them; `lent` counts the batches that have not returned.
    pub(crate) fn of_batch(batch: Batch, lent: &Arc<AtomicUsize>) -> PyResult<Vec<(String, Self)>> {
        let groups = batch.groups().map(|group| {
            let range = group.offset..group.offset + group.bytes.len();
            let spec = group_spec(&group);
            check_len(range.len(), &spec)?;
            // A loader without lists has one group, without a name.
            let name = if group.name.is_empty() { "images" } else { group.name };
            Ok((name.to_owned(), spec, range))
        });
        let groups: Vec<_> = groups.collect::<PyResult<_>>()?;
        let ranges: Vec<_> = groups.iter().map(|(.., range)| range.clone()).collect();
        let pieces = Memory::of_batch(batch, &ranges, lent);
        let arrays = groups.into_iter().zip(pieces);
        arrays.map(|((name, spec, _), memory)| Ok((name, Self::with(memory, &spec)?))).collect()
    }

    /// Takes over the images of a batch with rows of their own sizes, an array for each.
    pub(crate) fn of_rows(batch: Batch, lent: &Arc<AtomicUsize>) -> PyResult<Vec<Self>> {
        let rows = batch.rows().map(|row| {
            let mut spec = images_spec(row.shape);
            spec.shape.remove(0);
            check_len(row.bytes.len(), &spec)?;
            Ok((spec, row.offset..row.offset + row.bytes.len()))
        });
        let (specs, ranges): (Vec<_>, Vec<_>) =
            rows.collect::<PyResult<Vec<_>>>()?.into_iter().unzip();
        let pieces = Memory::of_batch(batch, &ranges, lent);
        specs.iter().zip(pieces).map(|(spec, memory)| Self::with(memory, spec)).collect()
    }

    /// Takes over the images of a batch of patches: an array of rows, patches, and the numbers of one.
    pub(crate) fn of_patches(
        batch: Batch,
        patches: Patches,
        lent: &Arc<AtomicUsize>,
    ) -> PyResult<Self> {
        let numbers = u64::from(patches.side) * u64::from(patches.side) * 3;
        let shape = vec![batch.len() as u64, patches.most.into(), numbers];
        let spec = ArraySpec { dtype: element(batch.shape().dtype), shape, torch: false };
        let len = batch.images().len();
        check_len(len, &spec)?;
        let memory = Memory::of_batch(batch, std::slice::from_ref(&(0..len)), lent).pop();
        let memory = memory.ok_or_else(|| UsageError::new_err("data: a batch has no memory"))?;
        Self::with(memory, &spec)
    }

    /// Copies the images of a batch to the caller's buffer.
    pub(crate) fn copy_of_batch(py: Python<'_>, batch: &Batch, target: Target) -> PyResult<Self> {
        let spec = images_spec(batch.shape());
        let memory = target.memory.shortened(batch.images().len());
        check_len(memory.len(), &spec)?;
        py.detach(|| memory.write(batch));
        Self::with(memory, &spec)
    }

    fn with(memory: Memory, spec: &ArraySpec) -> PyResult<Self> {
        let (shape, strides) = extents(spec)?;
        Ok(Self { memory, dtype: spec.dtype, shape, strides })
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let memory = Memory::copy_of(&self.memory.to_vec());
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        Bound::new(py, Self { memory, dtype: self.dtype, shape, strides })
    }
}

/// Shape, and strides in bytes, in the forms that the protocols point to.
type Extents = (Box<[isize]>, Box<[isize]>);

/// Returns the extents of a row-major array.
fn extents(spec: &ArraySpec) -> PyResult<Extents> {
    let shape = spec.shape.iter().map(|&n| isize::try_from(n));
    let shape: Box<[isize]> = shape.collect::<Result<_, _>>()?;
    let mut strides = vec![0; shape.len()].into_boxed_slice();
    let mut bytes = isize::try_from(spec.dtype.size())?;
    for (stride, &n) in strides.iter_mut().zip(&shape).rev() {
        *stride = bytes;
        // Cannot overflow unless there are no elements, and then no stride is ever used.
        bytes = bytes.saturating_mul(n.max(1));
    }
    Ok((shape, strides))
}

/// A buffer of the caller for a copy of a batch.
pub(crate) struct Target {
    memory: Memory,
}

impl Target {
    /// Takes room for a batch of that shape from any object with the buffer protocol.
    ///
    /// # Errors
    /// `UsageError` if it is read-only or too small.
    pub(crate) fn new(out: &Bound<'_, PyAny>, shape: Shape) -> PyResult<Self> {
        let len = shape.rows * shape.row_bytes();
        let memory = Memory::of_buffer(PyUntypedBuffer::get(out)?, len, shape.dtype.n_bytes());
        let memory = memory.ok_or_else(|| {
            let what = format!("out: a batch needs {len} bytes, writable, contiguous and aligned");
            UsageError::new_err(what)
        })?;
        Ok(Self { memory })
    }
}

fn images_spec(shape: Shape) -> ArraySpec {
    let sides = shape.dimensions().map(|n| n as u64).to_vec();
    ArraySpec { dtype: element(shape.dtype), shape: sides, torch: false }
}

/// Returns the form of a group of views; that of a single view lacks their dimension.
fn group_spec(group: &GroupImages<'_>) -> ArraySpec {
    match group.n_views {
        1 => images_spec(group.shape),
        _ => {
            let sides = group.dimensions().map(|n| n as u64).to_vec();
            ArraySpec { dtype: element(group.shape.dtype), shape: sides, torch: false }
        }
    }
}

pub(crate) fn element(dtype: PixelType) -> DType {
    match dtype {
        PixelType::U8 => DType::U8,
        PixelType::U16 => DType::U16,
        PixelType::I16 => DType::I16,
        PixelType::F16 => DType::F16,
        // Neither NumPy nor the buffer protocol has the type: torch takes these bits as its own.
        PixelType::Bf16 => DType::I16,
        PixelType::F32 => DType::F32,
    }
}

fn check_len(n_bytes: usize, spec: &ArraySpec) -> PyResult<()> {
    if spec.byte_len() == Some(n_bytes as u64) {
        return Ok(());
    }
    let (shape, dtype) = (&spec.shape, spec.dtype.name());
    let what = format!("data: {n_bytes} bytes are no array of shape {shape:?} and type {dtype}");
    Err(UsageError::new_err(what))
}

pub(crate) fn dtype_named(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|dtype| dtype.name() == name || dtype.numpy() == name)
}
