//! Methods of papers, kept to be compared with: no other module of this crate uses them.

mod liquid;
mod locality;

pub use liquid::LIQUID;
pub use locality::{Assignment, Transfer, assign};
