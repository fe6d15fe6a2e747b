//! A dataset in a browser on this machine: a server of one dataset, or of two to compare.
//!
//! [`Server::bind`] takes opened datasets and a port, [`Server::address`] returns its address, and
//! [`Server::serve`] answers until it is stopped. `API.md` in this crate specifies the interface to
//! the page, which is embedded.
//!
//! ```text
//! security   access control: this machine, with the token of this run; headers of responses
//! routes     path -> function; each runs on a thread that may wait for the network
//! dataset    a reader, and what is known about it so far
//! catalog    label, codec, sizes and numbers of all samples, collected by one thread
//! filter     an expression -> the samples that it keeps; the last few are cached
//! facets     the counts next to the filters
//! rows       pieces of the grid
//! sample     everything known about one sample; objects and exif are parts of it
//! image      stored bytes, or a smaller image; mask, batch and sheet make others
//! damage     check of all checksums, by one thread
//! compare    two datasets by key
//! export     the keys of the filtered samples
//! ```
//!
//! The page requests pieces: nothing is made in advance, and all kept data is bounded or a few
//! bytes per sample. Responses do not wait for the threads, but report their progress.
//!
//! Deliberately absent: writing, sessions and users, and other machines.
#![forbid(unsafe_code)]

mod answer;
mod batch;
mod catalog;
mod compare;
mod damage;
mod dataset;
mod exif;
mod export;
mod facets;
mod fields;
mod filter;
mod image;
mod mask;
mod objects;
mod page;
mod request;
mod routes;
mod rows;
mod sample;
mod security;
mod server;
mod sheet;
mod thumbnails;
mod worker;

pub use dataset::Opened;
pub use server::Server;
