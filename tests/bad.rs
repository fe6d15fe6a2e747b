//! Every broken or unusual file gives what it should: an error that names it, or an image.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod common;

use common::{expect, ok};
use fdconvert_testkit::fixtures;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

const BROKEN: [&str; 14] = [
    "empty.jpg",
    "one_byte.jpg",
    "soi_only.jpg",
    "truncated_half.jpg",
    "garbage.jpg",
    "text_as_jpg.jpg",
    "zero_height.jpg",
    "bomb_65500x65500.jpg",
    "bomb_100000x100000.png",
    "bomb.bmp",
    "truncated.png",
    "truncated.bmp",
    "bad_crc.png",
    // Not broken, but nothing that a beton can hold as it is.
    "cmyk.jpg",
];

/// Packs the folder and gives samples stored and the reasons of those left out.
fn pack(source: &Path, out: &Path, options: &[&str]) -> (u64, BTreeMap<String, String>) {
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
    args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
    args.extend([&"--on-error" as &dyn AsRef<_>, &"skip", &"--json", &"--overwrite"]);
    let report: Value = serde_json::from_str(&expect(1, &args)).unwrap();
    let skipped = report["skipped"].as_array().unwrap();
    let pair = |entry: &Value| {
        (entry["key"].as_str().unwrap().to_owned(), entry["reason"].as_str().unwrap().to_owned())
    };
    (report["samples"].as_u64().unwrap(), skipped.iter().map(pair).collect())
}

#[test]
fn bad_files_are_named_with_their_cause_and_good_ones_pass() {
    let Some(shared) = fixtures::shared() else { return };
    let bad = shared.join("data/bad");
    let total = fs::read_dir(&bad).unwrap().count() as u64 - 1; // README.md
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bad.beton");

    for options in [&["--threads", "1"][..], &["--threads", "2"]] {
        let (stored, skipped) = pack(&bad, &out, options);
        let keys: Vec<_> = skipped.keys().map(String::as_str).collect();
        let mut expected = BROKEN.to_vec();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(stored, total - BROKEN.len() as u64);
        for (key, reason) in &skipped {
            println!("{key}: {reason}");
            assert!(reason.len() > 15 && reason.len() < 400, "{key}: {reason}");
        }
        ok(&[&"verify", &out, &"--deep"]);
        assert!(ok(&[&"inspect", &out]).contains("truncated_half.jpg"));
    }

    // Re-encoding converts CMYK; what is left are the broken ones.
    let (stored, skipped) = pack(&bad, &out, &["--encode", "jpeg"]);
    assert!(!skipped.contains_key("cmyk.jpg"));
    assert_eq!(stored, total - BROKEN.len() as u64 + 1);
    ok(&[&"verify", &out, &"--deep"]);

    let (_, skipped) = pack(&bad, &out, &["--strict"]);
    assert!(skipped.contains_key("truncated_last2.jpg"));
}

#[test]
fn without_skip_the_first_bad_file_ends_the_run() {
    let Some(shared) = fixtures::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in ["gray.jpg", "truncated_half.jpg", "zero_height.jpg"] {
        fs::copy(shared.join("data/bad").join(name), source.join(name)).unwrap();
    }
    for threads in ["1", "4"] {
        let out = folder.path().join("x.beton");
        let message = common::fails(&[&"pack", &source, &out, &"--threads", &threads]);
        assert!(message.contains("truncated_half.jpg"), "{message}");
        assert_eq!(common::names(folder.path()), ["source"]);
    }
}

/// Memory stays far below what the bombs claim.
#[test]
fn bombs_take_no_memory() {
    let Some(shared) = fixtures::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    // 1 GiB of address space for data is the bound that the kernel enforces here.
    let script =
        r#"ulimit -v 1048576; exec "$0" pack "$1" "$2" --on-error skip --encode jpeg --threads 2"#;
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_fdconvert")])
        .args([&shared.join("data/bad"), &out])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", common::text(&output.stderr));
}
