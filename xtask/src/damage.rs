//! The damage campaign: small datasets of all formats, with all kinds of damage.

use std::process::Command;

use crate::{failure::Result, shell, workspace::cargo};

/// Flip every bit of a small dataset of every format, truncate, extend and remove every file, and
/// check that verification notices.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only every nth byte, as in the tests.
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
