//! Tests through the boundary of the format.

mod conformance;
mod listing_cache;
mod reading;
mod unpacking;
#[cfg(feature = "zip")]
mod zips;
