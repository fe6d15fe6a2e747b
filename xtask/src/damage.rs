//! The damage campaign: small datasets of all formats, damaged in every way.

use std::process::Command;

use crate::{failure::Result, shell, workspace::cargo};

/// Flip every bit of a small dataset of every format, cut, grow and remove every file, and see
/// that verification notices.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only every so-many-th byte: what the tests do, too.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let test = if options.quick { "damage_is_noticed" } else { "every_damaged_bit" };
    let mut command = Command::new(cargo());
    command.args(["test", "--workspace", "--test", "command", test, "--"]);
    command.args(["--include-ignored", "--nocapture"]);
    shell::run(&mut command)
}
