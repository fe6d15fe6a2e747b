//! MosaicML Streaming (MDS) shards, written so that Streaming reads them, and read without
//! copying.
//!
//! [`Mds`] is the format with its options; it opens datasets of fdconvert and of Streaming as an
//! [`MdsReader`]. [`spec`] specifies the bytes.
//!
//! ```
//! use fdconvert_core::*;
//! use fdconvert_formats::mds::Mds;
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = &folder.path().join("pets.mds");
//! let schema = Schema::new(vec![FieldSpec::new("caption", Kind::Text)])?;
//! let shard = Shard::whole(1);
//! let (common, provenance, fingerprint) = (Common::default(), Provenance::default(), [0; 16]);
//! let (common, provenance, schema) = (&common, &provenance, &schema);
//! let overwrite = false;
//! let entry_points = false;
//! let request = Create {
//!     out, schema, shard: &shard, common, provenance, fingerprint, stamp: fingerprint, overwrite,
//!     entry_points,
//!     is_open: false,
//! };
//!
//! let mds = Mds::default();
//! let mut writer = mds.create(&request)?;
//! writer.write(&Sample { key: "cat/1".into(), values: vec![Value::Text("tabby".into())] })?;
//! let shards = &[(shard.clone(), writer.finish()?)];
//! mds.complete(&Complete { out, schema, shards, common, provenance, fingerprint })?;
//!
//! let reader = mds.open(out)?;
//! assert_eq!(reader.get(0)?.key, "cat/1");
//! assert!(reader.verify_layout().is_empty());
//! # Ok::<(), Error>(())
//! ```
//!
//! Shards are independent until the dataset is completed, so that any number of threads or machines
//! can write them; done-records tell which shards are finished, not the presence of files.
//!
//! Deliberately absent: pixels, and networks. Values that do not fit the format are refused, never
//! converted.

mod columns;
#[cfg(feature = "write")]
mod complete;
#[cfg(feature = "write")]
mod edit;
mod encoding;
mod format;
mod hash;
mod images;
mod layout;
mod manifest;
mod open;
#[cfg(feature = "write")]
mod place;
mod python_json;
mod reader;
mod record;
#[cfg(feature = "write")]
mod seal;
mod shape;
mod shard;
mod sidecar;
mod splits;
mod verify;
#[cfg(feature = "write")]
mod writer;

pub use format::Mds;
pub use reader::MdsReader;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
