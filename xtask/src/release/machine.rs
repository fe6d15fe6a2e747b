//! The machines that a release is built for.

use std::{fmt, path::PathBuf, process::Command};

use crate::{
    failure::{Context, Result},
    shell,
};

/// A processor, always under Linux with glibc.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Machine {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

impl Machine {
    pub(super) fn triple(self) -> String {
        format!("{self}-unknown-linux-gnu")
    }

    /// Returns true if it is the one that this program runs on.
    pub(super) fn is_here(self) -> bool {
        self.to_string() == std::env::consts::ARCH
    }

    /// Returns true if the toolchain can build for it.
    pub(super) fn has_library(self) -> Result<bool> {
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "target-libdir", "--target", &self.triple()]);
        let folder = PathBuf::from(shell::output(&mut rustc)?.trim());
        let Ok(entries) = folder.read_dir() else { return Ok(false) };
        for entry in entries {
            let name = entry.context(format_args!("{}", folder.display()))?.file_name();
            if name.to_string_lossy().starts_with("libstd-") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns advice for a toolchain that cannot.
    pub(super) fn missing(self) -> String {
        let triple = self.triple();
        format!("its standard library is not installed; `rustup target add {triple}` installs it")
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        })
    }
}
