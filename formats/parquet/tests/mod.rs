//! Tests through the boundary of the format.

mod conformance;
mod golden;
mod library;
#[cfg(feature = "stores")]
mod pages;
mod parts;
mod tables;
