//! Tests through the boundary of the format.

mod conformance;
mod golden;
#[cfg(feature = "stores")]
mod pages;
