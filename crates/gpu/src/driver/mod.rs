//! The driver, loaded at run time: building needs no CUDA, and a machine without it gets
//! [`GpuError::NoDriver`] instead of a program that does not start.
#![allow(unsafe_code, reason = "functions of the driver take addresses and handles")]

mod context;
mod functions;
mod memory;
mod stream;

pub use context::Gpu;
pub(crate) use memory::{DeviceMemory, PinnedMemory};
pub(crate) use stream::{Event, Rows, Stream, StreamMachine};

use crate::GpuError;
use functions::Functions;
pub(crate) use functions::Handle;
use libloading::Library;
use std::{
    error::Error,
    ffi::{CStr, c_int},
    path::{Path, PathBuf},
    sync::Arc,
};

type Result<T> = std::result::Result<T, GpuError>;

/// Names of the driver's library, in the order in which they are tried.
const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// The first version that accepts the kernels' PTX (8.4, of CUDA 12.4).
const MIN_VERSION: i32 = 12_040;

const OUT_OF_MEMORY: c_int = 2;
const NO_DEVICE: c_int = 100;

/// The CUDA driver.
#[derive(Clone)]
pub struct Driver {
    functions: Arc<Functions>,
    version: i32,
}

/// Properties of a GPU, as reported by the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Number of the GPU, from 0.
    pub ordinal: u32,
    /// Name of the model.
    pub name: String,
    /// Size of its memory.
    pub memory_bytes: u64,
    /// Compute capability, such as (9, 0).
    pub compute_capability: (i32, i32),
    /// Number of streaming multiprocessors.
    pub n_multiprocessors: u32,
    /// Number of copies that can run in parallel with kernels.
    pub n_copy_engines: u32,
    /// The highest clock of the multiprocessors; 0 if the driver does not report it.
    pub clock_khz: u32,
    /// The highest clock of the memory; 0 if the driver does not report it.
    pub memory_clock_khz: u32,
    /// Width of the memory bus.
    pub memory_bus_bits: u32,
    /// Size of the cache that all multiprocessors share.
    pub cache_bytes: u32,
}

impl Device {
    /// Returns true if the kernels run on it.
    #[must_use]
    pub fn is_supported(&self) -> bool {
        self.compute_capability >= (7, 5)
    }
}

impl Driver {
    /// Loads the library at `path`; without one, the library that the environment variable
    /// `FDCONVERT_CUDA_LIB` names; without that, the installed driver. The library must be a CUDA
    /// driver or act like one: loading it runs its code.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::TooOld`], [`GpuError::NoDevice`], or the error that the
    /// driver returns when it starts.
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let mut tried = Vec::new();
        let candidates = match path.map(Path::to_path_buf).or_else(|| chosen("FDCONVERT_CUDA_LIB"))
        {
            Some(path) => vec![path],
            None => LIBRARIES.iter().map(PathBuf::from).collect(),
        };
        for candidate in candidates {
            // SAFETY: the initialisers of a CUDA driver have no requirements. The caller vouches
            // for a path that it names, as for any program it starts.
            match unsafe { Library::new(&candidate) } {
                Ok(library) => return Self::start(library),
                Err(error) => {
                    let cause = error.source().map_or_else(|| error.to_string(), <_>::to_string);
                    tried.push(not_loaded(&candidate, &cause));
                }
            }
        }
        Err(GpuError::NoDriver { tried })
    }

    fn start(library: Library) -> Result<Self> {
        // SAFETY: the library was loaded as the CUDA driver.
        let functions = unsafe { Functions::find(library) }
            .map_err(|function| load_error(format!("a version without {function}")))?;
        let mut driver = Self { functions: Arc::new(functions), version: 0 };
        // SAFETY: the pointer is to a live integer, here and below.
        let code = unsafe { (driver.functions.cuDriverGetVersion)(&raw mut driver.version) };
        driver.check("cuDriverGetVersion", code)?;
        if driver.version < MIN_VERSION {
            return Err(load_error(version_text(driver.version)));
        }
        // SAFETY: no preconditions; may be called any number of times.
        let code = unsafe { (driver.functions.cuInit)(0) };
        driver.check("cuInit", code)?;
        Ok(driver)
    }

    /// Returns the version of CUDA that the driver supports: 1000 times the major plus 10 times the
    /// minor number.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Returns the GPUs of the machine.
    ///
    /// # Errors
    /// The error that the driver returns.
    pub fn devices(&self) -> Result<Vec<Device>> {
        (0..self.n_devices()?)
            .map(|ordinal| self.device(ordinal).map(|(_, device)| device))
            .collect()
    }

    fn n_devices(&self) -> Result<u32> {
        let mut n_devices = 0;
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { (self.functions.cuDeviceGetCount)(&raw mut n_devices) };
        self.check("cuDeviceGetCount", code)?;
        Ok(n_devices.try_into().unwrap_or(0))
    }

    fn device(&self, ordinal: u32) -> Result<(c_int, Device)> {
        let n_devices = self.n_devices()?;
        match (n_devices, c_int::try_from(ordinal)) {
            (0, _) => Err(GpuError::NoDevice),
            (_, Ok(number)) if ordinal < n_devices => self.known_device(number, ordinal),
            _ => Err(GpuError::NoSuchDevice { ordinal, n_devices }),
        }
    }

    fn known_device(&self, number: c_int, ordinal: u32) -> Result<(c_int, Device)> {
        const NAME_BYTES: usize = 256;
        let functions = &self.functions;
        let (mut device, mut memory_bytes, mut name) = (0, 0, [0u8; NAME_BYTES]);
        // SAFETY: the pointer is to a live integer.
        self.check("cuDeviceGet", unsafe { (functions.cuDeviceGet)(&raw mut device, number) })?;
        // SAFETY: the array has room for as many bytes as are announced.
        let code = unsafe {
            (functions.cuDeviceGetName)(name.as_mut_ptr().cast(), NAME_BYTES as c_int, device)
        };
        self.check("cuDeviceGetName", code)?;
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { (functions.cuDeviceTotalMem_v2)(&raw mut memory_bytes, device) };
        self.check("cuDeviceTotalMem", code)?;
        // The numbers of CU_DEVICE_ATTRIBUTE_....
        let major = self.attribute(75, device)?;
        let minor = self.attribute(76, device)?;
        let count = |attribute| Ok(self.attribute(attribute, device)?.try_into().unwrap_or(0));
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        let known = Device {
            ordinal,
            name: name.to_string_lossy().into_owned(),
            memory_bytes: memory_bytes as u64,
            compute_capability: (major, minor),
            n_multiprocessors: count(16)?,
            n_copy_engines: count(40)?,
            clock_khz: count(13)?,
            memory_clock_khz: count(36)?,
            memory_bus_bits: count(37)?,
            cache_bytes: count(38)?,
        };
        Ok((device, known))
    }

    fn attribute(&self, attribute: c_int, device: c_int) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: the pointer is to a live integer.
        let code =
            unsafe { (self.functions.cuDeviceGetAttribute)(&raw mut value, attribute, device) };
        self.check("cuDeviceGetAttribute", code)?;
        Ok(value)
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<()> {
        self.check_bytes(function, code, 0)
    }

    fn check_bytes(&self, function: &'static str, code: c_int, n_bytes: u64) -> Result<()> {
        match code {
            0 => Ok(()),
            OUT_OF_MEMORY => Err(GpuError::OutOfMemory { function, n_bytes }),
            NO_DEVICE => Err(GpuError::NoDevice),
            _ => Err(GpuError::Driver { function, code, name: self.error_name(code) }),
        }
    }

    fn error_name(&self, code: c_int) -> String {
        let mut name = std::ptr::null();
        // SAFETY: the pointer is to a live pointer.
        let found = unsafe { (self.functions.cuGetErrorName)(code, &raw mut name) };
        if found != 0 || name.is_null() {
            return "unknown".into();
        }
        // SAFETY: the driver gives out strings that end in 0 and live as long as it is loaded.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}

/// Describes why a library was not loaded. Most loaders name it; its name is added only if they do
/// not.
pub(crate) fn not_loaded(path: &Path, cause: &str) -> String {
    let path = path.display().to_string();
    if cause.starts_with(&path) { cause.into() } else { format!("{path}: {cause}") }
}

/// Returns the library that an environment variable names.
pub(crate) fn chosen(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn load_error(found: String) -> GpuError {
    GpuError::TooOld { found, needed: version_text(MIN_VERSION) }
}

fn version_text(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}
