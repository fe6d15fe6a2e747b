//! Methods of papers, kept for comparison: no other module of this crate uses them.
//!
//! `paper` contains Liquid's (APSys 2023) ways to find a share, [`fixed_point`] and
//! [`paper_search`]. `lp` is the general case of its model, [`best_mixture`] of many formats and
//! resources.

mod lp;
mod paper;

pub use lp::{MAX_FORMATS, MAX_RESOURCES, Resource, Space, best_mixture, resources};
pub use paper::{fixed_point, paper_search};
