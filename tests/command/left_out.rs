//! Shards and outputs without any samples after `--on-error skip`.
#![allow(clippy::unwrap_used)]

use crate::common::fdconvert;
use fdconvert_testkit::{compare::tree, fixtures};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Writes eight images; the third and fourth are empty files.
fn source(root: &Path) -> PathBuf {
    let folder = root.join("source/a");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..8 {
        let image = fixtures::png(20, 16, number);
        let bytes: &[u8] = if [2, 3].contains(&number) { &[] } else { &image.bytes };
        fs::write(folder.join(format!("{number}.png")), bytes).unwrap();
    }
    root.join("source")
}

fn run(args: &[&dyn AsRef<OsStr>]) -> (i32, String) {
    let found = fdconvert().args(args).output().unwrap();
    let text = [found.stdout, found.stderr].concat();
    (found.status.code().unwrap(), String::from_utf8(text).unwrap())
}

const SHARDED: [(&str, &[&str], &str); 3] = [
    ("wds", &[], "train-000001.tar"),
    ("mds", &[], "shard.00001.mds"),
    ("mixed", &["--ratio", "0.5", "--encode", "png"], "png/train-000001.tar"),
];

#[test]
fn a_shard_without_a_sample_is_not_there_and_the_run_ends() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    for (format, options, empty) in SHARDED {
        let out = root.path().join(format);
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
        let rest = ["--format", format, "--shard-count", "2", "--on-error", "skip"];
        args.extend(rest.iter().chain(options).map(|word| word as &dyn AsRef<OsStr>));
        let (code, text) = run(&[&args[..], &[&"--threads", &"1"]].concat());
        assert!(code == 1 && text.contains("2 bad samples"), "{text}");
        assert!(!text.contains("sample `a/2.png`"), "the key stands before the reason: {text}");
        assert!(text.contains("1 of the planned shards not written"), "{text}");
        assert!(!out.join(empty).exists(), "{format}");
        let whole = tree(&out);
        // Repeated, and with other threads.
        let (code, text) = run(&args);
        assert!(code == 1 && text.contains("already complete"), "{format}: {text}");
        assert!(tree(&out) == whole, "{format}");
        let other = root.path().join("other");
        args[2] = &other;
        assert_eq!(run(&[&args[..], &[&"--threads", &"3"]].concat()).0, 1);
        assert!(tree(&other) == whole, "{format}");
        fs::remove_dir_all(&other).unwrap();
        // By parts.
        let plan = root.path().join("plan");
        let mut planning: Vec<&dyn AsRef<OsStr>> = vec![&"plan", &source, &"-o", &plan];
        planning.extend(rest[..4].iter().chain(options).map(|word| word as &dyn AsRef<OsStr>));
        assert_eq!(run(&[&planning[..], &[&"--overwrite"]].concat()).0, 0);
        for part in ["1/2", "2/2"] {
            let (_, text) =
                run(&[&"pack", &other, &"--plan", &plan, &"--part", &part, &"--on-error", &"skip"]);
            assert!(!text.contains("error"), "{text}");
        }
        let (code, text) = run(&[&"merge", &other]);
        assert!(code == 1 && text.contains("6 samples in 3 shards"), "{text}");
        fs::remove_file(other.join(".fdconvert/plan.fdplan")).unwrap();
        // For samples of a mixed set, the reasons show whether they were known to be bad before.
        let made = tree(&other);
        assert!(made.keys().eq(whole.keys()) && (format == "mixed" || made == whole), "{format}");
        fs::remove_dir_all(&other).unwrap();
        let (code, text) = run(&[&"verify", &out, &"--deep"]);
        assert!(code == 0 && text.contains("6 samples"), "{text}");
        let (code, text) = run(&[&"unpack", &out, &other]);
        assert_eq!(code, 0, "{text}");
        fs::remove_dir_all(&other).unwrap();
    }
}

#[test]
fn what_was_there_before_does_not_stay_in_the_place_of_an_empty_shard() {
    let root = tempfile::tempdir().unwrap();
    let source = source(root.path());
    let sound = root.path().join("sound");
    fs::create_dir_all(sound.join("a")).unwrap();
    for number in 0..8 {
        let image = fixtures::png(20, 16, number);
        fs::write(sound.join(format!("a/{number}.png")), &image.bytes).unwrap();
    }
    for (format, options, empty) in SHARDED {
        let out = root.path().join(format);
        let pack = |source: &PathBuf, out: &PathBuf, more: &[&str]| {
            let rest = ["--format", format, "--shard-count", "2", "--on-error", "skip"];
            let rest = [&rest[..], options, more].concat();
            let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", source, out];
            args.extend(rest.iter().map(|word| word as &dyn AsRef<OsStr>));
            run(&args)
        };
        assert_eq!(pack(&sound, &out, &[]).0, 0);
        let (code, text) = pack(&source, &out, &["--overwrite"]);
        assert_eq!(code, 1, "{text}");
        assert!(!out.join(empty).exists());
        let fresh = root.path().join("fresh");
        assert_eq!(pack(&source, &fresh, &[]).0, 1);
        assert!(tree(&out) == tree(&fresh), "{format}");
        fs::remove_dir_all(&fresh).unwrap();
    }
}

#[test]
fn an_output_without_a_sample_is_left_out_of_several_and_alone_it_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("source");
    for (split, bytes) in [("train", Some(())), ("val", None)] {
        let folder = source.join(split).join("a");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..3 {
            let image = fixtures::png(20, 16, number);
            let bytes: &[u8] = if bytes.is_some() { &image.bytes } else { &[] };
            fs::write(folder.join(format!("{number}.png")), bytes).unwrap();
        }
    }
    for (format, name) in [
        ("beton", "x.beton"),
        ("parquet", "x.parquet"),
        ("folder", "x"),
        ("wds", "y"),
        ("mds", "z"),
    ] {
        let folder = root.path().join(format);
        fs::create_dir(&folder).unwrap();
        let out = folder.join(name);
        let pack = |source: &PathBuf| {
            run(&[&"pack", source, &out, &"--format", &format, &"--on-error", &"skip"])
        };
        let (code, text) = pack(&source);
        assert!(code == 1 && text.contains("3 bad samples"), "{format}: {text}");
        let whole = tree(&folder);
        let (code, text) = pack(&source);
        assert!(code == 1 && tree(&folder) == whole, "{format}: {text}");
        assert!(
            whole.keys().all(|name| !String::from_utf8_lossy(name).contains("val.")),
            "{format}"
        );
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        let (code, text) = pack(&source.join("val"));
        assert!(code == 2 && text.contains("sample"), "{format}: {text}");
    }
}
