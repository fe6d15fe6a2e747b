use super::{DeviceMemory, Gpu, Handle, PinnedMemory, Result, functions::Copy2d};
use crate::{
    GpuError, Kernel, Machine,
    fractal::N_THREADS,
    layout::{BatchLayout, FractalsLayout},
};
use std::ops::Range;

/// A queue of work. It does not synchronise with the default stream.
pub(crate) struct Stream {
    gpu: Gpu,
    handle: Handle,
}

impl Stream {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        const NON_BLOCKING: u32 = 1;
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let mut handle = 0;
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { (driver.functions.cuStreamCreate)(&raw mut handle, NON_BLOCKING) };
        driver.check("cuStreamCreate", code)?;
        Ok(Self { gpu: gpu.clone(), handle })
    }

    /// Runs a kernel with `n_items` times `n_images` blocks of threads.
    ///
    /// # Safety
    /// The kernel's only parameter is an `A`. The addresses in it point to memory with the layout
    /// that the kernel expects, which lives until the stream has finished the work.
    pub(crate) unsafe fn launch<A: Copy>(
        &self,
        function: Handle,
        (n_items, n_images): (u32, u32),
        n_threads: u32,
        argument: &A,
    ) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        let mut argument = *argument;
        let mut arguments = [(&raw mut argument).cast()];
        // SAFETY: by the caller's promise; the driver copies the argument before it returns.
        let code = unsafe {
            (driver.functions.cuLaunchKernel)(
                function,
                n_items,
                n_images,
                1,
                n_threads,
                1,
                1,
                0,
                self.handle,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        driver.check("cuLaunchKernel", code)
    }

    /// Returns the driver's handle, for libraries that use this stream.
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    pub(crate) fn wait(&self) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        // SAFETY: the stream lives.
        let code = unsafe { (driver.functions.cuStreamSynchronize)(self.handle) };
        driver.check("cuStreamSynchronize", code)
    }

    pub(crate) fn wait_for(&self, event: &Event) -> Result<()> {
        event.hold_back(self.handle)
    }

    /// Copies the start of `from`, which must be neither dropped nor written before the copy is
    /// done: the caller waits for the stream, or for an event after the copy.
    pub(crate) fn upload(
        &self,
        from: &PinnedMemory,
        to: &DeviceMemory,
        n_bytes: u64,
    ) -> Result<()> {
        self.upload_part(from, 0..n_bytes, to, 0)
    }

    /// Copies a range of `from` to offset `at` of `to`, with the same requirement.
    pub(crate) fn upload_part(
        &self,
        from: &PinnedMemory,
        range: Range<u64>,
        to: &DeviceMemory,
        at: u64,
    ) -> Result<()> {
        let driver = self.gpu.driver();
        let from = from.bytes().get(range.start as usize..).unwrap_or_default();
        let wanted = range.end.saturating_sub(range.start).min(from.len() as u64);
        let n_bytes = wanted.min(to.n_bytes().saturating_sub(at)) as usize;
        if n_bytes == 0 {
            return Ok(());
        }
        let _entered = self.gpu.enter()?;
        // SAFETY: both ranges lie within what was allocated, and are kept by the caller.
        let code = unsafe {
            let (to, from) = (to.address() + at, from.as_ptr().cast());
            (driver.functions.cuMemcpyHtoDAsync_v2)(to, from, n_bytes, self.handle)
        };
        driver.check("cuMemcpyHtoDAsync", code)
    }

    /// Copies a range of `from` to offset `at` of `to`, with the same requirement.
    pub(crate) fn download(
        &self,
        from: &DeviceMemory,
        range: Range<u64>,
        to: &mut PinnedMemory,
        at: usize,
    ) -> Result<()> {
        let driver = self.gpu.driver();
        let to = to.bytes_mut().get_mut(at..).unwrap_or_default();
        let end = range.end.min(from.n_bytes());
        let n_bytes = (end.saturating_sub(range.start) as usize).min(to.len());
        if n_bytes == 0 {
            return Ok(());
        }
        let _entered = self.gpu.enter()?;
        // SAFETY: the range lies within `from`, and `to` has room for it; the caller keeps both.
        let code = unsafe {
            let (to, from) = (to.as_mut_ptr().cast(), from.address() + range.start);
            (driver.functions.cuMemcpyDtoHAsync_v2)(to, from, n_bytes, self.handle)
        };
        driver.check("cuMemcpyDtoHAsync", code)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once; the driver lets running work finish.
        self.gpu.give_back(|driver| unsafe {
            (driver.functions.cuStreamDestroy_v2)(self.handle);
        });
    }
}

pub(crate) struct Event {
    gpu: Gpu,
    handle: Handle,
}

impl Event {
    /// Creates an event without timing, which costs less.
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        const DISABLE_TIMING: u32 = 2;
        Self::with_flags(gpu, DISABLE_TIMING)
    }

    /// Creates an event that records its time.
    pub(crate) fn timed(gpu: &Gpu) -> Result<Self> {
        Self::with_flags(gpu, 0)
    }

    fn with_flags(gpu: &Gpu, flags: u32) -> Result<Self> {
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let mut handle = 0;
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { (driver.functions.cuEventCreate)(&raw mut handle, flags) };
        driver.check("cuEventCreate", code)?;
        Ok(Self { gpu: gpu.clone(), handle })
    }

    /// Records the event after all work queued in the stream so far.
    pub(crate) fn record(&self, stream: &Stream) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        // SAFETY: both live.
        let code = unsafe { (driver.functions.cuEventRecord)(self.handle, stream.handle) };
        driver.check("cuEventRecord", code)
    }

    /// Records the event after all work queued so far in a foreign stream of the same context.
    pub(crate) fn record_on(&self, stream: Handle) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        // SAFETY: the event lives; a handle that is not a stream is an error of the driver's.
        let code = unsafe { (driver.functions.cuEventRecord)(self.handle, stream) };
        driver.check("cuEventRecord", code)
    }

    pub(crate) fn wait(&self) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        // SAFETY: the event lives.
        let code = unsafe { (driver.functions.cuEventSynchronize)(self.handle) };
        driver.check("cuEventSynchronize", code)
    }

    /// Returns the milliseconds from another event to this one; both must be timed and reached.
    pub(crate) fn since(&self, other: &Self) -> Result<f32> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events live, and the pointer is to a live number.
        let code = unsafe {
            let elapsed = driver.functions.cuEventElapsedTime;
            elapsed(&raw mut milliseconds, other.handle, self.handle)
        };
        driver.check("cuEventElapsedTime", code)?;
        Ok(milliseconds)
    }

    /// Makes a stream, which may be a foreign one in the same context, wait for the event.
    pub(crate) fn hold_back(&self, stream: Handle) -> Result<()> {
        let driver = self.gpu.driver();
        let _entered = self.gpu.enter()?;
        // SAFETY: the event lives; a handle that is not a stream is an error of the driver's.
        let code = unsafe { (driver.functions.cuStreamWaitEvent)(stream, self.handle, 0) };
        driver.check("cuStreamWaitEvent", code)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        self.gpu.give_back(|driver| unsafe {
            (driver.functions.cuEventDestroy_v2)(self.handle);
        });
    }
}

/// Runs the kernels of a batch in a stream. The creator keeps their memory alive.
pub(crate) struct StreamMachine<'a> {
    stream: &'a Stream,
}

impl<'a> StreamMachine<'a> {
    /// # Safety
    /// The addresses passed to it point to memory of the GPU that lives until the stream has
    /// finished the work and that the running plan has laid out.
    pub(crate) unsafe fn new(stream: &'a Stream) -> Self {
        Self { stream }
    }

    pub(crate) fn fill(&mut self, address: u64, n_bytes: u64, byte: u8) -> Result<()> {
        let Stream { gpu, handle } = self.stream;
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        // SAFETY: by the contract of `new`.
        let code = unsafe { (driver.functions.cuMemsetD8Async)(address, byte, n_bytes, *handle) };
        driver.check("cuMemsetD8Async", code)
    }

    pub(crate) fn copy(&mut self, from: Rows, to: Rows, row_bytes: u64, n_rows: u64) -> Result<()> {
        const DEVICE_MEMORY: u32 = 2;
        let Stream { gpu, handle } = self.stream;
        let driver = gpu.driver();
        let _entered = gpu.enter()?;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let copy = Copy2d {
            from_type: DEVICE_MEMORY,
            from_device: from.address,
            from_pitch: size(from.pitch),
            to_type: DEVICE_MEMORY,
            to_device: to.address,
            to_pitch: size(to.pitch),
            row_bytes: size(row_bytes),
            n_rows: size(n_rows),
            ..Copy2d::default()
        };
        // SAFETY: by the contract of `new`; the driver reads `copy` before it returns.
        let code = unsafe { (driver.functions.cuMemcpy2DAsync_v2)(&raw const copy, *handle) };
        driver.check("cuMemcpy2DAsync", code)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) address: u64,
    /// Bytes from the start of a row to that of the next.
    pub(crate) pitch: u64,
}

impl Machine for StreamMachine<'_> {
    type Error = GpuError;

    fn clear(&mut self, address: u64, n_bytes: u64) -> Result<()> {
        self.fill(address, n_bytes, 0)
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        batch: &BatchLayout,
        n_items: u32,
        n_images: u32,
    ) -> Result<()> {
        let function = self.stream.gpu.kernel(kernel);
        // SAFETY: the kernel takes a structure of that layout; the addresses in it are good by the
        // promise of `new`.
        unsafe { self.stream.launch(function, (n_items, n_images), kernel.n_threads(), batch) }
    }

    fn draw(&mut self, fractals: &FractalsLayout, n_images: u32) -> Result<()> {
        let function = self.stream.gpu.fractal_kernel();
        // SAFETY: likewise.
        unsafe { self.stream.launch(function, (1, n_images), N_THREADS, fractals) }
    }
}
