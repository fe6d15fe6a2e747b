//! The markers of a JPEG, and the places where a decoder may start inside its scan.
//!
//! [`marker_segments`] is the walk over the markers on which everything else relies.
//!
//! A baseline JPEG is one run of Huffman codes without lengths: to decode its end, all of it must
//! be decoded. [`parse`] reads the markers of such a file into a [`Jpeg`]; [`EntryPoints::build`]
//! walks the codes once and records the first block in each run of a fixed number of bits, in less
//! than a hundredth of the file's size. Then many threads, or a GPU, can decode the image's
//! [`Segment`]s at the same time, and a [`region`] of the pixels needs only some of them. The DC
//! prediction is stored for a few places only, each an [`Anchor`]: segments between the last anchor
//! and a region are still read for their DC differences. The bytes of the JPEG do not change.
//! [`spec`] specifies the entry points.
//!
//! ```no_run
//! use fdconvert_jpeg::{EntryPoints, DEFAULT_GRID_BITS, parse, region};
//!
//! let bytes = std::fs::read("image.jpg")?;
//! let jpeg = parse(&bytes)?;
//! let entry_points = EntryPoints::build(&jpeg, &bytes, DEFAULT_GRID_BITS)?;
//! let stored = entry_points.to_bytes();
//! let entry_points = EntryPoints::from_bytes(&stored, &jpeg)?;
//! for segment in entry_points.segments() {
//!     println!("{} blocks from block {}, bit {}", segment.n_blocks, segment.block, segment.bit);
//! }
//! let crop = region(&jpeg, &entry_points, 0..jpeg.height / 2, 0..jpeg.width / 2);
//! println!("a quarter of the image touches {} segments", crop.segments.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rejected alternatives: restart markers (they change the file, cost more, and split it unevenly),
//! DC predictors for every segment (three of them take some 26 bits, an entry point 13; a sum over
//! the segments since an anchor replaces them), and speculative decoding that synchronises itself
//! instead of entry points (part of it is wasted every time; it is used once, to make them).
//!
//! [`ProgressiveScans`] reads the scans of progressive JPEGs, which have no entry points: their blocks
//! are complete after the last scan.
//!
//! Deliberately absent: pixels, files, arithmetic JPEGs. [`mod@reference`] decodes coefficients,
//! slowly, as the reference for every fast decoder.
#![forbid(unsafe_code)]

mod bits;
mod encoding;
mod entry_points;
mod error;
mod huffman;
mod jpeg;
mod markers;
mod places;
mod progressive;
pub mod reference;
mod region;
mod rice;
mod segments;
mod strides;
mod turns;
mod walk;

pub use bits::{Unstuffed, parse_unstuffed, unstuff};
pub use encoding::VERSION;
pub use entry_points::{
    Anchor, DEFAULT_GRID_BITS, EntryPoints, GRIDS_BITS, Segment, grid_of, stored_entry_points,
};
pub use error::{EntryPointError, Refused};
pub use huffman::{Class, Code, HuffmanTable, Lookup};
pub use jpeg::{Color, Component, Jpeg, Slot};
pub use markers::{parse, parse_header};
pub use progressive::{ProgressiveScan, ProgressiveScans};
pub use region::{Region, region};
pub use segments::{BadLength, MarkerSegment, MarkerSegments, START, marker, marker_segments};

#[doc = include_str!("../SPEC.md")]
pub mod spec {}
