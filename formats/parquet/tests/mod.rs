//! Tests through the boundary of the format.

mod conformance;
mod golden;
