//! Methods of papers, kept to be compared with: no other module of this crate uses them.

mod liquid;

pub use liquid::LIQUID;
