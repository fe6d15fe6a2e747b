//! The same command repeated, after it was finished completely or in part.
#![allow(clippy::unwrap_used)]

use crate::common::{fdconvert, ok};
use fdconvert_testkit::compare::tree;
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Formats with their required options.
const FORMATS: [(&str, &str, &[&str]); 9] = [
    ("beton", "x.beton", &[]),
    ("beton", "x.beton", &["--jpeg-index", "off"]),
    ("beton", "x.beton", &["--compat", "ffcv", "--encode", "jpeg"]),
    ("parquet", "x.parquet", &["--sidecars", "croissant"]),
    ("folder", "x", &[]),
    ("folder", "x", &["--shuffle"]),
    ("wds", "x", &["--shard-count", "2"]),
    ("mds", "x", &["--shard-count", "2"]),
    ("mixed", "x", &["--ratio", "0.5"]),
];

const SPLIT: [&str; 2] = ["--split", "train=0.5,val=0.5"];

fn source(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    ok(&[&"sample", &photos]);
    photos
}

/// Returns the exit status and all output.
fn pack(source: &Path, out: &Path, format: &str, options: &[&str]) -> (i32, String) {
    let mut command = fdconvert();
    command.arg("pack").args([source, out]).args(["--format", format]).args(options);
    let found = command.output().unwrap();
    let text = [found.stdout, found.stderr].concat();
    (found.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn a_command_given_again_changes_nothing_and_another_one_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    for (number, (format, name, options)) in FORMATS.into_iter().enumerate() {
        for split in [&[][..], &SPLIT] {
            let folder = root.path().join(format!("{number}-{}", split.len()));
            fs::create_dir(&folder).unwrap();
            let out = folder.join(name);
            let options = [options, split].concat();
            let (code, text) = pack(&photos, &out, format, &options);
            assert_eq!(code, 0, "{text}");
            let whole = tree(&folder);
            let (code, text) = pack(&photos, &out, format, &options);
            assert_eq!(code, 0, "{options:?}: {text}");
            assert!(tree(&folder) == whole, "{options:?}");
            let is_compared = options.contains(&"ffcv");
            assert!(text.contains("already complete") || is_compared, "{options:?}: {text}");
            let other = [&options[..], &["--max-side", "64"]].concat();
            let (code, text) = pack(&photos, &out, format, &other);
            assert_eq!(code, 2, "{options:?}: {text}");
            assert!(tree(&folder) == whole, "{options:?}");
        }
    }
}

#[test]
fn a_run_of_several_outputs_continues_behind_those_that_are_finished() {
    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    for (number, (format, name, options)) in FORMATS.into_iter().take(6).enumerate() {
        let folder = root.path().join(number.to_string());
        fs::create_dir(&folder).unwrap();
        let out = folder.join(name);
        let options = [options, &SPLIT[..]].concat();
        assert_eq!(pack(&photos, &out, format, &options).0, 0);
        let whole = tree(&folder);
        // As a kill between the two leaves it.
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains("x-val") {
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
                removed.unwrap();
            }
        }
        let (code, text) = pack(&photos, &out, format, &options);
        assert_eq!(code, 0, "{options:?}: {text}");
        assert!(tree(&folder) == whole, "{options:?}");
    }
}

#[test]
fn a_finished_file_that_is_damaged_does_not_count() {
    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    for name in ["x.beton", "x.parquet"] {
        let out = root.path().join(name);
        let format = out.extension().unwrap().to_str().unwrap().to_owned();
        assert_eq!(pack(&photos, &out, &format, &[]).0, 0);
        let mut bytes = fs::read(&out).unwrap();
        let jpeg = bytes.windows(3).position(|window| window == [0xff, 0xd8, 0xff]).unwrap();
        bytes[jpeg + 200] ^= 1;
        fs::write(&out, &bytes).unwrap();
        let (code, text) = pack(&photos, &out, &format, &[]);
        assert!(code == 2 && text.contains("damaged") && text.contains("--overwrite"), "{text}");
        assert!(fs::read(&out).unwrap() == bytes);
        assert_eq!(pack(&photos, &out, &format, &["--overwrite"]).0, 0);
    }
}

#[test]
fn a_folder_with_other_files_is_not_the_one_that_was_written() {
    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    let out = root.path().join("x");
    assert_eq!(pack(&photos, &out, "folder", &[]).0, 0);
    let whole = tree(&out);
    let first = whole.keys().next().unwrap();
    let first = out.join(OsStr::from_bytes(first));
    let bytes = fs::read(&first).unwrap();
    let check = |why: &str| {
        let before = tree(&out);
        let (code, text) = pack(&photos, &out, "folder", &[]);
        assert!(code == 2 && text.contains(why), "{text}");
        assert!(tree(&out) == before);
    };
    fs::write(out.join("mine.txt"), "mine").unwrap();
    check("`mine.txt` is not of this run");
    fs::remove_file(out.join("mine.txt")).unwrap();
    fs::write(&first, &bytes[1..]).unwrap();
    check("is not what this run writes");
    fs::remove_file(&first).unwrap();
    check("is missing");
    fs::write(&first, &bytes).unwrap();
    assert_eq!(pack(&photos, &out, "folder", &[]).0, 0);
}

#[test]
fn devices_and_pipes_are_not_replaced() {
    use std::os::unix::fs::FileTypeExt;

    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    let recipe = PathBuf::from("fractal:svd?classes=2&instances=4&size=32");
    let pipe = root.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for format in ["beton", "parquet", "formula", "folder", "wds", "mds"] {
        let source = if format == "formula" { &recipe } else { &photos };
        for options in [&[][..], &["--overwrite"]] {
            let (code, text) = pack(source, &pipe, format, options);
            assert!(code == 2 && text.contains("is a pipe, which is not replaced"), "{text}");
            assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{format}");
        }
    }
    // A link is replaced as before, and its target stays.
    let link = root.path().join("x.beton");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    assert_eq!(pack(&photos, &link, "beton", &["--overwrite"]).0, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

/// Before anything is packed, which may take hours.
#[test]
fn a_folder_is_no_name_for_a_file_nor_a_file_one_for_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let photos = source(root.path());
    let (folder, file) = (root.path().join("folder"), root.path().join("file"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("kept"), "kept").unwrap();
    fs::write(&file, "kept").unwrap();
    for format in ["beton", "parquet", "wds", "mds"] {
        let (out, expected) = match format {
            "beton" => (&folder, "is a folder, and a"),
            _ => (&file, "is a file, and"),
        };
        for options in [&[][..], &["--overwrite"]] {
            let (code, text) = pack(&photos, out, format, options);
            assert!(code == 2 && text.contains(expected), "{format}: {text}");
        }
        // Files of splits have separate names.
        if format == "beton" {
            let split = ["--split", "train=0.5,val=0.5"];
            let (code, text) = pack(&photos, out, format, &split);
            assert!(code == 0 && root.path().join("folder-train").is_file(), "{text}");
        }
    }
    assert_eq!(fs::read_to_string(folder.join("kept")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}
