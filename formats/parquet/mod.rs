//! Parquet files as Hugging Face `datasets` writes and reads them.
//!
//! [`Parquet`] is the format; what it opens is a [`ParquetReader`]. [`spec`] specifies what this
//! tool writes, and how columns of others become fields.
//!
//! Opening reads the end of each file. The page with a sample is found by the page index, or by the
//! headers of the pages, and decoded by the library `parquet`; in files of ours an index block that
//! other readers pass over leads to the bytes of each image, which are neither compressed nor
//! copied.
//!
//! Deliberately absent: Arrow, whose memory layout nothing here needs.

mod arrow;
mod beside;
mod cache;
mod cell;
mod columns;
#[cfg(feature = "write")]
mod croissant;
mod details;
mod features;
mod file;
mod files;
mod footer;
mod format;
#[cfg(feature = "write")]
mod group;
mod keys;
mod layout;
mod leaf;
mod open;
mod pages;
mod parts;
mod reader;
mod row;
#[cfg(feature = "write")]
mod sink;
#[cfg(feature = "write")]
mod stage;
mod thrift;
mod values;
mod verify;
#[cfg(feature = "write")]
mod writer;

pub use format::Parquet;
pub use reader::ParquetReader;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
