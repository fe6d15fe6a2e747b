//! Tests through the boundary of the format.

mod common;
mod conformance;
mod damage;
mod entry_points;
mod golden_ffcv;
mod golden_v1;
mod large;
mod resume;
mod roundtrip;
mod whole;
