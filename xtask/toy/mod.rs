//! The smallest format: one file, values one after another, and a table in JSON at the end.
//!
//! [`Toy`] is the format, [`ToyReader`] an open file. [`spec`] specifies the bytes.
mod format;
mod layout;
mod reader;
#[cfg(feature = "write")]
mod writer;

pub use format::Toy;
pub use reader::ToyReader;

#[doc = include_str!("SPEC.md")]
pub mod spec {}

#[cfg(test)]
mod tests;
