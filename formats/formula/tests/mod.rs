//! Tests through the boundary of the format.

mod formula;
