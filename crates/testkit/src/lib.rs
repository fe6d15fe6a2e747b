//! Shared by the tests of several crates; a dev-dependency only.
//!
//! [`conformance`] is the suite every format passes: [`conformance_tests!`] turns it into tests.
//! [`fixtures`] makes images and samples without any codec, and finds the image sets.
//! [`needs_shared!`] makes tests ignored by name if the data folder is absent. [`fake`] replaces a
//! format where nothing is written. [`damage`] flips every bit of a dataset and truncates it at
//! every length. [`server`] serves a folder like a store, with network failures. [`workload`] lists
//! the files of a folder and draws crops as training does. [`zip`] makes zips, sound and broken
//! ones. [`compare`] measures the difference between two images or two folders.
//!
//! ```
//! use fdconvert_testkit::{compare, fixtures};
//!
//! let bmp = fixtures::bmp(5, 4, 1);
//! assert_eq!(bmp.bytes, fixtures::bmp(5, 4, 1).bytes);
//! assert_ne!(compare::sha256(&bmp.bytes), compare::sha256(&fixtures::bmp(5, 4, 2).bytes));
//! ```
//!
//! Deliberately absent: codecs and formats, because code under test must not test itself.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod compare;
pub mod conformance;
pub mod damage;
pub mod fake;
pub mod fixtures;
pub mod metadata;
pub mod server;
mod shared;
pub mod workload;
pub mod zip;
