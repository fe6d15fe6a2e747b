//! FFCV's `.beton` files, written with checksums and class names, and read without copying.
//!
//! [`Beton`] is the format with its options; it opens a file as a [`BetonReader`]. [`spec`]
//! specifies the bytes, and explains which behaviour of FFCV shaped them.
//!
//! ```
//! use ::bytes::Bytes;
//! use fdconvert_formats::beton::Beton;
//! use fdconvert_core::*;
//! # let folder = tempfile::tempdir().unwrap();
//! # let out = &folder.path().join("pets.beton");
//! let schema = Schema::new(vec![FieldSpec::new("image", Kind::Image)])?;
//! let request = Create {
//!     out,
//!     schema: &schema,
//!     shard: &Shard::whole(1),
//!     common: &Common::default(),
//!     provenance: &Provenance::default(),
//!     fingerprint: [0; 16],
//!     stamp: [0; 16],
//!     overwrite: false,
//!     entry_points: false,
//!     is_open: false,
//! };
//! let beton = Beton::default();
//! let mut writer = beton.create(&request)?;
//! let bytes = Bytes::from_static(&[7; 2 * 2 * 3]);
//! let image = Encoded::new(Codec::Raw, 2, 2, bytes);
//! writer.write(&Sample { key: "cat/1.png".into(), values: vec![Value::Image(image)] })?;
//! writer.finish()?;
//!
//! let reader = beton.open(out)?;
//! assert_eq!(reader.get(0)?.key, "cat/1.png");
//! assert!(reader.verify_layout().is_empty());
//! # Ok::<(), Error>(())
//! ```
//!
//! One writer fills the pages in sample order, so that the bytes do not depend on the number of
//! threads; FFCV's workers race for pages.
//!
//! Deliberately absent: pixels. Values that do not fit the format are refused, never converted.

mod format;
#[cfg(feature = "write")]
mod journal;
mod layout;
mod open;
#[cfg(feature = "write")]
mod pages;
#[cfg(feature = "write")]
mod place;
mod reader;
#[cfg(feature = "write")]
#[cfg(feature = "write")]
mod seal;
#[cfg(feature = "write")]
mod spool;
#[cfg(feature = "write")]
mod stage;
mod table;
mod text;
mod verify;
#[cfg(feature = "write")]
mod writer;

pub use format::Beton;
pub use reader::BetonReader;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
