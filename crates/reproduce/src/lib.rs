//! The experiments of the papers behind fdconvert, run with it and with other loaders.
//!
//! [`reproduce`] runs the experiment of a [`Paper`]: it makes the data, runs fdconvert and the
//! other loaders that are installed in turns, and returns [`Findings`], as a JSON document and a
//! page ([`to_html`]): the paper's figures with its published numbers as marks, the machine, the
//! command, and the differences from the paper with their reasons.
//!
//! Other loaders run as separate programs, one for each round, and print their results as a line of
//! JSON. A loader that is not installed is listed as missing, and not replaced.
//!
//! Deliberately absent: networks and graphics cards. Published results that need them are shown
//! next to the measurements here, never computed from them.
#![forbid(unsafe_code)]

mod data;
mod findings;
mod lane;
mod options;
mod page;
mod papers;
mod rivals;
mod watch;

pub use findings::{Bar, Claim, Figure, Findings, Line, Mark, Missing, Plot, TableOf, Verdict};
pub use options::{Paper, ReproduceOptions};
pub use page::to_html;
pub use papers::reproduce;
