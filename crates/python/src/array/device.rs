//! Arrays in GPU memory, exported by DLPack.
use super::{Array, dlpack, extents, images_spec};
use crate::error::raise;
use fdconvert_core::ArraySpec;
use fdconvert_loader::{Batch, DeviceImages, Memory};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyCapsule, PyTuple},
};
use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Streams of the GPU with numbers in the protocol.
const LEGACY_STREAM: usize = 1;

/// Images of a batch in the memory of a GPU, for `torch.from_dlpack` and other users of DLPack.
///
/// The images are complete when the array is returned. When nothing refers to the array any more,
/// the loader reuses its memory, after the work queued on the streams that were passed to
/// `__dlpack__`. Keep the array until reads on other streams have finished.
#[pyclass(frozen, weakref, module = "fdconvert")]
pub(crate) struct DeviceArray {
    batch: Option<Batch>,
    spec: ArraySpec,
    shape: Box<[isize]>,
    strides: Box<[isize]>,
    streams: Mutex<Vec<usize>>,
    process: u32,
    lent: Arc<AtomicUsize>,
}

impl DeviceArray {
    /// Takes over the images of a batch; `lent` counts the batches with memory in use.
    pub(crate) fn of_batch(batch: Batch, lent: &Arc<AtomicUsize>) -> PyResult<Self> {
        let spec = images_spec(batch.shape());
        let (shape, strides) = extents(&spec)?;
        lent.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            batch: Some(batch),
            spec,
            shape,
            strides,
            streams: Mutex::default(),
            process: process::id(),
            lent: lent.clone(),
        })
    }

    fn images(&self) -> PyResult<&DeviceImages> {
        match self.batch.as_ref().map(Batch::memory) {
            Some(Memory::Device(images)) => Ok(images),
            _ => Err(PyBufferError::new_err("the array is gone")),
        }
    }

    fn place(&self) -> PyResult<(i32, i32)> {
        Ok(dlpack::cuda(i32::try_from(self.images()?.ordinal())?))
    }
}

#[pymethods]
impl DeviceArray {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// NumPy's name of the elements' type.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.spec.dtype.name()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The size of all elements in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.spec.byte_len().unwrap_or(0)
    }

    /// The GPU, as torch names it, such as `"cuda:0"`.
    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(format!("cuda:{}", self.place()?.1))
    }

    /// Return a copy in main memory.
    fn cpu(&self, py: Python<'_>) -> PyResult<Array> {
        let images = self.images()?;
        let bytes = py.detach(|| images.to_host()).map_err(|error| raise(&error))?;
        Array::from_slice(&bytes, &self.spec)
    }

    fn __len__(&self) -> PyResult<usize> {
        let outer = self.shape.first().map(|n| n.unsigned_abs());
        outer.ok_or_else(|| PyTypeError::new_err("an array without dimensions has no length"))
    }

    fn __repr__(&self) -> PyResult<String> {
        let shape: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        let (shape, dtype, ordinal) = (shape.join(", "), self.dtype(), self.place()?.1);
        Ok(format!(
            "fdconvert.DeviceArray(shape=({shape}), dtype='{dtype}', device='cuda:{ordinal}')"
        ))
    }

    /// Return DLPack's device: CUDA and the number of the GPU.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        self.place()
    }

    /// Return a DLPack capsule, of version 1 if `max_version` allows it.
    ///
    /// `stream` is the handle of the stream that will read the images, by default the default
    /// stream.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let this = slf.get();
        let device = this.place()?;
        if dl_device.is_some_and(|wanted| wanted != device) {
            return Err(PyBufferError::new_err("dl_device: the array is on a GPU; see `cpu()`"));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("copy: the consumer has to copy it"));
        }
        let stream = match stream {
            // The images are complete, so that no stream has to wait.
            None | Some(-1) => LEGACY_STREAM,
            Some(0) => return Err(PyValueError::new_err("stream: 0 is ambiguous; 1 or 2")),
            Some(stream) => usize::try_from(stream)
                .map_err(|_| PyValueError::new_err("stream: no stream has a negative number"))?,
        };
        let mut streams = this.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if !streams.contains(&stream) {
            streams.push(stream);
        }
        drop(streams);
        let parts = dlpack::Parts {
            owner: slf.clone().into_any(),
            // An address of the GPU, which the host never reads.
            data: std::ptr::without_provenance_mut(this.images()?.address() as usize),
            device,
            dtype: this.spec.dtype,
            shape: &this.shape,
            strides: &this.strides,
        };
        if max_version.is_some_and(|(major, _)| major >= 1) {
            dlpack::versioned(parts, false)
        } else {
            dlpack::unversioned(parts)
        }
    }
}

impl Drop for DeviceArray {
    fn drop(&mut self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
        let Some(mut batch) = self.batch.take() else { return };
        if self.process != process::id() {
            // After a fork the memory does not belong to this process.
            std::mem::forget(batch);
            return;
        }
        let streams = self.streams.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(images) = batch.device_images_mut().and_then(DeviceImages::decoded_mut) {
            for stream in streams.drain(..) {
                // SAFETY: the consumer of the array named a stream of its own by DLPack, which is
                // one of the primary context, as the protocol demands. If the call fails, the
                // context is lost, and with it everything that reads the images.
                let _ = unsafe { images.used_on(stream) };
            }
        }
    }
}
