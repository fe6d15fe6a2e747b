//! Decodes JPEGs on a GPU, bit for bit as libjpeg-turbo does.
//!
//! The files need no change. Entry points of `fdconvert-jpeg`, made when a dataset is packed, let
//! thousands of threads start in the middle of a scan. A [`Decoder`] takes a batch of [`Request`]s,
//! uploads files, tables and entry points in one copy, and leaves a [`Batch`] in the GPU's memory:
//! whole images, or crops of one size, normalised, in the type that training needs.
//!
//! ```no_run
//! use fdconvert_gpu::{Crop, Decoder, Driver, Gpu, Limits, Output, Request};
//! use fdconvert_gpu::{Order, SampleType, Status, Tensor};
//!
//! let gpu = Gpu::open(&Driver::load(None)?, 0)?;
//! let mut decoder = Decoder::new(&gpu, Limits::DEFAULT)?;
//! let (jpeg, entry_points) = (std::fs::read("a.jpg")?, std::fs::read("a.entry-points")?);
//! let crop = Crop { left: 0.25, top: 0.25, width: 0.5, height: 0.5 };
//! let request = Request { crop, flip: true, ..Request::whole(&jpeg, Some(&entry_points)) };
//! let tensor = Tensor {
//!     width: 224,
//!     height: 224,
//!     sample_type: SampleType::F16,
//!     order: Order::Nchw,
//!     mean: [0.485, 0.456, 0.406],
//!     deviation: [0.229, 0.224, 0.225],
//! };
//! let batch = decoder.decode(&[request], Output::Tensor(tensor))?;
//! for (number, status) in batch.statuses().iter().enumerate() {
//!     match status {
//!         Status::Decoded => println!("{number} is at {:#x}", batch.address()),
//!         other => println!("{number} is for the CPU: {other:?}"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Store`] keeps compressed images in the GPU's memory: they are uploaded once, and a
//! [`Request`] then names a [`Stored`] image instead of bytes. Only the part of an image that its
//! crop needs is decoded, with the same pixels.
//!
//! One bad image never fails a batch: it has a [`Status`], while a [`GpuError`] always comes from
//! the driver. Neither building nor starting needs CUDA: [`Driver::load`] loads the driver, and
//! returns [`GpuError::NoDriver`] on a machine without it. [`probe`] finds out beforehand.
//!
//! Images that the kernels refuse, such as progressive ones or those without entry points, can be
//! decoded by NVIDIA's nvJPEG, loaded by [`NvJpeg::load`] and enabled by [`Decoder::use_library`].
//! Its pixels are only close to libjpeg's; they have the status [`Status::Library`].
//!
//! [`Fractals`] draws images of iterated function systems in the GPU's memory, and uploads only a
//! few numbers for each. [`Request::drawn`] makes one an image of a batch.
//!
//! [`Output::Changed`] resizes to 8 bits and applies [`Change`]s in order before it flips and
//! normalises: augmentations, with the same bits as on the CPU.
//!
//! A [`Plan`] holds every decision of the host about a batch, and a [`Machine`] runs the kernels: a
//! stream of the driver here, the CPU in tests.
//!
//! Deliberately absent: files, loaders, and decoding on the CPU.
// Only `driver`, `nvjpeg` and modules that take addresses from callers opt in.
#![deny(unsafe_code)]

mod batch;
mod builder;
mod change;
mod decoder;
mod drawings;
mod driver;
mod error;
mod fractal;
mod image;
pub mod layout;
mod loaded;
mod nvjpeg;
mod plan;
mod prepared;
mod probe;
mod request;
mod schedule;
mod store;
mod tables;
mod timing;
mod window;

pub use batch::{Batch, Pending};
pub use change::{Change, Warp};
pub use decoder::Decoder;
pub use driver::{Device, Driver, Gpu};
pub use error::GpuError;
pub use fractal::{Canvas, Drawing, FractalImage, FractalSystem, Fractals};
pub use nvjpeg::{Engine, LibraryShare, LibraryUse, NvJpeg};
pub use plan::{Limits, Place, Plan, Work};
pub use prepared::Prepared;
pub use probe::{Backend, EngineFound, Probe, engines, probe};
pub use request::{
    Crop, Damage, Fallback, Order, Output, Request, SampleType, Source, Status, Tensor,
};
pub use schedule::{Addresses, Kernel, Machine};
pub use store::{NotStored, Store, Stored};
pub use timing::{Diagnostics, Timings};
