//! Tests through the boundary of the format.

mod conformance;
mod foreign;
mod shards;
