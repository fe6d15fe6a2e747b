//! The library that is loaded before the C library.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{failure::Result, shell};

const SOURCES: [&str; 3] = ["decide.c", "calls.c", "stat.c"];

/// Compiles it into `folder`. Fortified headers would replace the functions that it defines.
pub(super) fn build(sources: &Path, folder: &Path) -> Result<PathBuf> {
    let library = folder.join("faults.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut build = Command::new(compiler);
    build.args(["-std=gnu11", "-O1", "-fPIC", "-shared", "-U_FORTIFY_SOURCE"]);
    build.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&library);
    build.args(SOURCES.map(|name| sources.join(name))).arg("-ldl");
    shell::run(&mut build)?;
    Ok(library)
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::{fs, os::unix::process::ExitStatusExt, process::Output};

    use super::*;

    /// Runs a shell that writes `a`, then `b`, in the folder `out`, with these variables.
    fn written(folder: &Path, variables: &[(&str, &str)]) -> Output {
        let out = folder.join("out");
        fs::create_dir(&out).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim");
        let library = build(&sources, folder).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "echo 1 > out/a; echo 2 > out/b"]).current_dir(folder);
        shell.env("LD_PRELOAD", library).env("FAULTS_BELOW", &out);
        shell.env("FAULTS_LOG", folder.join("log"));
        shell.envs(variables.iter().copied()).output().unwrap()
    }

    #[test]
    fn the_chosen_call_fails_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let second = [("FAULTS_KINDS", "write"), ("FAULTS_AT", "2"), ("FAULTS_DO", "ENOSPC")];
        assert!(!written(folder.path(), &second).status.success());
        assert_eq!(fs::read(folder.path().join("out/a")).unwrap(), b"1\n");
        assert_eq!(fs::read(folder.path().join("out/b")).unwrap(), b"");
    }

    #[test]
    fn a_kill_comes_before_the_call() {
        let folder = tempfile::tempdir().unwrap();
        let second = [("FAULTS_KINDS", "open"), ("FAULTS_AT", "2"), ("FAULTS_DO", "kill")];
        assert_eq!(written(folder.path(), &second).status.signal(), Some(9));
        assert!(folder.path().join("out/a").exists());
        assert!(!folder.path().join("out/b").exists());
    }

    #[test]
    fn calls_are_logged_and_a_wrong_setting_is_no_run_without_faults() {
        let folder = tempfile::tempdir().unwrap();
        assert!(written(folder.path(), &[("FAULTS_KINDS", "open,write")]).status.success());
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        let out = folder.path().join("out").display().to_string();
        let logged: Vec<_> = log.lines().map(|line| line.replace(&out, "OUT")).collect();
        assert_eq!(logged, ["open OUT/a", "write OUT/a", "open OUT/b", "write OUT/b"]);

        fs::remove_dir_all(folder.path().join("out")).unwrap();
        let wrong = [("FAULTS_AT", "1"), ("FAULTS_DO", "EBADNAME")];
        assert_eq!(written(folder.path(), &wrong).status.code(), Some(125));
    }
}
