//! Tests through the boundary of the format.

mod conformance;
mod reading;
mod unpacking;
#[cfg(feature = "zip")]
mod zips;
