//! Operations on small 8-bit RGB images in memory, with the results of
//! `torchvision.transforms.v2.functional` on `uint8` tensors.
//!
//! All parameters are given: nothing here draws at random except [`erase::Noise`], which fills
//! pixels from a stream that the caller keys. An image is a slice of [`Pixel`]s, row by row without
//! padding, of any size from 1 x 1 up; masks are slices of `u8` or `u16`.
//!
//! ```text
//! curves   level -> level per channel: brightness, contrast, solarize, posterize, invert,
//!          autocontrast, equalize; consecutive ones become one
//! levels   counts and extremes of levels
//! gray     grayscale, mean gray, saturation
//! hue      the turn of the colour circle
//! blur     Gaussian blur
//! sharpen  sharpness
//! place    flips, quarter turns, crop, pad: pixels at other places
//! matrix   where points of the image go, and back
//! warp     rotation, affine and perspective, with the nearest pixels
//! bilinear the same with blends of four pixels
//! erase    rectangles of a colour, of given pixels or of noise
//! sum      weighted sums of images
//! lanes    a block of pixels at a time, for gray and hue
//! ```
//!
//! torch computes in `f32`, and its processors' vector instructions fuse some multiplications with
//! additions. Where that decides about a bit, the fused operation is done in `f64` here: the
//! product of two `f32` is exact in `f64`, and the sum is rounded to `f32`. Each item says whether
//! its results are exactly torchvision's, as measured on x86-64 with AVX-512.

mod bilinear;
mod blur;
mod curves;
mod erase;
mod gray;
mod hue;
mod lanes;
mod levels;
mod matrix;
mod place;
mod sharpen;
mod sum;
#[cfg(test)]
mod tests;
mod warp;

pub(crate) use blur::{BlurRows, Gauss, gaussian_blur};
pub(crate) use curves::Curves;
pub(crate) use erase::{Content, Noise, erase};
pub(crate) use gray::{mean_gray, saturation, to_grayscale};
pub(crate) use hue::hue;
pub(crate) use levels::{Counts, first_level, upper_bits};
pub(crate) use matrix::{Affine, perspective_coefficients};
pub(crate) use place::{Padding, crop, flip_columns, flip_rows, quarter_turns};
pub(crate) use sharpen::sharpness;
pub(crate) use sum::weighted_sum;
pub(crate) use warp::Warp;

/// Red, green and blue.
pub(crate) type Pixel = [u8; 3];
