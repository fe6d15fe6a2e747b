//! WebDataset tar shards: written with checksums and an index, and read without copying.
//!
//! [`Wds`] is the format with its options; it opens datasets as a [`WdsReader`]. [`spec`] specifies
//! the names and bytes, and explains which behaviour of other readers shaped them.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let out = &folder.path().join("pets");
//! # let bytes = fdconvert_testkit::fixtures::png(4, 3, 1).bytes;
//! use fdconvert_core::*;
//! use fdconvert_formats::wds::Wds;
//!
//! let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
//! let (shard, provenance) = (Shard::whole(1), Provenance::default());
//! let common = Common { codec: Some(Codec::Png), extension: Some("png".into()), ..Common::default() };
//! let create = Create {
//!     out,
//!     schema: &schema,
//!     shard: &shard,
//!     common: &common,
//!     provenance: &provenance,
//!     fingerprint: [0; 16],
//!     stamp: [0; 16],
//!     overwrite: false,
//!     entry_points: false,
//!     is_open: false,
//! };
//! let mut writer = Wds::default().create(&create)?;
//! let image = Encoded::new(Codec::Png, 4, 3, bytes);
//! writer.write(&Sample { key: "cat/1.png".into(), values: vec![Value::Image(image)] })?;
//! let shards = &[(shard.clone(), writer.finish()?)];
//! assert_eq!(shards[0].1.path, out.join("train-000000.tar"));
//! let (schema, common, provenance, fingerprint) = (&schema, &common, &provenance, [0; 16]);
//! Wds::default().complete(&Complete { out, schema, shards, common, provenance, fingerprint })?;
//!
//! let reader = Wds::default().open(out)?;
//! assert_eq!(reader.get(0)?.key, "cat/1.png");
//! assert!(reader.verify_layout().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: pixels, and threads. The caller's thread writes a shard, in order; several
//! shards may be written at the same time.

#[cfg(feature = "write")]
mod complete;
#[cfg(feature = "write")]
mod edit;
#[cfg(feature = "write")]
mod entry_points;
#[cfg(feature = "write")]
mod existing;
mod fields;
mod format;
mod infer;
mod kept;
mod keys;
mod layout;
mod list;
mod manifest;
mod names;
mod open;
#[cfg(feature = "write")]
mod outline;
mod reader;
mod record;
#[cfg(feature = "write")]
mod reindex;
mod scan;
mod shard;
mod splits;
mod strangers;
mod verify;
#[cfg(feature = "write")]
mod writer;

#[cfg(feature = "write")]
pub use entry_points::AddEntryPoints;
pub use format::Wds;
pub use reader::WdsReader;

// For mixed sets, with images in datasets of this format.
#[cfg(feature = "write")]
pub(crate) use complete::leftovers;
#[cfg(feature = "write")]
pub(crate) use edit::{Named, Next, common_of};
#[cfg(feature = "write")]
pub(crate) use existing::{has_shard, has_traces, remove_shard};
pub(crate) use layout::stem;
#[cfg(feature = "write")]
pub(crate) use manifest::Manifest;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
