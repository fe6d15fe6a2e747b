//! The `fdconvert` command. All of it is in the library next to this file, so that other programs
//! can run it in their own process.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fdconvert_cli::main(std::env::args_os()))
}
