//! The command, run as its users run it: one program, which is compiled once. Without C codecs,
//! those for writing and reading images are enough.

#[cfg(feature = "turbo")]
mod again;
#[cfg(feature = "turbo")]
mod annotations;
mod bad;
#[cfg(feature = "turbo")]
mod beside;
mod choose;
#[cfg(feature = "turbo")]
mod classes;
mod cli;
mod common;
mod damage;
#[cfg(feature = "turbo")]
mod damaged_sources;
mod keep;
#[cfg(feature = "turbo")]
mod keys;
#[cfg(feature = "turbo")]
mod left_out;
mod mixed;

#[cfg(feature = "turbo")]
mod bench;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod combined;
#[cfg(feature = "turbo")]
mod convert;
#[cfg(feature = "turbo")]
mod datasets;
mod diff;
mod edits;
#[cfg(feature = "turbo")]
mod follow;
#[cfg(feature = "turbo")]
mod fractal;
#[cfg(feature = "turbo")]
mod further;
#[cfg(feature = "turbo")]
mod golden;
#[cfg(feature = "turbo")]
mod gpu;
#[cfg(feature = "turbo")]
mod hub;
#[cfg(feature = "turbo")]
mod jpeg_index;
#[cfg(feature = "turbo")]
mod kill;
#[cfg(feature = "turbo")]
mod layouts;
#[cfg(feature = "turbo")]
mod layouts_in;
#[cfg(feature = "turbo")]
mod loader;
#[cfg(feature = "turbo")]
mod look;
#[cfg(feature = "turbo")]
mod messages;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod odd_stores;
#[cfg(feature = "turbo")]
mod open_splits;
#[cfg(feature = "turbo")]
mod options;
#[cfg(feature = "turbo")]
mod overwrite;
#[cfg(feature = "turbo")]
mod pairs;
#[cfg(feature = "turbo")]
mod parquet;
#[cfg(feature = "turbo")]
mod parts;
#[cfg(feature = "turbo")]
mod profile;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod read_ahead;
mod reproduce;
#[cfg(feature = "turbo")]
mod root_hash;
#[cfg(feature = "turbo")]
mod shards_of_others;
#[cfg(feature = "turbo")]
mod sources;
#[cfg(feature = "turbo")]
mod split_folders;
#[cfg(feature = "turbo")]
mod splits;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod stored;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod stored_beton;
#[cfg(all(feature = "stores", feature = "turbo"))]
mod stores;
mod strip_metadata;
#[cfg(all(unix, feature = "view"))]
mod view;
#[cfg(feature = "turbo")]
mod zips;
