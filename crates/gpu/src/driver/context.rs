use super::{Driver, Handle, Result};
use crate::{Device, GpuError, Kernel};
use std::{
    ffi::{CString, c_int},
    sync::Arc,
};

/// The kernels. The driver compiles them and caches the result.
const PTX: &str = concat!(include_str!("../../kernels/fdconvert.ptx"), "\0");

const FRACTAL: &str = "fdconvert_fractal";

/// A GPU that is ready to decode. Clones share it.
///
/// It uses the primary context, shared with everything in the process that uses the CUDA runtime,
/// such as PyTorch, and never resets it.
#[derive(Clone)]
pub struct Gpu {
    pub(super) open: Arc<Open>,
}

/// The open resources, released with the last clone.
pub(super) struct Open {
    pub(super) driver: Driver,
    pub(super) device: Device,
    number: c_int,
    context: Handle,
    module: Handle,
    kernels: [Handle; Kernel::ALL.len()],
    fractal: Handle,
    process: u32,
}

impl Gpu {
    /// Opens the GPU with this number, from 0, and loads the kernels, which takes about a second
    /// the first time on a machine.
    ///
    /// # Errors
    /// When the GPU does not exist or is too old, or the driver fails.
    pub fn open(driver: &Driver, ordinal: u32) -> Result<Self> {
        let (number, device) = driver.device(ordinal)?;
        if !device.is_supported() {
            let (major, minor) = device.compute_capability;
            return Err(GpuError::OldDevice { name: device.name, major, minor });
        }
        let mut context = 0;
        // SAFETY: the pointer is to a live integer, `number` came from the driver.
        let code = unsafe { (driver.functions.cuDevicePrimaryCtxRetain)(&raw mut context, number) };
        driver.check("cuDevicePrimaryCtxRetain", code)?;
        // From here on dropping `open` gives the context back.
        let mut open = Open {
            driver: driver.clone(),
            device,
            number,
            context,
            module: 0,
            kernels: [0; _],
            fractal: 0,
            process: std::process::id(),
        };
        open.load()?;
        Ok(Self { open: Arc::new(open) })
    }

    /// Returns the properties that the driver reports.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.open.device
    }

    /// Returns true if both are the same GPU and context, even if opened separately.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.open.number, self.open.context) == (other.open.number, other.open.context)
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.open.driver
    }

    /// Makes the GPU's context current on this thread until the result is dropped.
    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        self.open.enter()
    }

    /// Releases a resource of the driver. If the context cannot be entered, it is tried anyway,
    /// which does no harm; but never in a forked process.
    pub(crate) fn give_back(&self, give: impl FnOnce(&Driver)) {
        self.open.give_back(give);
    }

    pub(super) fn kernel(&self, kernel: Kernel) -> Handle {
        let named = Kernel::ALL.iter().zip(self.open.kernels);
        named.into_iter().find(|(name, _)| **name == kernel).map_or(0, |(_, handle)| handle)
    }

    /// Returns the kernel that draws fractals. Its argument differs from the other kernels'.
    pub(crate) fn fractal_kernel(&self) -> Handle {
        self.open.fractal
    }
}

impl Open {
    fn enter(&self) -> Result<Entered<'_>> {
        if self.process != std::process::id() {
            return Err(GpuError::Forked);
        }
        // SAFETY: the context is retained as long as `self` lives.
        let code = unsafe { (self.driver.functions.cuCtxPushCurrent_v2)(self.context) };
        self.driver.check("cuCtxPushCurrent", code)?;
        Ok(Entered { open: self })
    }

    fn give_back(&self, give: impl FnOnce(&Driver)) {
        if self.process == std::process::id() {
            let _entered = self.enter();
            give(&self.driver);
        }
    }

    fn load(&mut self) -> Result<()> {
        let mut module = 0;
        let mut kernels = [0; _];
        let mut fractal = 0;
        let result = {
            let entered = self.enter()?;
            entered.load(&mut module, &mut kernels, &mut fractal)
        };
        // The module must be unloaded even if it lacks a kernel.
        (self.module, self.kernels, self.fractal) = (module, kernels, fractal);
        result
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.module != 0 {
            // SAFETY: the module is loaded; nothing runs any more, because streams hold a `Gpu`.
            self.give_back(|driver| unsafe {
                (driver.functions.cuModuleUnload)(self.module);
            });
        }
        if self.process == std::process::id() {
            // SAFETY: retained once in `Gpu::open`.
            unsafe { (self.driver.functions.cuDevicePrimaryCtxRelease_v2)(self.number) };
        }
    }
}

/// Proof that the GPU's context is current on this thread.
pub(crate) struct Entered<'a> {
    open: &'a Open,
}

impl Entered<'_> {
    fn load(
        &self,
        module: &mut Handle,
        kernels: &mut [Handle; Kernel::ALL.len()],
        fractal: &mut Handle,
    ) -> Result<()> {
        let driver = &self.open.driver;
        // SAFETY: the text ends in 0, and the pointer is to a live integer.
        let code =
            unsafe { (driver.functions.cuModuleLoadData)(&raw mut *module, PTX.as_ptr().cast()) };
        driver.check("cuModuleLoadData", code)?;
        let decoding = kernels.iter_mut().zip(Kernel::ALL.map(Kernel::name));
        for (handle, name) in decoding.chain([(fractal, FRACTAL)]) {
            let name = CString::new(name).unwrap_or_default();
            // SAFETY: the name ends in 0, the module is loaded, the pointer is to a live integer.
            let code = unsafe {
                (driver.functions.cuModuleGetFunction)(&raw mut *handle, *module, name.as_ptr())
            };
            driver.check("cuModuleGetFunction", code)?;
        }
        Ok(())
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut popped = 0;
        // SAFETY: pops what `enter` has pushed, on the same thread: `Entered` lives within one
        // function and is not sent.
        unsafe { (self.open.driver.functions.cuCtxPopCurrent_v2)(&raw mut popped) };
    }
}
