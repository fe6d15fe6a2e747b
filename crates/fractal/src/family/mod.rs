//! Where categories come from.
mod known;
mod search;

pub use search::Search;
