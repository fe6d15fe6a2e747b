//! The tasks of this repository, as `cargo xtask TASK`.
//!
//! Checks of the code are ordinary tests; tasks that only chain two commands are in the Makefile.
//! The rest is here: tasks with a loop or a comparison, which would be unreadable as shell.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task prints for its user")]

mod campaign;
mod damage;
mod failure;
mod fuzz;
mod guide;
mod kernels;
mod measure;
mod ptx;
mod servers;
mod shell;
mod stores;
mod test_programs;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Chore {
    Campaign(campaign::Options),
    Damage(damage::Options),
    Fuzz(fuzz::Options),
    Guide(guide::Options),
    Kernels(kernels::Options),
    Measure(measure::Options),
    Ptx(ptx::Options),
    Servers(servers::Options),
    Stores(stores::Options),
    Test(test_programs::Options),
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Campaign(options) => campaign::run(&options),
        Chore::Damage(options) => damage::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Guide(options) => guide::run(&options),
        Chore::Kernels(options) => kernels::run(&options),
        Chore::Measure(options) => measure::run(&options),
        Chore::Ptx(options) => ptx::run(&options),
        Chore::Servers(options) => servers::run(&options),
        Chore::Stores(options) => stores::run(&options),
        Chore::Test(options) => test_programs::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
