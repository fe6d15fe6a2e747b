//! The tests of the crate: one program, which is compiled once.

mod bad;
mod bilevel;
mod common;
mod entry_points;
mod ffcv;
mod heif_jxl;
mod levels;
mod metadata;
mod mixture;
mod odd;
mod pixels;
mod policy;
mod region;
mod round_trip;
mod thumbnail;
mod tiff;
mod verdicts;
