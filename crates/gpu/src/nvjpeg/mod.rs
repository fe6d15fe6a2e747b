//! NVIDIA's own decoder, loaded when the program runs, for images that the kernels leave.
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
//! nvJPEG has written pixels without waiting for the work that its stream was told to wait for.
//! So it gets nothing but memory of our own that no other work uses, and nothing reads that memory
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

/// NVIDIA's nvJPEG. It is loaded, but nothing is started: that is
/// [`Decoder::use_library`](crate::Decoder::use_library). Clones are the same library.
///
/// Its licence does not let it be part of this package. The wheels `nvidia-nvjpeg` and
/// `nvidia-nvjpeg-cu12` of PyPI have it, and so does the CUDA toolkit.
#[derive(Clone)]
pub struct NvJpeg {
    functions: Arc<Functions>,
    version: (i32, i32, i32),
}

/// The part of a GPU that nvJPEG uses. The pixels of one image differ from engine to engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum Engine {
    /// nvJPEG's own choice.
    #[default]
    Auto = 0,
    /// Huffman codes on the CPU, the rest on the multiprocessors: decodes the most kinds.
    Hybrid = 1,
    /// All on the multiprocessors: baseline images in batches of more than 50.
    GpuHybrid = 2,
    /// The decoder that some GPUs (A100, H100, H200) have beside the multiprocessors: baseline
    /// images of one scan, neither 4:1:0 nor 4:1:1.
    Hardware = 3,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Hybrid, Self::GpuHybrid, Self::Hardware];

    /// Its name, for people.
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
    /// Those that the kernels leave: images without entry points, progressive ones, several scans.
    #[default]
    Rest,
    /// All images, entry points or not: to compare.
    All,
}

/// Settings of nvJPEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryUse {
    /// The part of the GPU that it uses.
    pub engine: Engine,
    /// The images of a batch that it decodes.
    pub share: LibraryShare,
    /// True if it interpolates chroma, as libjpeg-turbo does ("fancy upsampling"), instead of
    /// repeating it. That is not nvJPEG's default, and takes time.
    pub smooth_chroma: bool,
}

impl Default for LibraryUse {
    /// The rest of a batch, with pixels as near to libjpeg-turbo's as nvJPEG's can be.
    fn default() -> Self {
        Self { engine: Engine::Auto, share: LibraryShare::Rest, smooth_chroma: true }
    }
}

impl NvJpeg {
    /// Loads the library at `path`; without one, the library that the environment variable
    /// `FDCONVERT_NVJPEG_LIB` names; without that, the one that is installed: where the system's
    /// loader looks, in the Python environment that is active (`VIRTUAL_ENV`, `CONDA_PREFIX`), in
    /// the CUDA toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`). What is named must be
    /// nvJPEG or act like it: a path of one's choice runs code of one's choice.
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
        // SAFETY: the initialisers of nvJPEG make no demands on who loads it. A path of the
        // caller's choice is the caller's to vouch for, like any program it starts.
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

    /// Its version: major, minor, patch.
    #[must_use]
    pub fn version(&self) -> (i32, i32, i32) {
        self.version
    }
}

/// Makes an error of the number that a function has returned.
fn check(function: &'static str, code: c_int) -> Result<(), GpuError> {
    match code {
        0 => Ok(()),
        _ => Err(GpuError::Library { function, code, name: status_name(code) }),
    }
}
