//! The server from a browser's view: requests over HTTP, on small datasets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod compare;
mod damage;
mod drawn;
mod export;
mod filters;
mod hostile;
mod images;
mod large;
mod samples;
mod security;
