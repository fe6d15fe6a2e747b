//! A dataset in a browser on this machine: a server of one dataset, or of two side by side.
//!
//! [`Server::bind`] takes what was opened and a port, [`Server::address`] says where it listens, and
//! [`Server::serve`] answers until it is told to stop. `API.md` beside this crate is the agreement
//! with the page, which is embedded.
//!
//! ```text
//! security   who may ask: this machine, with the token of this run; the headers of every answer
//! routes     path -> function; each runs on a thread that may wait for the network
//! dataset    a reader, and what was found out about it so far
//! catalog    label, codec, sizes and numbers of all samples, collected by one thread
//! filter     an expression -> which samples, remembered for the last few
//! facets     the counts beside the filters
//! rows       pieces of the grid
//! sample     all that is known of one sample; objects and exif are parts of it
//! image      stored bytes, or a smaller image; mask, batch and sheet make other ones
//! damage     checksums of all samples, compared by one thread
//! compare    two datasets by key
//! export     the keys of what the filters keep
//! ```
//!
//! The page asks for pieces: nothing is made ahead, and all that is kept is bounded or a few bytes a
//! sample. Answers do not wait for the threads: they say how far these are.
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
