use super::{Gpu, Result};
use std::{ffi::c_void, ptr::NonNull};

/// Memory of the GPU, freed when dropped.
pub(crate) struct DeviceMemory {
    gpu: Gpu,
    address: u64,
    n_bytes: u64,
}

impl DeviceMemory {
    pub(crate) fn new(gpu: &Gpu, n_bytes: u64) -> Result<Self> {
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let mut address = 0;
        // The driver refuses to allocate 0 bytes.
        let wanted = usize::try_from(n_bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { (driver.functions.cuMemAlloc_v2)(&raw mut address, wanted) };
        driver.check_bytes("cuMemAlloc", code, n_bytes)?;
        Ok(Self { gpu: gpu.clone(), address, n_bytes })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Returns true if kernels on that GPU reach it.
    pub(crate) fn is_on(&self, gpu: &Gpu) -> bool {
        self.gpu.is_same(gpu)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once; the driver waits for work that uses it.
        self.gpu.give_back(|driver| unsafe {
            (driver.functions.cuMemFree_v2)(self.address);
        });
    }
}

/// Page-locked memory of the host, which the GPU can copy directly.
pub(crate) struct PinnedMemory {
    gpu: Gpu,
    start: NonNull<u8>,
    n_bytes: usize,
}

// SAFETY: plain memory that `start` alone owns; the driver allows any thread to use and free it.
unsafe impl Send for PinnedMemory {}

impl PinnedMemory {
    pub(crate) fn new(gpu: &Gpu, n_bytes: usize) -> Result<Self> {
        /// Pinned for all contexts of the process.
        const PORTABLE: u32 = 1;
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let mut start: *mut c_void = std::ptr::null_mut();
        let n_bytes = n_bytes.max(1);
        // SAFETY: the pointer is to a live pointer.
        let code = unsafe { (driver.functions.cuMemHostAlloc)(&raw mut start, n_bytes, PORTABLE) };
        driver.check_bytes("cuMemHostAlloc", code, n_bytes as u64)?;
        let start = NonNull::new(start.cast()).ok_or(crate::GpuError::OutOfMemory {
            function: "cuMemHostAlloc",
            n_bytes: n_bytes as u64,
        })?;
        // SAFETY: just allocated with that size. Slices are made of it, so it must hold values.
        unsafe { start.write_bytes(0, n_bytes) };
        Ok(Self { gpu: gpu.clone(), start, n_bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: allocated with that size and initialised; copies into it borrow it mutably, and
        // the code that starts one waits for its end before reading.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.n_bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.n_bytes) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once.
        self.gpu.give_back(|driver| unsafe {
            (driver.functions.cuMemFreeHost)(self.start.as_ptr().cast());
        });
    }
}
