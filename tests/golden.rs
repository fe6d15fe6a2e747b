//! Files of fdconvert against files of FFCV 1.0.2: byte for byte, for any number of threads.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod common;

use common::{ok, sha256_file};
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

/// Packs with 1, 2 and 4 threads and compares with FFCV's file.
fn check(source: &Path, labels: Option<&Path>, options: &[&str], sha256: &str) {
    let folder = tempfile::tempdir().unwrap();
    for threads in ["1", "2", "4"] {
        let out = folder.path().join(format!("{threads}.beton"));
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        let rest = ["--compat", "ffcv", "--page-size", "2MiB", "--threads", threads];
        args.extend(rest.iter().chain(options).map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        if let Some(labels) = &labels {
            args.push(&"--labels");
            args.push(labels);
        }
        ok(&args);
        assert_eq!(sha256_file(&out), sha256, "{options:?} with {threads} threads");
    }
}

fn kodak(options: &[&str], sha256: &str) {
    let folder = tempfile::tempdir().unwrap();
    // FFCV's file was made with the index of each file as its label.
    let labels = folder.path().join("labels.csv");
    let mut table = "path,label\n".to_owned();
    for (n, path) in common::sorted(&fixtures::kodak()).iter().enumerate() {
        table += &format!("{},{n}\n", path.file_name().unwrap().to_str().unwrap());
    }
    fs::write(&labels, table).unwrap();
    check(&fixtures::kodak(), Some(&labels), options, sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn kodak_jpg_q90_r256() {
    let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
    kodak(&options, "a84030c471c507faf47710217af41af3e2f20b2873c21f6774575ff4df5999e2");
}

// No JPEG is involved, so this holds for the build in Rust alone too.
#[test]
fn kodak_raw_r64() {
    let options = ["--encode", "raw", "--max-side", "64"];
    kodak(&options, "c7c77ab5c2042e607e185c9aa6e1a850cbaf8adf15545aab4c6dd41e058a623e");
}

/// The sources of one of FFCV's files in class folders, and the sha256 of that file.
#[cfg(feature = "turbo")]
fn imagenet(name: &str) -> Option<(tempfile::TempDir, String)> {
    let shared = fixtures::shared()?;
    let manifest = fs::read(shared.join("data/golden-beton/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entry = &manifest[name];
    let folder = tempfile::tempdir().unwrap();
    for sample in entry["samples"].as_array().unwrap() {
        let file = sample["image"]["source"].as_str().unwrap();
        let class = file.split('_').next().unwrap();
        fs::create_dir_all(folder.path().join(class)).unwrap();
        let from = shared.join("data/images").join(class).join(file);
        fs::copy(from, folder.path().join(class).join(file)).unwrap();
    }
    Some((folder, entry["file_sha256"].as_str().unwrap().to_owned()))
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_jpg_q90_r256() {
    let Some((folder, sha256)) = imagenet("jpg_q90_r256.beton") else { return };
    assert!(sha256.starts_with("acff8d24b193e1c9"));
    let options = ["--encode", "jpeg", "--jpeg-quality", "90", "--max-side", "256"];
    check(folder.path(), None, &options, &sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_jpg_q90_noresize() {
    let Some((folder, sha256)) = imagenet("jpg_q90_noresize.beton") else { return };
    check(folder.path(), None, &["--encode", "jpeg", "--jpeg-quality", "90"], &sha256);
}

#[test]
#[cfg(feature = "turbo")]
fn imagenet_smart_none_r128_is_raw() {
    let Some((folder, sha256)) = imagenet("smart_none_r128.beton") else { return };
    assert!(sha256.starts_with("4b8e0944"));
    check(folder.path(), None, &["--encode", "raw", "--max-side", "128"], &sha256);
}

/// What FFCV would not have written must not be asked for in its name.
#[test]
fn compat_refuses_what_ffcv_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    for options in [
        vec![],
        vec!["--encode", "smart"],
        vec!["--encode", "jpeg", "--filter", "lanczos3"],
        vec!["--encode", "jpeg", "--short-side", "64"],
        vec!["--encode", "jpeg", "--subsampling", "444"],
        vec!["--encode", "jpeg", "--optimize-huffman"],
    ] {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack"];
        let kodak = fixtures::kodak();
        args.push(&kodak);
        args.push(&out);
        args.extend([&"--compat" as &dyn AsRef<_>, &"ffcv"]);
        args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let message = common::fails(&args);
        assert!(message.contains("--compat ffcv"), "{message}");
        assert!(!out.exists());
    }
}
