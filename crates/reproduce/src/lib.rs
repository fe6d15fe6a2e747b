//! The experiments of the papers behind fdconvert, run with it and beside other loaders.
//!
//! [`reproduce`] carries out the experiment of a [`Paper`]: it makes the data, lets fdconvert and
//! the loaders that a Python has take turns, and returns [`Findings`], which are a JSON document and
//! a page for people ([`to_html`]): the paper's figures with the paper's numbers as marks, the
//! machine, the command, and what differs from the paper and why.
//!
//! Other loaders run as programs of their own, one for each round, and tell what they measured as a
//! line of JSON. One that is not installed is named as missing, and nothing stands in its place.
//!
//! Deliberately absent: networks and graphics cards. What the papers measured on them is told
//! beside what was measured here, never computed from it.
#![forbid(unsafe_code)]

mod data;
mod findings;
mod lane;
mod options;
mod page;
mod papers;
mod rivals;
mod watch;

pub use findings::{Bar, Figure, Findings, Line, Mark, Missing, Plot, TableOf};
pub use options::{Paper, ReproduceOptions};
pub use page::to_html;
pub use papers::reproduce;
