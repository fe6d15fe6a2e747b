//! The index block: facts about samples that packed formats do not record, as one run of bytes.
//!
//! A [`Builder`] collects keys and [`Region`]s while a format is written and then emits the block;
//! an [`Index`] is the parsed block, without copying, over any [`Bytes`](bytes::Bytes). The format
//! decides on the place of the block, and of the entry points of JPEGs until the block is emitted:
//! [`seal_all`] makes entries of them, [`Index::entry_points`] returns them. [`spec`] specifies the
//! bytes.
//!
//! ```
//! use bytes::Bytes;
//! use fdconvert_core::{FieldSpec, Kind, Schema};
//! use fdconvert_formats::index::{Builder, Index, Meta, Region};
//!
//! let schema = Schema::new(vec![FieldSpec::new("note", Kind::Text)])?;
//! let meta = Meta { schema, ..Meta::default() }.to_json();
//! let mut builder = Builder::new(1);
//! builder.push("a/b", &[Region { offset: 0, len: 5, xxh3: 7, image: None }]);
//! let mut block = Vec::new();
//! builder.emit(&meta, 5, &[], |part| Ok::<(), std::io::Error>(block.extend(part)))?;
//!
//! let index = Index::parse(Bytes::from(block))?;
//! assert_eq!(index.key(0)?, Some("a/b"));
//! assert_eq!(index.region(0, 0)?.len, 5);
//! assert!(index.verify().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rejected alternatives: a serialization library's own format (its version would be ours), JSON
//! for everything (1.28 million samples would have to be parsed on every open), and a checksum over
//! the whole block (opening would have to read all of it; the root covers the section table, and
//! the table has a checksum per section).
//!
//! Deliberately absent: files. Bytes come in, bytes go out.

mod block;
mod builder;
mod entry_points;
mod error;
mod layout;
mod meta;
mod region;

pub use block::Index;
pub use builder::Builder;
pub use entry_points::{EntryPointFacts, seal_all};
pub use error::IndexError;
pub(crate) use layout::HEADER_MAGIC;
pub use layout::{HEADER_LEN, TRAILER_LEN, VERSION};
pub use meta::Meta;
#[cfg(feature = "mds")]
pub(crate) use region::is_same;
#[cfg(any(feature = "write", feature = "mds"))]
pub(crate) use region::xxh3_of;
pub use region::{ImageFacts, REGION_LEN, Range, Region};

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
