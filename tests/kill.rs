//! Runs that are killed, interrupted or run out of disk.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod common;

use common::{fdconvert, ok, sha256_file};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

/// Twelve images six times over: 85 MB raw, a page of 2 MiB each.
fn source(root: &Path) -> PathBuf {
    let folder = root.join("source");
    for class in 0..6 {
        let class = folder.join(format!("c{class}"));
        fs::create_dir_all(&class).unwrap();
        for path in common::sorted(&fdconvert_testkit::fixtures::kodak()) {
            fs::copy(&path, class.join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn start(source: &Path, out: &Path, threads: &str) -> Child {
    fdconvert()
        .arg("pack")
        .args([source, out])
        .args(["--encode", "raw", "--page-size", "2MiB", "--threads", threads])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the unfinished file has grown to `bytes`, or the child has ended.
fn wait_for_size(child: &mut Child, partial: &Path, bytes: u64) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none()
        && fs::metadata(partial).map_or(0, |metadata| metadata.len()) < bytes
    {
        assert!(began.elapsed() < Duration::from_secs(60), "the pack does not move");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn killed_at_many_points_it_ends_with_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let whole = root.path().join("whole.beton");
    assert!(start(&source, &whole, "2").wait().unwrap().success());
    let expected = sha256_file(&whole);

    let out = root.path().join("killed.beton");
    let partial = root.path().join("killed.beton.partial");
    let mut kills = 0;
    for round in 1.. {
        // Each round gets a little further than the one before, with another number of threads.
        let mut child = start(&source, &out, ["1", "2", "3"][round % 3]);
        wait_for_size(&mut child, &partial, round as u64 * 11_000_000);
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        assert!(!out.exists(), "a killed run left a file that looks finished");
        kills += 1;
    }
    assert!(kills >= 3, "killed only {kills} times");
    assert_eq!(sha256_file(&out), expected);
    assert_eq!(common::names(root.path()), ["killed.beton", "source", "whole.beton"]);
    ok(&[&"verify", &out, &"--deep"]);
}

#[test]
fn a_resumed_run_says_so_and_another_run_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    let partial = root.path().join("x.beton.partial");
    let mut child = start(&source, &out, "2");
    wait_for_size(&mut child, &partial, 30_000_000);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists(), "killed too late for this test");

    // Other options: another run. It must not touch what the first has left.
    let before = sha256_file(&partial);
    let message = common::fails(&[&"pack", &source, &out, &"--encode", &"jpeg"]);
    assert!(message.contains("--overwrite"), "{message}");
    assert_eq!(sha256_file(&partial), before);

    let text =
        ok(&[&"pack", &source, &out, &"--encode", &"raw", &"--page-size", &"2MiB", &"--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["resumed"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["samples"], 72);
}

#[test]
fn an_interrupt_leaves_nothing_and_exits_130() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    let mut child = start(&source, &out, "2");
    wait_for_size(&mut child, &root.path().join("x.beton.partial"), 20_000_000);
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(common::names(root.path()), ["source"]);
}

/// `/dev/full` and quotas are not everywhere; a limit on file size is, and fails like a full disk.
#[test]
fn a_disk_that_fills_up_is_an_error_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let out = root.path().join("x.beton");
    // The shell ignores SIGXFSZ, which its child inherits: writing fails with EFBIG.
    let script = r#"trap '' XFSZ; ulimit -f 20000; exec "$0" pack "$1" "$2" --encode raw"#;
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_fdconvert")])
        .args([&source, &out])
        .output()
        .unwrap();
    let message = common::text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot write") && message.contains("x.beton"), "{message}");
    assert_eq!(common::names(root.path()), ["source"]);
}
