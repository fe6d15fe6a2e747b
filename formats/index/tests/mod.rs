//! Tests through the boundary of the format.

mod block;
mod entry_points;
