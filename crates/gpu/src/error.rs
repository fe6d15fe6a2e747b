/// Why there is no decoding on the GPU. Images that cannot be decoded are no such error: they are
/// in the [`Status`](crate::Status) of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No driver is installed, or it cannot be loaded.
    #[error("no CUDA driver: {}", tried.join("; "))]
    NoDriver {
        /// Each library that was looked for, with the loader's answer.
        tried: Vec<String>,
    },
    /// nvJPEG is not installed, or it cannot be loaded.
    #[error("no nvJPEG: {}", tried.join("; "))]
    NoLibrary {
        /// Each library that was looked for, with the loader's answer, and each folder that was
        /// looked into.
        tried: Vec<String>,
    },
    /// nvJPEG does not start: on a GPU without the engine that was asked for, for one.
    #[error("{function} failed: {name} ({code})")]
    Library {
        /// The function of nvJPEG.
        function: &'static str,
        /// Its answer.
        code: i32,
        /// nvJPEG's name for it.
        name: &'static str,
    },
    /// The driver cannot run these kernels.
    #[error("the CUDA driver is for {found}, and {needed} or newer is needed")]
    TooOld {
        /// The driver's version, or the function that it lacks.
        found: String,
        /// The version that is needed.
        needed: String,
    },
    /// The driver is there, but no GPU.
    #[error("the CUDA driver finds no GPU")]
    NoDevice,
    /// There are fewer GPUs.
    #[error("no GPU {ordinal}: there are {n_devices}")]
    NoSuchDevice {
        /// The number that was asked for, from 0.
        ordinal: u32,
        /// Number of GPUs.
        n_devices: u32,
    },
    /// The GPU is of a generation that the kernels are not made for.
    #[error("{name} has compute capability {major}.{minor}, and 7.5 is needed")]
    OldDevice {
        /// The GPU.
        name: String,
        /// Its compute capability.
        major: i32,
        /// Its compute capability.
        minor: i32,
    },
    /// No memory is left, on the GPU or for pinned pages. A smaller batch, or smaller chunks, may
    /// fit.
    #[error("out of memory: {function} of {n_bytes} bytes")]
    OutOfMemory {
        /// The function of the driver.
        function: &'static str,
        /// The bytes that were asked for; 0 where the driver needed them for itself.
        n_bytes: u64,
    },
    /// Any other failure of the driver. Some of them ("launch failed", "illegal address") end all
    /// work of this process on the GPU.
    #[error("{function} failed: {name} ({code})")]
    Driver {
        /// The function of the driver.
        function: &'static str,
        /// Its answer.
        code: i32,
        /// The driver's name for it.
        name: String,
    },
    /// The process was forked after the GPU was opened: the driver works in the parent only.
    #[error("the GPU was opened before this process was forked; open it in the child")]
    Forked,
    /// A [`Stored`](crate::Stored) image lies in the memory of another GPU.
    #[error("an image of the batch is stored on another GPU")]
    OtherGpu,
    /// Fractals that cannot be drawn.
    #[error("cannot draw: {what}")]
    Fractal {
        /// The fault in them.
        what: &'static str,
    },
    /// The memory for the output has another size than the output.
    #[error("the output has {expected} bytes, and its memory {found}")]
    OutputSize {
        /// Bytes of the batch's output.
        expected: u64,
        /// Bytes of the memory that was given.
        found: u64,
    },
}
