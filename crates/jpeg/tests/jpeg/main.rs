//! The tests of the crate: one program, which is compiled once.

mod common;
mod damage;
mod entry_points;
mod parse;
mod pixels;
mod region;
mod segments;
