//! Every broken or unusual file gives the expected result: an error that names it, or an image.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::common::{self, expect, ok};
use fdconvert_testkit::{fixtures, needs_shared};
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
    // Not broken, but a beton cannot hold it as it is.
    "cmyk.jpg",
];

/// Packs the folder and returns the number of stored samples and the reasons of skipped ones.
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

/// Packs a folder with all of [`BROKEN`], and sound files.
fn check_bad(bad: &Path) {
    let names = fs::read_dir(bad).unwrap().map(|entry| entry.unwrap().path());
    let total = names.filter(|path| path.extension().is_none_or(|it| it != "md")).count() as u64;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bad.beton");

    for options in [&["--threads", "1"][..], &["--threads", "2"]] {
        let (stored, skipped) = pack(bad, &out, options);
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

    // Re-encoding converts CMYK; only the broken ones remain.
    let (stored, skipped) = pack(bad, &out, &["--encode", "jpeg"]);
    assert!(!skipped.contains_key("cmyk.jpg"));
    assert_eq!(stored, total - BROKEN.len() as u64 + 1);
    ok(&[&"verify", &out, &"--deep"]);

    let (_, skipped) = pack(bad, &out, &["--strict"]);
    assert!(skipped.contains_key("truncated_last2.jpg"));
}

#[test]
fn bad_files_are_named_with_their_cause_and_good_ones_pass() {
    check_bad(&fixtures::fixture("bad"));
}

needs_shared! {
    fn bad_originals_are_named_with_their_cause() {
        check_bad(&fixtures::shared().join("data/bad"));
    }
}

#[test]
fn without_skip_the_first_bad_file_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in ["gray.jpg", "truncated_half.jpg", "zero_height.jpg"] {
        fs::copy(fixtures::fixture("bad").join(name), source.join(name)).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.beton");
    // Here the kernel enforces a limit of 1 GiB of address space for data.
    let script =
        r#"ulimit -v 1048576; exec "$0" pack "$1" "$2" --on-error skip --encode jpeg --threads 2"#;
    let output = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_fdconvert")])
        .args([&fixtures::fixture("bad"), &out])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", common::text(&output.stderr));
}

/// Sound images of an unsupported kind stay and are counted if their bytes stay; if they would have
/// to be decoded they are bad samples, and the error suggests a cure.
#[test]
fn kinds_of_images_that_are_not_decoded_are_counted_where_they_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("bands.tif"), fixtures::channels_tiff()).unwrap();
    fs::write(source.join("good.jpg"), fixtures::JPEG_420).unwrap();
    let out = folder.path().join("out");
    let said = ok(&[&"pack", &source, &out, &"--format", &"wds"]);
    let cure =
        "TIFF with integers of 32 bits is not supported; rewrite it with u8, u16, i16 or f32";
    assert!(said.contains("1 cannot be decoded by fdconvert"), "{said}");
    assert!(said.contains(&format!("bands.tif: {cure}")), "{said}");
    ok(&[&"verify", &out]);
    let verify = common::run(&[&"verify", &out, &"--deep"]);
    let said = common::text(&verify.stdout) + &common::text(&verify.stderr);
    assert_eq!(verify.status.code(), Some(1), "{said}");
    assert!(said.contains("not decoded: sample 0 (`bands") && said.contains(cure), "{said}");
    assert!(!said.contains("damaged"), "{said}");
    let verified = common::run(&[&"verify", &out, &"--deep", &"--json"]);
    let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified["problems"][0]["damage"], false, "{verified}");
    let refused = common::fails(&[
        &"pack",
        &source,
        &folder.path().join("strict"),
        &"--format",
        &"wds",
        &"--strict",
    ]);
    assert!(refused.contains("which `strict` does not let pass") && refused.contains(cure));
    for options in [&["--encode", "jpeg"][..], &["--format", "wds", "--check", "pixels"]] {
        let (stored, skipped) = pack(&source, &folder.path().join("x.beton"), options);
        assert_eq!((stored, skipped.len()), (1, 1));
        assert!(skipped["bands.tif"].contains(cure), "{skipped:?}");
        fs::remove_file(folder.path().join("x.beton"))
            .or_else(|_| fs::remove_dir_all(folder.path().join("x.beton")))
            .unwrap();
    }
}

/// The source has an image that cannot be decoded, which would be the error of a run that begins.
#[test]
fn what_the_format_cannot_hold_is_refused_before_anything_is_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("cut.jpg"), &fixtures::JPEG_420[..fixtures::JPEG_420.len() / 2]).unwrap();
    let out = folder.path().join("out");
    for format in ["wds", "mds", "folder"] {
        for on_error in ["skip", "fail"] {
            let how: [&dyn AsRef<std::ffi::OsStr>; 9] = [
                &"pack",
                &source,
                &out,
                &"--format",
                &format,
                &"--encode",
                &"raw",
                &"--on-error",
                &on_error,
            ];
            let message = common::fails(&how);
            assert!(message.contains("--encode") && message.contains("raw"), "{message}");
        }
    }
}

/// 2,048 x 1,024 RGB pixels are 6 MiB.
#[test]
fn a_page_that_is_too_small_is_refused_before_packing() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("a.jpg"), fixtures::JPEG_420).unwrap();
    fs::write(source.join("z.bmp"), &fixtures::bmp(2048, 1024, 1).bytes).unwrap();
    let out = folder.path().join("x.beton");
    let pack = |page: &'static str, encode: &'static str| {
        let args: [&dyn AsRef<std::ffi::OsStr>; 7] =
            [&"pack", &source, &out, &"--page-size", &page, &"--encode", &encode];
        common::run(&args)
    };
    for encode in ["raw", "mix:0"] {
        let output = pack("2MiB", encode);
        let message = common::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("z.bmp") && message.contains("--page-size 8MiB"), "{message}");
        assert_eq!(common::names(folder.path()), ["source"]);
    }
    assert!(pack("8MiB", "mix:0").status.success());
}

/// Most of the scans are missing; an end marker makes such a file valid.
#[test]
fn a_progressive_photo_cut_between_scans_is_named_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let whole: &[u8] =
        include_bytes!("../../crates/codec/tests/fixtures/arithmetic-progressive.jpg");
    let third = whole.windows(2).enumerate().filter(|(_, pair)| pair == b"\xff\xda").nth(2);
    let cut = &whole[..third.unwrap().0];
    fs::write(source.join("cut.jpg"), cut).unwrap();
    fs::write(source.join("closed.jpg"), [cut, b"\xff\xd9"].concat()).unwrap();
    fs::write(source.join("whole.jpg"), whole).unwrap();
    let (stored, skipped) = pack(&source, &folder.path().join("x.beton"), &[]);
    assert_eq!(stored, 2);
    assert!(skipped["cut.jpg"].contains("coefficients"), "{skipped:?}");
    let (stored, skipped) = pack(&source, &folder.path().join("x.beton"), &["--strict"]);
    assert_eq!((stored, skipped.len()), (1, 2));
    assert!(skipped["closed.jpg"].contains("`strict`"), "{skipped:?}");
}
