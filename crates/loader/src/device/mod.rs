//! Batches in GPU memory.
//!
//! ```text
//! threads of the loader   read samples -> device rows: encoded bytes, entry points, geometry,
//!                         numbers to draw from, changes
//!                         (they decode the rest into host memory)
//! Loader::next_for()      submits batches up to the limit in flight
//!                         waits for the oldest; makes rows that failed on the GPU; uploads
//! ```
//!
//! Order, crops, failures and states equal those of batches in host memory, bit for bit. Pixels
//! differ: the GPU resizes in single precision from the full image; the CPU resizes with integers,
//! from an image decoded at a smaller size if that is enough. Changes turn equal resized bytes into
//! equal bytes, and drawn images have the CPU's pixels. What the kernels lack is made by the CPU,
//! row by row: see [`DeviceProgram`].
//!
//! Without the feature `gpu` this module only refuses [`Options::device`](crate::Options::device).

#[cfg(not(feature = "gpu"))]
#[path = "absent.rs"]
mod gpu;
#[cfg(feature = "gpu")]
mod gpu;
mod program;

pub(crate) use gpu::{CachedImage, Device, DeviceRow, DeviceRows, Offload};
pub(crate) use program::DeviceProgram;
