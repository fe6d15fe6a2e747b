//! Methods of papers, kept to be compared with: no other module of this crate uses them.

mod locality;

pub use locality::{Assignment, Transfer, assign};
