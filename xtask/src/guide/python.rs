//! The Python of a page, where the package is installed.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::page::Page;
use crate::failure::{Context, Result, fail};

/// An interpreter that can import the package.
pub(super) struct Python {
    path: PathBuf,
}

impl Python {
    /// `PYTHON`, the environment of `make python`, or the system's.
    ///
    /// # Errors
    /// Why none of them works.
    pub(super) fn find(target: &Path) -> Result<Self> {
        let chosen = std::env::var_os("PYTHON").map(PathBuf::from);
        let tested = target.join("python-venv/bin/python");
        let candidates = chosen.map_or_else(|| vec![tested, "python3".into()], |it| vec![it]);
        let imports = |path: &PathBuf| {
            let output = Command::new(path).args(["-P", "-c", "import fdconvert, numpy"]).output();
            output.is_ok_and(|output| output.status.success())
        };
        let found = candidates.into_iter().find(imports);
        let path =
            found.context("no Python here has fdconvert and numpy; `make python` makes one")?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the blocks of a page as one program.
    ///
    /// # Errors
    /// Its output when it fails.
    pub(super) fn run(&self, page: &Page, folder: &Path, path: &OsStr) -> Result<()> {
        if page.n_python_lines() == 0 {
            return Ok(());
        }
        let file = folder.with_extension("py");
        fs::write(&file, page.program())
            .context(format_args!("cannot write {}", file.display()))?;
        let output = Command::new(&self.path)
            .arg("-P")
            .arg(&file)
            .current_dir(folder)
            .env("PATH", path)
            .output()
            .context(format_args!("cannot start {}", self.path.display()))?;
        if output.status.success() {
            return Ok(());
        }
        fail(String::from_utf8_lossy(&output.stderr).trim_end())
    }
}
