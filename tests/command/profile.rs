//! `fdconvert profile`: it measures, reports, and leaves no files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::common::{self, fails, kodak_classes, names, ok, run, text};
use fdconvert_testkit::compare::tree;
use serde_json::Value;
use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::PathBuf};

type Args<'a> = Vec<&'a dyn AsRef<OsStr>>;

/// A quick profile of a slow disk.
#[allow(clippy::ptr_arg, reason = "a slice is not a trait object")]
fn quick<'a>(source: &'a PathBuf, target: &'a PathBuf) -> Args<'a> {
    vec![
        &"profile",
        source,
        &"--target",
        target,
        &"--threads",
        &"1",
        &"--samples",
        &"6",
        &"--runs",
        &"1",
        &"--seconds",
        &"0.2",
        &"--throttle-read",
        &"100MB/s",
    ]
}

#[test]
fn a_profile_says_what_it_rests_on_and_packs() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let target = root.path().join("target");
    fs::create_dir(&target).unwrap();
    let before = tree(&source);
    let (json, html) = (root.path().join("p.json"), root.path().join("p.html"));
    let mut args = quick(&source, &target);
    args.extend([&"--search" as &dyn AsRef<OsStr>, &"paper", &"--json"]);
    args.extend([&"--output" as &dyn AsRef<OsStr>, &json, &"--report", &html]);
    let rate = |report: &Value| report["read"]["bytes_per_s"].as_f64().unwrap();
    let measure = || {
        let _ = (fs::remove_file(&json), fs::remove_file(&html));
        let report: Value = serde_json::from_str(&ok(&args)).unwrap();
        // The bucket simulates the disk's rate.
        assert!(rate(&report) <= 105e6, "{}", rate(&report));
        report
    };
    // A busy machine may give a lower rate, but not each time.
    let report = (0..10).map(|_| measure()).find(|report| rate(report) >= 80e6).unwrap();
    assert_eq!(report["document"], "fdconvert-profile");
    assert_eq!(
        (&report["encoded"]["name"], &report["raw"]["name"]),
        (&"png".into(), &"bmp".into())
    );
    assert_eq!(report["tenths"].as_array().unwrap().len(), 11);
    let verified = report["verified"].as_array().unwrap();
    assert!(verified.len() >= 2 && verified[0]["share"] == 0.0);
    let share = report["solution"]["chosen"]["share"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share));

    // No files remain on the target, and the source is unchanged.
    assert!(names(&target).is_empty());
    assert!(tree(&source) == before);
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://") && !page.contains("<script"));

    // An existing file is not replaced by accident.
    let mut again = quick(&source, &target);
    again.extend([&"--output" as &dyn AsRef<OsStr>, &json]);
    assert!(fails(&again).contains("--overwrite"));

    let out = root.path().join("set");
    ok(&[&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &json]);
    let packed: Value = serde_json::from_str(&ok(&[&"inspect", &out, &"--json"])).unwrap();
    let n_bmp = packed["details"]["bmp"]["samples"].as_u64().unwrap_or(0);
    assert_eq!(n_bmp, (share * 12.0 + 0.5).floor() as u64, "{packed}");

    // By benefit, the number of images follows from the balance of the two.
    let mut fast = report.clone();
    fast["machine"]["read_bytes_per_s"] = 600e6.into();
    fast["encoded"]["cost"]["cpu_seconds_per_image"] = 3e-3.into();
    fast["raw"]["cost"]["cpu_seconds_per_image"] = 2e-4.into();
    fast["solution"]["chosen"]["share"] = 0.54.into();
    fs::write(&json, fast.to_string()).unwrap();
    let out = root.path().join("benefit");
    let args: Args<'_> =
        vec![&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &json, &"--by", &"benefit"];
    ok(&args);
    let packed: Value = serde_json::from_str(&ok(&[&"inspect", &out, &"--json"])).unwrap();
    let n_bmp = packed["details"]["bmp"]["samples"].as_u64().unwrap();
    assert!((4..=7).contains(&n_bmp), "{packed}");
    assert!(packed["provenance"]["params"]["ratio-balance"].is_string());

    // A profile of another pair than a mixture with BMP.
    let mut other = report.clone();
    other["raw"]["name"] = "jpeg".into();
    fs::write(&json, other.to_string()).unwrap();
    let out = root.path().join("other");
    let refused = fails(&[&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &json]);
    assert!(refused.contains("BMP"), "{refused}");
}

#[test]
fn auto_profiles_once_and_continues_with_what_it_found() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let out = root.path().join("set");
    let pack: Args<'_> = vec![&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &"auto"];
    let output = run(&pack);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("images/s predicted"), "{}", text(&output.stderr));
    let copy = out.join(".fdconvert/profile.json");
    let report: Value = serde_json::from_slice(&fs::read(&copy).unwrap()).unwrap();
    let share = report["solution"]["chosen"]["share"].as_f64().unwrap();
    let manifest: Value =
        serde_json::from_slice(&fs::read(out.join("fdconvert-mixed.json")).unwrap()).unwrap();
    assert_eq!(manifest["asked"].as_str().unwrap().parse::<f64>().unwrap(), share);
    // Repeated, as after a stop: the earlier result counts, although another run might get another
    // number.
    let mut other = report.clone();
    other["solution"]["chosen"]["share"] = 0.25.into();
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::write(&copy, other.to_string()).unwrap();
    let output = run(&pack);
    assert!(text(&output.stderr).contains("profiled before"), "{}", text(&output.stderr));
    let manifest: Value =
        serde_json::from_slice(&fs::read(out.join("fdconvert-mixed.json")).unwrap()).unwrap();
    assert_eq!(manifest["asked"], "0.25");
}

#[test]
fn targets_that_cannot_be_measured_are_named() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let missing = root.path().join("missing");
    assert!(fails(&quick(&source, &missing)).contains("missing"));
    let file = source.join("even");
    let file = common::sorted(&file).remove(0);
    assert!(fails(&quick(&source, &file)).contains("not a folder"));
    let one: Args<'_> = vec![&"profile", &source, &"--formats", &"png"];
    assert!(fails(&one).contains("two"));
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(fails(&quick(&empty, &root.path().to_path_buf())).contains("image"));
}

#[test]
fn memory_is_not_taken_for_a_disk() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if !mounts.contains(" /dev/shm ") {
        println!("skipped: there is no /dev/shm");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let target = tempfile::tempdir_in("/dev/shm").unwrap();
    let output = run(&quick(&source, &target.path().to_path_buf()));
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("memory, not of a disk"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("from memory"));
    assert!(names(target.path()).is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_is_read() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let target = root.path().join("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("large"), vec![7; 3 << 20]).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(target.join("probe"), b"").is_ok() {
        fs::remove_file(target.join("probe")).unwrap();
        println!("skipped: this user may write anywhere");
        return;
    }
    let output = run(&quick(&source, &target));
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("cannot be written"), "{said}");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn training_that_is_slow_needs_no_bmps() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let target = root.path().join("target");
    fs::create_dir(&target).unwrap();
    let mut args = quick(&source, &target);
    args.extend([&"--verify" as &dyn AsRef<OsStr>, &"off", &"--consumer-rate", &"0.5"]);
    let said = ok(&args);
    assert!(said.contains("takes 0.50 images/s at most"), "{said}");
    assert!(said.contains("no gain") && said.contains("training 100 %"), "{said}");
    args.push(&"--json");
    let report: Value = serde_json::from_str(&ok(&args)).unwrap();
    assert_eq!(report["machine"]["consumer_images_per_s"], 0.5);
    assert_eq!(report["solution"]["chosen"]["share"], 0.0);
    assert_eq!(report["solution"]["optimum"]["throughput"]["consumer"], 0.5);
}
