//! Pixels at another size.
//!
//! [`Resizer`] makes whole images smaller for packing: [`Filter::Area`] equals OpenCV's
//! `INTER_AREA` bit for bit, the other filters are Pillow's. [`Stretcher`] fills one row of a
//! training batch from a part of an image.
//!
//! It is a separate crate because `fast_image_resize` is generic over pixels and views: here it is
//! compiled once, behind functions that take slices; inside each crate that calls it, it would add
//! a minute to every build. For the same reason all tests are outside the crate, in `tests`.
//!
//! Deliberately absent: decoding, colour conversion, enlarging for packing.

#![deny(unsafe_code)]

mod area;
mod axis;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod bilinear;
mod kernel;
mod resizer;
mod simd;
mod stretch;

pub use resizer::{Filter, Resizer};
pub use simd::Instructions;
pub use stretch::{Source, Stretcher};
