//! Twelve hot paths, whose instructions `make gate` counts: `benches/hot_paths.rs`.
//!
//! Everything happens on one thread, except for the two that paths need: the one that commits a
//! shard, and the one that decodes for the loader.
//!
//! Deliberately absent: the library `fdconvert` and the formats that no path uses, which would
//! double the compile time.
#![forbid(unsafe_code)]

mod inputs;
mod paths;

pub use inputs::prepare;
pub use paths::{
    batches, batches_raw, decode, decode_luma, fractals, get_beton, get_wds, pack_beton,
    pack_entry_points, pack_jpeg, pack_mds, pack_wds,
};

/// What a path returns, whatever failed.
pub type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
