use crate::{Decoder, Device, Driver, Engine, Gpu, GpuError, LibraryUse, Limits, NvJpeg};
use std::path::Path;

/// The decoders of this machine. Nothing is started to find them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// The driver's version, 1000 times the major plus 10 times the minor number, or why it cannot
    /// be used.
    pub driver: Result<i32, GpuError>,
    /// The GPUs that the driver reports.
    pub devices: Vec<Device>,
    /// The version of nvJPEG (major, minor, patch), or why it cannot be used.
    pub library: Result<(i32, i32, i32), GpuError>,
    /// The usable decoders, the best first; never empty.
    pub backends: Vec<Backend>,
}

/// A decoder of JPEGs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// The kernels of this crate, for images with entry points.
    EntryPoints,
    /// NVIDIA's nvJPEG, for images without entry points. Only using it shows whether it starts on a
    /// GPU, and with which [`Engine`](crate::Engine).
    NvJpeg,
    /// The CPU, which the caller uses.
    Cpu,
}

/// Finds the driver (or loads the one at `path`), lists its GPUs, and finds nvJPEG. Opens no GPU:
/// it takes no memory, and forking afterwards is as safe as after the driver's start.
#[must_use]
pub fn probe(path: Option<&Path>) -> Probe {
    Probe::new(path, None)
}

/// Result of starting an engine of nvJPEG on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineFound {
    /// The engine that was tried.
    pub engine: Engine,
    /// Success, or the error of the start.
    pub started: Result<(), GpuError>,
    /// The number of hardware decoders and the cores of each, as the engine reports them.
    pub hardware: Option<(u32, u32)>,
}

/// Starts and stops each engine of nvJPEG on a GPU. Unlike [`probe`] this opens the GPU, which
/// takes about a second the first time on a machine.
///
/// # Errors
/// When there is no driver, no such GPU, or no nvJPEG.
pub fn engines(
    driver: Option<&Path>,
    library: Option<&Path>,
    ordinal: u32,
) -> Result<Vec<EngineFound>, GpuError> {
    let library = NvJpeg::load(library)?;
    let gpu = Gpu::open(&Driver::load(driver)?, ordinal)?;
    let mut decoder = Decoder::new(&gpu, Limits::DEFAULT)?;
    let mut start = |engine| {
        let started = decoder.use_library(&library, LibraryUse { engine, ..LibraryUse::default() });
        let hardware = decoder.hardware_decoders().filter(|_| started.is_ok());
        decoder.without_library();
        EngineFound { engine, started, hardware }
    };
    Ok(Engine::ALL.into_iter().map(&mut start).collect())
}

impl Probe {
    /// Probes with the driver and the nvJPEG at these paths.
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
            backends.insert(0, Backend::EntryPoints);
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
