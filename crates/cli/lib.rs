//! The `fdconvert` command: parse, validate, call one library function, print, exit.
//!
//! [`main`] is the command as a process has it: it prints, and takes Ctrl-C for itself. [`run`] is
//! the same command for a program that goes on afterwards: it leaves signals alone, prints nothing,
//! and hands back what would have gone to standard output. A [`Session`] is how such a program
//! stops the work and sees how far it is.
//!
//! ```
//! use fdconvert_cli::{Session, run};
//!
//! let finished = run(["fdconvert", "completions", "bash"], &Session::captured())?;
//! assert!(finished.complete && finished.output.starts_with(b"_fdconvert"));
//! # Ok::<(), fdconvert_cli::Failure>(())
//! ```
#![forbid(unsafe_code)]

mod args;
mod arguments;
mod bench;
mod format_options;
mod formula;
mod fractal;
mod gpu;
mod help;
mod index;
mod inspect;
mod jpeg_index;
mod listen;
mod man;
mod options;
mod output;
mod pack;
mod plan;
mod profile;
mod progress;
mod run;
mod sample;
mod session;
mod summary;
mod terminal;
mod unpack;
mod values;
mod verify;

pub use fdconvert_pipeline::Cancel;
pub use run::{Failure, Finished, main, run};
pub use session::{Gauge, Session};

/// How a command that ran to its end found the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Complete,
    /// Samples were skipped or damage was found.
    DataProblems,
}
