//! NVIDIA's decoder, loaded at run time, for images that the kernels refuse.
//!
//! ```text
//!   left by the plan --> 8 bits, 1 or 3 components, not lossless? (`frame`)   no --> the caller
//!            | yes
//!            v                      chunk by chunk (`rest`, `library`)
//!   nvJPEG, private stream ---> private memory ---> the host waits (`session`)
//!                                    |
//!                                    v work stream
//!                     copy (native) or across, down (tensor) ---> output
//! ```
//!
//! nvJPEG has been seen to write pixels without waiting for the work that its stream had to wait
//! for. So it writes only to private memory that no other work uses, and nothing reads that memory
//! before the host has waited for nvJPEG's stream.
#![allow(unsafe_code, reason = "functions of the library take addresses and handles")]

mod frame;
mod functions;
mod library;
mod rest;
mod search;
mod session;

pub(crate) use library::Library;
pub(crate) use rest::Rest;

use crate::{GpuError, driver::not_loaded};
use functions::{Functions, status_name};
use std::{error::Error, ffi::c_int, path::Path, sync::Arc};

/// NVIDIA's nvJPEG, loaded but not started; [`Decoder::use_library`](crate::Decoder::use_library)
/// starts it. Clones share the library.
///
/// Its licence forbids including it in this package. It comes with the wheels `nvidia-nvjpeg` and
/// `nvidia-nvjpeg-cu12` on PyPI, and with the CUDA toolkit.
#[derive(Clone)]
pub struct NvJpeg {
    functions: Arc<Functions>,
    version: (i32, i32, i32),
}

/// The part of a GPU that nvJPEG uses. Pixels differ between engines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum Engine {
    /// nvJPEG's own choice.
    #[default]
    Auto = 0,
    /// Huffman codes on the CPU, the rest on the multiprocessors: supports the most kinds of
    /// images.
    Hybrid = 1,
    /// Everything on the multiprocessors: baseline images in batches of more than 50.
    GpuHybrid = 2,
    /// The hardware decoder of some GPUs (A100, H100, H200): baseline images of one scan, neither
    /// 4:1:0 nor 4:1:1.
    Hardware = 3,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Hybrid, Self::GpuHybrid, Self::Hardware];

    /// Returns a name to display.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hybrid => "hybrid",
            Self::GpuHybrid => "GPU hybrid",
            Self::Hardware => "hardware",
        }
    }
}

/// The images of a batch that nvJPEG decodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryShare {
    /// Images that the kernels refuse: without entry points, progressive, or of several scans.
    #[default]
    Rest,
    /// All images, with or without entry points: for comparisons.
    All,
}

/// Settings of nvJPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryUse {
    /// The part of the GPU to use.
    pub engine: Engine,
    /// The images of a batch to decode.
    pub share: LibraryShare,
    /// True to interpolate chroma, as libjpeg-turbo does ("fancy upsampling"), instead of repeating
    /// it. That is not nvJPEG's default, and takes time.
    pub smooth_chroma: bool,
}

impl Default for LibraryUse {
    /// Images that the kernels refuse, with pixels as close to libjpeg-turbo's as nvJPEG allows.
    fn default() -> Self {
        Self { engine: Engine::Auto, share: LibraryShare::Rest, smooth_chroma: true }
    }
}

impl NvJpeg {
    /// Loads the library at `path`; without one, the library that the environment variable
    /// `FDCONVERT_NVJPEG_LIB` names; without that, the installed one: from the system's loader, the
    /// active Python environment (`VIRTUAL_ENV`, `CONDA_PREFIX`), or the CUDA toolkit (`CUDA_HOME`,
    /// `CUDA_PATH`, `/usr/local/cuda`). The library must be nvJPEG or act like it: loading it runs
    /// its code.
    ///
    /// # Errors
    /// [`GpuError::NoLibrary`].
    pub fn load(path: Option<&Path>) -> Result<Self, GpuError> {
        let candidates = search::candidates(path);
        let mut tried = Vec::new();
        for candidate in &candidates.paths {
            match Self::open(candidate) {
                Ok(library) => return Ok(library),
                Err(cause) => tried.push(not_loaded(candidate, &cause)),
            }
        }
        let folders = candidates.empty_folders.iter();
        tried.extend(folders.map(|folder| format!("{}: not there", folder.display())));
        Err(GpuError::NoLibrary { tried })
    }

    fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the initialisers of nvJPEG have no requirements. The caller vouches for a path
        // that it names, as for any program it starts.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
            error.source().map_or_else(|| error.to_string(), ToString::to_string)
        })?;
        // SAFETY: the library was loaded as nvJPEG.
        let functions = unsafe { Functions::find(library) }
            .map_err(|function| format!("it has no {function}"))?;
        let property = |number| {
            let mut value = 0;
            // SAFETY: the pointer is to a live integer.
            match unsafe { (functions.nvjpegGetProperty)(number, &raw mut value) } {
                0 => Ok(value),
                code => Err(format!("nvjpegGetProperty failed: {} ({code})", status_name(code))),
            }
        };
        let version = (property(0)?, property(1)?, property(2)?);
        Ok(Self { functions: Arc::new(functions), version })
    }

    /// Returns the version: major, minor, patch.
    #[must_use]
    pub fn version(&self) -> (i32, i32, i32) {
        self.version
    }
}

fn check(function: &'static str, code: c_int) -> Result<(), GpuError> {
    match code {
        0 => Ok(()),
        _ => Err(GpuError::Library { function, code, name: status_name(code) }),
    }
}
