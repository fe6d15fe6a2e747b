use crate::{Device, Driver, GpuError, NvJpeg};
use std::path::Path;

/// What there is to decode with, found without starting anything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// The driver's version: 1000 times the major and 10 times the minor number; or why there is
    /// none.
    pub driver: Result<i32, GpuError>,
    /// The GPUs that the driver knows.
    pub devices: Vec<Device>,
    /// The version of nvJPEG: major, minor, patch; or why there is none.
    pub library: Result<(i32, i32, i32), GpuError>,
    /// What can decode, the best first; never empty.
    pub backends: Vec<Backend>,
}

/// What decodes JPEGs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The kernels of this crate, for images with checkpoints.
    Checkpoints,
    /// NVIDIA's nvJPEG, for images without checkpoints. Whether it starts on a GPU, and with which
    /// [`Engine`](crate::Engine), is known when a decoder uses it.
    NvJpeg,
    /// The CPU, which is the caller's affair.
    Cpu,
}

/// Looks for the driver (or loads the one at `path`) and asks it for its GPUs, and looks for
/// nvJPEG. Opens no GPU: no memory is taken, and forking afterwards is as safe as the driver's
/// start allows.
#[must_use]
pub fn probe(path: Option<&Path>) -> Probe {
    Probe::new(path, None)
}

impl Probe {
    /// The same, with the nvJPEG at `library`.
    #[must_use]
    pub fn new(driver: Option<&Path>, library: Option<&Path>) -> Self {
        let driver = Driver::load(driver);
        let devices = driver.as_ref().map_err(Clone::clone).and_then(Driver::devices);
        let library = NvJpeg::load(library).map(|library| library.version());
        let mut backends = vec![Backend::Cpu];
        if devices.iter().flatten().any(Device::is_supported) {
            if library.is_ok() {
                backends.insert(0, Backend::NvJpeg);
            }
            backends.insert(0, Backend::Checkpoints);
        }
        match (driver, devices) {
            (Ok(driver), Ok(devices)) => {
                Self { driver: Ok(driver.version()), devices, library, backends }
            }
            (Err(error), _) | (_, Err(error)) => {
                Self { driver: Err(error), devices: vec![], library, backends }
            }
        }
    }
}
