use crate::{Device, Driver, GpuError};
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
    /// What can decode, the best first; never empty.
    pub backends: Vec<Backend>,
}

/// What decodes JPEGs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The kernels of this crate, for images with checkpoints.
    Checkpoints,
    /// The CPU, which is the caller's affair.
    Cpu,
}

/// Looks for the driver (or loads the one at `path`) and asks it for its GPUs. Opens none of
/// them: no memory is taken, and forking afterwards is as safe as the driver's start allows.
#[must_use]
pub fn probe(path: Option<&Path>) -> Probe {
    let cpu = vec![Backend::Cpu];
    let driver = match Driver::load(path) {
        Ok(driver) => driver,
        Err(error) => return Probe { driver: Err(error), devices: vec![], backends: cpu },
    };
    match driver.devices() {
        Ok(devices) => {
            let supported = devices.iter().any(Device::is_supported);
            let backends = if supported { vec![Backend::Checkpoints, Backend::Cpu] } else { cpu };
            Probe { driver: Ok(driver.version()), devices, backends }
        }
        Err(error) => Probe { driver: Err(error), devices: vec![], backends: cpu },
    }
}
