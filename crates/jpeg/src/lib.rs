//! The markers of a JPEG, and where a decoder may start inside its scan.
//!
//! [`marker_segments`] is the walk over the markers that everything else here and elsewhere uses.
//!
//! A baseline JPEG is one run of Huffman codes without lengths: to decode its end one has to
//! decode all of it. [`parse`] reads the markers of such a file to a [`Jpeg`];
//! [`EntryPoints::build`] walks the codes once and notes the first block after every so many bits,
//! in less than a hundredth of the file's size; from then on many threads, or a GPU, decode the
//! image's [`Segment`]s at the same time, and a [`region`] of the pixels needs only some of them.
//! The DC prediction is stored for some places only, each an [`Anchor`]: what lies before a region
//! since the last of them is still read for its DC differences.
//! The bytes of the JPEG stay as they are. [`spec`] specifies the entry points.
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
//! Refused alternatives: restart markers (they change the file, cost more, and split it unevenly),
//! DC predictors for every segment (three of them are some 26 bits, where an entry point takes 13;
//! a sum over the segments since an anchor replaces them), and speculative decoding that
//! synchronises by itself instead of entry points (some of it is in vain, every time; they are made
//! that way, once).
//!
//! Deliberately absent: pixels, files, progressive and arithmetic JPEGs. [`mod@reference`] decodes
//! coefficients, slowly, as the measure for every fast decoder.
#![forbid(unsafe_code)]

mod bits;
mod encoding;
mod entry_points;
mod error;
mod huffman;
mod jpeg;
mod markers;
mod places;
pub mod reference;
mod region;
mod rice;
mod segments;
mod strides;
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
pub use region::{Region, region};
pub use segments::{BadLength, MarkerSegment, MarkerSegments, START, marker, marker_segments};

#[doc = include_str!("../SPEC.md")]
pub mod spec {}
