//! Errors for impossible requests, and for the habits of users of other tools.
#![allow(clippy::unwrap_used)]

use crate::common::{self, fails, names, ok};
use fdconvert_testkit::fixtures;
use serde_json::Value;
use std::{ffi::OsStr, fs, path::Path};

fn photos(root: &Path) -> std::path::PathBuf {
    let photos = root.join("photos");
    ok(&[&"sample", &photos]);
    photos
}

#[test]
fn a_missing_folder_is_named_with_the_cure_before_any_work() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let inside = |name: &str| root.path().join("sub/dir").join(name);
    let (beton, shards, plan) = (inside("k.beton"), inside("k"), inside("k.fdplan"));
    let json = inside("k.json");
    let cases: [&[&dyn AsRef<OsStr>]; 7] = [
        &[&"pack", &photos, &beton],
        &[&"pack", &photos, &shards, &"--format", &"wds"],
        &[&"plan", &photos, &"-o", &plan, &"--format", &"wds"],
        &[&"unpack", &photos, &shards],
        &[&"sample", &shards],
        &[&"profile", &photos, &"-o", &json],
        &[&"bench", &photos, &"--plot", &json],
    ];
    for case in cases {
        let message = fails(case);
        assert!(message.contains("sub/dir, where k") && message.contains("mkdir -p"), "{message}");
    }
    let message = fails(&[&"pack", &photos, &photos.join("scene/kodak-05.jpg/x.beton")]);
    assert!(message.contains("kodak-05.jpg is a file"), "{message}");
    assert_eq!(names(root.path()), ["photos"]);
}

#[test]
fn a_file_is_not_called_like_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let beton = root.path().join("a.beton/");
    for args in [
        &[&"pack" as &dyn AsRef<OsStr>, &photos, &beton][..],
        &[&"pack", &"fractal:fractaldb", &root.path().join("a.formula/")],
    ] {
        let message = fails(args);
        assert!(message.contains("slash at its end"), "{message}");
    }
    assert_eq!(names(root.path()), ["photos"]);
    // A folder may end with a slash.
    ok(&[&"pack", &photos, &root.path().join("shards/"), &"--format", &"wds"]);
}

#[test]
fn a_selection_of_nothing_says_of_how_many() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let out = root.path().join("x.beton");
    let message = fails(&[&"pack", &photos, &out, &"--sample", &"1%"]);
    assert!(message.contains("--sample: a share of 0.01 of 12 samples is empty"), "{message}");
    let both: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &photos, &out, &"--sample", &"1%", &"--where", &"index < 2"];
    let message = fails(&both);
    assert!(
        message.contains("none of the 12 samples is left by `where` and `sample`"),
        "{message}"
    );
}

#[test]
fn modes_of_ffcv_that_are_not_reproduced_are_said_to_be_so() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let out = root.path().join("x.beton");
    let compat =
        |encode: &str| fails(&[&"pack", &photos, &out, &"--compat", &"ffcv", &"--encode", &encode]);
    for encode in ["mix:0.5", "smart"] {
        let message = compat(encode);
        let parts =
            ["`proportion` and `smart` are not reproduced", "--compat ffcv: ", "leave it out"];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    assert!(
        compat("keep")
            .contains("to encode as FFCV does: --encode jpeg; or to store pixels: --encode raw")
    );
    ok(&[&"pack", &photos, &out, &"--encode", &"mix:0.5"]);
}

#[test]
fn equal_names_of_joined_shards_are_told_with_a_format_that_holds_them() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let path = |name: &str| root.path().join(name);
    ok(&[&"pack", &photos, &path("a"), &"--format", &"wds"]);
    for format in ["wds", "mixed", "folder"] {
        let message = fails(&[&"pack", &path("a"), &path("a"), &path("b"), &"--format", &format]);
        assert!(message.contains("a beton or mds can hold both"), "{message}");
    }
    for format in ["mds", "beton"] {
        let out = path(&format!("x.{format}"));
        ok(&[&"pack", &path("a"), &path("a"), &out, &"--format", &format]);
        assert!(ok(&[&"verify", &out, &"--deep"]).contains("24 samples"));
    }
}

/// One pixel, black and then white.
const ANIMATED: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff\
                          ,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0\
                          ,\0\0\0\0\x01\0\x01\0\0\x02\x02L\x01\0;";

#[test]
fn frames_that_are_left_out_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir(path("gifs")).unwrap();
    fs::write(path("gifs/moving.gif"), ANIMATED).unwrap();
    fs::write(path("gifs/still.png"), fixtures::PNG_RGB).unwrap();
    let pack = |out: &str, more: &[&dyn AsRef<OsStr>]| {
        let (gifs, out) = (path("gifs"), path(out));
        let args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &gifs, &out];
        common::run(&[&args[..], more].concat())
    };
    let said = pack("x.beton", &[]);
    let text = common::text(&said.stdout);
    assert!(text.contains("1 animated: only the first frame of each is stored"), "{text}");
    let said = pack("y.beton", &[&"--json"]);
    let document: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(document["notes"]["first-frame"], 1);
    let said = pack("z.beton", &[&"--strict"]);
    let message = common::text(&said.stderr);
    assert!(message.contains("moving.gif") && message.contains("`strict`"), "{message}");
    // It keeps its frames byte for byte.
    let said = pack("kept", &[&"--format", &"wds", &"--strict"]);
    let text = common::text(&said.stdout);
    assert!(text.contains("2 of 2") && !text.contains("frame"), "{text}");
}

#[test]
fn an_empty_cell_among_numbers_is_named() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let table = root.path().join("t.csv");
    let text = "path,score\nscene/kodak-05.jpg,1\nscene/kodak-09.jpg,\n";
    fs::write(&table, text).unwrap();
    let out = root.path().join("x.beton");
    let message = fails(&[&"pack", &photos, &out, &"--labels", &table]);
    assert!(message.contains("t.csv: line 3, column `score`: the cell is empty"), "{message}");
    fs::write(&table, text.replace("jpg,\n", "jpg,nan\n")).unwrap();
    ok(&[&"pack", &photos, &out, &"--labels", &table]);
}

#[test]
fn names_of_other_tools_are_understood() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    for (alias, format) in
        [("ffcv", "beton"), ("webdataset", "wds"), ("streaming", "mds"), ("datasets", "parquet")]
    {
        let out = root.path().join(alias);
        let said = ok(&[&"pack", &photos, &out, &"--format", &alias, &"-j", &"1"]);
        assert!(said.contains(&format!("format    {format}")), "{said}");
        ok(&[&"verify", &out, &"--jobs", &"1"]);
        ok(&[&"verify", &out, &"--num-workers", &"1"]);
    }
    let resized = root.path().join("resized.beton");
    let (side, quality) = (["--max-resolution", "32"], ["--encode", "jpeg", "--quality", "80"]);
    let mut convert: Vec<&dyn AsRef<OsStr>> = vec![&"convert", &photos, &resized];
    convert.extend(side.iter().chain(&quality).map(|word| word as &dyn AsRef<OsStr>));
    ok(&convert);
    let record = ok(&[&"info", &resized]);
    assert!(record.contains("max-side    32") && record.contains("quality     80"), "{record}");
    for command in ["pack", "unpack", "verify", "bench", "profile"] {
        let help = ok(&[&command, &"--help"]);
        assert!(help.contains("--threads") && !help.contains("--jobs"), "{help}");
    }
}

#[test]
fn help_of_help_is_help() {
    let help = ok(&[&"help"]);
    assert_eq!(ok(&[&"help", &"-h"]), help);
    assert_eq!(ok(&[&"help", &"pack", &"--help"]), ok(&[&"help", &"pack"]));
    assert!(fails(&[&"help", &"nothing"]).contains("nothing"));
}

#[test]
fn manual_pages_name_the_arguments_and_explain_every_option() {
    let pack = ok(&[&"man", &"pack"]);
    let synopsis = pack.split_once(".SH SYNOPSIS\n").unwrap().1;
    let synopsis = synopsis.split_once("\n.SH DESCRIPTION").unwrap().0;
    let lines: Vec<&str> = synopsis.lines().collect();
    assert_eq!(
        lines,
        [
            r"fdconvert pack [OPTIONS] <SOURCE>... <OUT>",
            ".br",
            r"fdconvert pack \-\-plan PLAN [\-\-part I/N|auto] <OUT>"
        ]
    );
    assert!(ok(&[&"man", &"verify"]).contains("fdconvert verify [OPTIONS] <DATASET>\n"));
    // Including those that the short help omits.
    assert!(pack.contains("One more image for every sample"), "{pack}");
    assert!(!ok(&[&"man", &"gpu"]).contains(r"gpu\-help"));
}

#[test]
fn folders_are_not_blamed_for_having_no_checksums() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    assert!(!ok(&[&"verify", &photos]).contains("its samples have no checksums"));
    // Shards that could have indexes do not have any.
    let out = root.path().join("bare");
    ok(&[&"pack", &photos, &out, &"--format", &"wds", &"--sidecars", &"none"]);
    assert!(ok(&[&"verify", &out]).contains("its samples have no checksums"));
}

#[test]
fn a_source_that_cannot_be_looked_at_is_an_error_by_name_whatever_is_skipped() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    // No permission helps here, not even root's: the name of the link's target is too long.
    std::os::unix::fs::symlink("x".repeat(300), photos.join("scene/broken")).unwrap();
    let skip: [&dyn AsRef<OsStr>; 5] =
        [&"pack", &photos, &root.path().join("x.beton"), &"--on-error", &"skip"];
    let message = fails(&skip);
    assert!(message.contains("scene/broken"), "{message}");
    assert_eq!(names(root.path()), ["photos"]);
}
