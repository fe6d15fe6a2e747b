//! Shared parts of the command's tests.
#![allow(dead_code, reason = "each test file uses its part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Returns the command under test.
pub(crate) fn fdconvert() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fdconvert"))
}

/// Runs it with these arguments; paths and texts may be mixed.
pub(crate) fn run(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    fdconvert().args(args.iter().map(|arg| arg.as_ref())).output().unwrap()
}

/// Runs it, expects this exit status, and returns standard output.
pub(crate) fn expect(status: i32, args: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let output = run(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "stdout: {out}\nstderr: {err}");
    out
}

/// Runs it and expects success.
pub(crate) fn ok(args: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    expect(0, args)
}

/// Runs it, expects exit status 2, and returns standard error.
pub(crate) fn fails(args: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// Writes files with these names; all of them are the same small PNG.
pub(crate) fn tree(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fdconvert_testkit::fixtures::PNG_RGB).unwrap();
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the SHA-256 of a file, in hexadecimal.
pub(crate) fn sha256_file(path: &Path) -> String {
    fdconvert_testkit::compare::sha256(&fs::read(path).unwrap())
}

/// Writes a folder of Kodak images in two classes; the sources are copies without symlinks.
pub(crate) fn kodak_classes(root: &Path) -> PathBuf {
    let folder = root.join("kodak");
    for (n, path) in sorted(&fdconvert_testkit::fixtures::kodak()).iter().enumerate() {
        let class = folder.join(if n % 2 == 0 { "even" } else { "odd" });
        fs::create_dir_all(&class).unwrap();
        fs::copy(path, class.join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// Returns the PNG and JPEG files directly in a folder, sorted by name.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "png" || e == "JPEG" || e == "jpg"))
        .collect();
    paths.sort();
    paths
}

/// Returns a tar of these files, written without this project's code.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, bytes) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(*bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend([0; 1024]);
    tar
}

/// Returns the names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
