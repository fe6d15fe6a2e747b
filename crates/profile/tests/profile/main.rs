//! The tests of the crate: one program, which is compiled once.

mod chart;
mod lp;
mod measure;
mod model;
mod read;
mod report;
mod scale;
