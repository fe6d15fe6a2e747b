//! Pixels: decoding, resizing, encoding, and the [`Policy`] that decides how an image is stored.
//!
//! A policy turns every [`Image`](fdconvert_core::Image) of a source into an
//! [`Encoded`](fdconvert_core::Encoded) one that the format can hold, with the least work: bytes
//! that may stay are never decoded. The policy is shared between threads; each thread has a
//! [`Worker`], which owns every handle and buffer. [`Decoder`], [`Resizer`] and [`Encoder`] are the
//! same parts for separate use. A [`Thumbnailer`] makes small upright images, and a
//! [`ContactSheet`] one picture of many of them.
//!
//! ```
//! use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer, Size};
//! use fdconvert_core::{Codec, Limits, Pixels};
//!
//! let gradient = Pixels {
//!     width: 320,
//!     height: 200,
//!     channels: 3,
//!     data: (0..320 * 200 * 3).map(|i| (i / 960) as u8).collect(),
//! };
//! let (width, height) = Size::MaxSide(256).target(gradient.width, gradient.height);
//! let mut small = Vec::new();
//! Resizer::new().resize("key", &gradient, (width, height), Filter::Area, &mut small)?;
//! let small = Pixels { width, height, channels: 3, data: small };
//!
//! let jpeg = Encoder::new().encode("key", &small, Codec::Jpeg, &JpegOptions::default(), None)?;
//! let back = Decoder::new().decode("key", &jpeg, &Limits::DEFAULT)?;
//! assert_eq!((back.pixels.width, back.pixels.height), (256, 160));
//! # Ok::<(), fdconvert_core::Error>(())
//! ```
//!
//! `fdconvert-jpeg-decode` decodes baseline JPEGs. All others are decoded, and all are encoded, by
//! libjpeg-turbo with the default feature `turbo`, and by Rust code without it; [`backend`] returns
//! which, because the two differ by a few levels in some pixels.
//!
//! Deliberately absent: files, threads, and fast but inaccurate DCTs and scalings.

#[cfg(feature = "avif")]
mod avif;
mod bands;
mod bilevel;
mod bmp;
mod claim;
mod convert;
mod decode;
mod encode;
mod gif;
mod guard;
mod jpeg;
#[cfg(feature = "jxl")]
mod jxl;
mod levels;
mod lossless;
mod metadata;
mod notes;
mod orient;
mod other;
mod policy;
mod region;
mod sheet;
mod size;
mod support;
mod thumbnail;
mod tiff;

pub use bmp::stored_bilevel;
pub use decode::{Decoded, Decoder};
pub use encode::Encoder;
pub use fdconvert_jpeg_decode::Region;
pub use fdconvert_resize::{Filter, Resizer};
pub use jpeg::{JpegOptions, Subsampling, backend, jpeg_entropy};
pub use levels::{Levels, is_gray16};
pub use metadata::{
    FoundMetadata, Metadata, MetadataKind, Stripped, find_exif, find_metadata, strip_metadata,
};
pub use notes::Notes;
pub use orient::{orient, orient_bands, orientation};
pub use policy::{
    Alpha, By, Check, Encode, Form, Gray, Mixture, Nanos, Outcome, Outlook, Policy, Worker,
};
pub use region::{Part, Wanted};
pub use sheet::ContactSheet;
pub use size::Size;
pub use support::{not_decoded, unsupported};
pub use thumbnail::{Reduced, Thumbnailer, shrink_while};
