//! Tests through the boundary of the format.

mod common;
mod conformance;
mod foreign;
mod golden;
mod shards;
mod streaming;
