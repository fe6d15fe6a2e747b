//! The tools that a release is built and checked with, installed below the folder of builds.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Context, Result},
    shell, workspace,
};

const CARGO_AUDITABLE: &str = "0.7.7";

/// Tools of a release, installed in a folder.
pub(super) struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Installs them, unless an earlier run has.
    pub(super) fn install(root: &Path, folder: &Path) -> Result<Self> {
        let tools = Self { folder: folder.to_path_buf() };
        let requirements = root.join("xtask/release/requirements.txt");
        let text = fs::read_to_string(&requirements)
            .context(format_args!("cannot read {}", requirements.display()))?;
        let wanted = format!("cargo-auditable {CARGO_AUDITABLE}\n{text}");
        let stamp = folder.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(tools);
        }
        shell::run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
        let mut pip = Command::new(tools.program("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        shell::run(pip.arg("--requirement").arg(&requirements))?;
        let mut cargo = Command::new(workspace::cargo());
        cargo.args(["install", "cargo-auditable", "--version", CARGO_AUDITABLE, "--locked"]);
        cargo.args(["--debug", "--quiet", "--root"]).arg(folder);
        cargo.env("CARGO_TARGET_DIR", folder.join("build"));
        shell::run(&mut cargo)?;
        fs::write(&stamp, wanted).context(format_args!("cannot write {}", stamp.display()))?;
        Ok(tools)
    }

    /// A program of the Python environment.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join("venv/bin").join(name)
    }

    /// A search path on which `cargo` finds its further commands, and maturin finds zig.
    pub(super) fn path(&self) -> Result<OsString> {
        let ours = [self.folder.join("venv/bin"), self.folder.join("bin")];
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = ours.into_iter().chain(std::env::split_paths(&others));
        std::env::join_paths(folders).context("the search path cannot be extended")
    }
}
