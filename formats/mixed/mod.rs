//! Datasets with images in several codecs at a chosen ratio, as WebDataset shards for each codec
//! and a manifest with the place of each sample.
//!
//! [`Mixed`] is the format with its options, [`MixedReader`] an open dataset, with the samples in
//! the order of the source; [`strata`](MixedReader::strata) lists the samples of each codec.
//! [`spec`] specifies the layout.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let out = &folder.path().join("pets");
//! # use fdconvert_testkit::fixtures;
//! use fdconvert_core::*;
//! use fdconvert_formats::mixed::Mixed;
//!
//! let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
//! let (shard, common) = (Shard::whole(2), Common::default());
//! let (provenance, fingerprint, stamp) = (Provenance::default(), [0; 16], [0; 16]);
//! let (schema, shard, common) = (&schema, &shard, &common);
//! let provenance = &provenance;
//! let overwrite = false;
//! let entry_points = false;
//! let create = Create {
//!     out,
//!     schema,
//!     shard,
//!     common,
//!     provenance,
//!     fingerprint,
//!     stamp,
//!     overwrite,
//!     entry_points,
//!     is_open: false,
//! };
//! let mut writer = Mixed::default().create(&create)?;
//! for (key, image) in [("1.png", fixtures::png(4, 3, 1)), ("2.png", fixtures::bmp(4, 3, 2))] {
//!     writer.write(&Sample { key: key.into(), values: vec![Value::Image(image)] })?;
//! }
//! let shards = &[(shard.clone(), writer.finish()?)];
//! Mixed::default().complete(&Complete { out, schema, shards, common, provenance, fingerprint })?;
//!
//! let reader = Mixed::default().open_dataset(out)?;
//! assert_eq!(reader.get(1)?.key, "2.png");
//! let bmp = reader.strata().find(|stratum| stratum.codec() == Codec::Bmp);
//! assert_eq!(bmp.map(|bmp| bmp.ids().collect::<Vec<_>>()), Some(vec![1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: the choice of the codec of an image. The policy makes it; a format never
//! sees pixels, and stores each image by its codec.

#[cfg(feature = "write")]
mod complete;
#[cfg(feature = "write")]
mod edit;
mod format;
mod layout;
mod manifest;
mod order;
mod reader;
mod record;
mod verify;
#[cfg(feature = "write")]
mod writer;

pub use format::Mixed;
pub use manifest::manifest_codecs;
pub use reader::{MixedReader, Stratum};

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
