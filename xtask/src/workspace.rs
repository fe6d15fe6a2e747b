//! The folders and targets of Cargo's workspaces.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::failure::{Context, Result, fail};

/// The part of `cargo metadata` that the tasks need, for one workspace.
pub(crate) struct Workspace {
    metadata: Value,
}

impl Workspace {
    /// Returns the workspace of this repository.
    pub(crate) fn here() -> Result<Workspace> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        Workspace::of(&root)
    }

    /// Returns the workspace of a manifest, such as that of the fuzz targets, which is separate.
    pub(crate) fn of(manifest: &Path) -> Result<Workspace> {
        let output = Command::new(cargo())
            .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
            .arg(manifest)
            .output()
            .context("cannot start cargo metadata")?;
        if !output.status.success() {
            return fail(String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let metadata = serde_json::from_slice(&output.stdout)
            .context("cargo metadata did not answer in JSON")?;
        Ok(Workspace { metadata })
    }

    pub(crate) fn root(&self) -> Result<PathBuf> {
        self.folder("workspace_root")
    }

    /// Returns the folder of builds, considering `CARGO_TARGET_DIR` and Cargo's configuration.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        self.folder("target_directory")
    }

    pub(crate) fn programs(&self) -> Vec<String> {
        let packages = self.metadata["packages"].as_array().into_iter().flatten();
        packages
            .flat_map(|package| package["targets"].as_array().into_iter().flatten())
            .filter(|target| target["kind"][0] == "bin")
            .filter_map(|target| target["name"].as_str().map(String::from))
            .collect()
    }

    fn folder(&self, key: &str) -> Result<PathBuf> {
        let folder = self.metadata[key].as_str();
        Ok(folder.context(format_args!("cargo metadata names no {key}"))?.into())
    }
}

/// Returns the Cargo that runs this program, so that a selected toolchain is kept.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
