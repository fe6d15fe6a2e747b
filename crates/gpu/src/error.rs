/// Reasons for which the GPU cannot be used. Images that cannot be decoded are not among them: they
/// have a [`Status`](crate::Status) in their batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No driver is installed, or it cannot be loaded.
    #[error("no CUDA driver: {}", tried.join("; "))]
    NoDriver {
        /// Each library that was tried, with the loader's answer.
        tried: Vec<String>,
    },
    /// nvJPEG is not installed, or it cannot be loaded.
    #[error("no nvJPEG: {}", tried.join("; "))]
    NoLibrary {
        /// Each library that was tried, with the loader's answer, and each folder that was
        /// searched.
        tried: Vec<String>,
    },
    /// nvJPEG does not start, for one on a GPU without the requested engine.
    #[error("{function} failed: {name} ({code})")]
    Library {
        /// The function of nvJPEG that failed.
        function: &'static str,
        /// Number of the status that it returned.
        code: i32,
        /// nvJPEG's name for the status.
        name: &'static str,
    },
    /// The driver is too old for these kernels.
    #[error("the CUDA driver is for {found}, and {needed} or newer is needed")]
    TooOld {
        /// The driver's version, or the missing function.
        found: String,
        /// The required version.
        needed: String,
    },
    /// The driver works, but finds no GPU.
    #[error("the CUDA driver finds no GPU")]
    NoDevice,
    /// There is no GPU with this number.
    #[error("no GPU {ordinal}: there are {n_devices}")]
    NoSuchDevice {
        /// The requested number, from 0.
        ordinal: u32,
        /// Number of GPUs.
        n_devices: u32,
    },
    /// The kernels do not support this generation of GPUs.
    #[error("{name} has compute capability {major}.{minor}, and 7.5 is needed")]
    OldDevice {
        /// Name of the GPU.
        name: String,
        /// Major number of its compute capability.
        major: i32,
        /// Minor number of its compute capability.
        minor: i32,
    },
    /// No memory is left, on the GPU or for pinned pages. A smaller batch, or smaller chunks, may
    /// fit.
    #[error("out of memory: {function} of {n_bytes} bytes")]
    OutOfMemory {
        /// The function of the driver that failed.
        function: &'static str,
        /// The requested size; 0 if the driver needed memory for itself.
        n_bytes: u64,
    },
    /// Any other failure of the driver. Some ("launch failed", "illegal address") end all work of
    /// this process on the GPU.
    #[error("{function} failed: {name} ({code})")]
    Driver {
        /// The function of the driver that failed.
        function: &'static str,
        /// Number of the error that it returned.
        code: i32,
        /// The driver's name for the error.
        name: String,
    },
    /// The process was forked after the GPU was opened; the driver works in the parent only.
    #[error("the GPU was opened before this process was forked; open it in the child")]
    Forked,
    /// A [`Stored`](crate::Stored) image is in the memory of another GPU.
    #[error("an image of the batch is stored on another GPU")]
    OtherGpu,
    /// Fractals that cannot be drawn.
    #[error("cannot draw: {what}")]
    Fractal {
        /// The invalid property.
        what: &'static str,
    },
    /// The supplied memory does not have the size of the output.
    #[error("the output has {expected} bytes, and its memory {found}")]
    OutputSize {
        /// Size of the batch's output.
        expected: u64,
        /// Size of the supplied memory.
        found: u64,
    },
}
