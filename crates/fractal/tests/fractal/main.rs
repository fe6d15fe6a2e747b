//! The tests of the crate: one program, which is compiled once.

mod exact;
mod lines;
mod search;
mod source;
mod space;
