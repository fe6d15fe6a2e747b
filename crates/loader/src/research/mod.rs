//! Methods from papers as baselines: no other module of this crate uses them.

mod liquid;

pub use liquid::LIQUID;
