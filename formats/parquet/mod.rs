//! Parquet files as Hugging Face `datasets` writes and reads them.
//!
//! [`Parquet`] is the format; it opens files as a [`ParquetReader`]. [`spec`] specifies the files
//! that fdconvert writes, and how columns of other tools become fields.
//!
//! Opening reads the end of each file. To read a sample, the reader finds its page by the page
//! index, or by the headers of the pages, and the library `parquet` decodes it. In fdconvert's
//! files an index block, which other readers skip, has the place of each image's bytes, which are
//! neither compressed nor copied.
//!
//! Deliberately absent: Arrow, because nothing here needs its memory layout.

mod arrow;
mod beside;
mod cache;
#[cfg(feature = "write")]
mod card;
mod cell;
mod columns;
#[cfg(feature = "write")]
mod description;
mod details;
#[cfg(feature = "write")]
mod edit;
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
mod manifest;
mod open;
mod pages;
mod parts;
mod reader;
mod record;
mod row;
#[cfg(feature = "write")]
mod shards;
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
