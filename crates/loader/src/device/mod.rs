//! Batches in the memory of a GPU.
//!
//! ```text
//! threads of the loader   read samples -> device rows: encoded bytes, entry points, geometry,
//!                         numbers to draw from, changes
//!                         (what the GPU cannot decode they decode into the host's memory)
//! Loader::next_for()      submits batches, as many as may be in flight
//!                         waits for the oldest; rows the GPU failed with are made here; uploads
//! ```
//!
//! Order, crops, failures and states are those of batches in the host's memory, bit for bit. Pixels
//! are not: the GPU resizes with single precision from the full image, the CPU with integers, from
//! an image that was decoded smaller where that is enough. Of the resized bytes augmentations make
//! the same ones, and images that are drawn have the CPU's pixels.
//!
//! Without the feature `gpu`, [`Options::device`](crate::Options::device) is refused and nothing
//! here is compiled but that.

#[cfg(not(feature = "gpu"))]
#[path = "absent.rs"]
mod gpu;
#[cfg(feature = "gpu")]
mod gpu;

pub(crate) use gpu::{CachedImage, Device, DeviceRow, DeviceRows, Offload};
