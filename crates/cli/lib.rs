//! The `fdconvert` command: from arguments to options of the library, one call, printing, an exit
//! status.
//!
//! [`main`] is the command as a process runs it: it prints, and handles Ctrl-C. Programs call the
//! library `fdconvert` instead.
#![forbid(unsafe_code)]

mod args;
mod arguments;
mod bench;
mod choices;
mod clean;
mod common;
mod diff;
mod duplicates;
mod edit;
mod engine;
mod format_options;
mod formula;
mod fractal;
mod gpu;
mod help;
mod index;
mod inspect;
mod jpeg_index;
mod labels;
mod listen;
mod man;
mod metadata;
mod option_args;
mod options;
mod output;
mod pack;
mod pack_args;
mod parents;
mod plan;
mod profile;
mod progress;
mod reading;
mod reproduce;
mod run;
mod sample;
mod selection;
mod session;
mod sheet;
mod stats;
mod stores;
mod summary;
mod terminal;
mod unpack;
mod verify;
mod view;

pub use run::main;
use session::Session;

/// Outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// No problems.
    Complete,
    /// Samples were skipped or damage was found.
    DataProblems,
}
