//! Datasets of every format and of most options, byte for byte: a code change that must not affect
//! the output changes none of these hashes.
//!
//! `tests/fixtures/datasets.txt` has a line for each dataset: its hash, then its arguments.
//! `FDCONVERT_BIN=PATH` compares another build; `FDCONVERT_UPDATE=1 cargo test --workspace --test
//! command datasets::` writes an intended change into the list.
#![cfg(feature = "turbo")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use xxhash_rust::xxh3::Xxh3;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/datasets.txt");

/// Packs one line: arguments of the command, in the folder of all sources.
fn pack(folder: &Path, args: &[&str]) {
    let command =
        env::var_os("FDCONVERT_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_fdconvert").into());
    let output = Command::new(command).args(args).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "fdconvert {}: {said}", args.join(" "));
}

/// Writes the sources: photos in class folders, the same as shards, and a table.
fn sources(folder: &Path) {
    pack(folder, &["sample", "photos"]);
    let mut table = "path,label,weight,caption\n".to_owned();
    for (n, path) in files(&folder.join("photos")).into_keys().enumerate() {
        if path.extension().is_some_and(|extension| extension != "txt") {
            table += &format!("{},{},{}.5,number {n}\n", path.display(), n % 3, n);
        }
    }
    fs::write(folder.join("table.csv"), table).unwrap();
    fs::create_dir(folder.join("splits")).unwrap();
    for split in ["train", "val"] {
        let from = folder.join("photos");
        for (path, bytes) in files(&from) {
            let to = folder.join("splits").join(split).join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, bytes).unwrap();
        }
    }
    let plain = ["--shards", "3", "--jpeg-index", "off", "--quiet"];
    pack(folder, &[&["pack", "photos", "photos.wds"], &plain[..]].concat());
    pack(folder, &["pack", "photos", "photos.mds", "--shards", "2", "--quiet"]);
}

/// Returns the files below a folder by relative path, or one file by its name.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Returns the hash of all names and bytes in the output of a line.
fn hash(out: &Path) -> String {
    let mut hash = Xxh3::new();
    for (name, bytes) in files(out) {
        hash.update(name.to_str().unwrap().as_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    format!("{:032x}", hash.digest128())
}

#[test]
fn datasets_have_the_bytes_of_before() {
    let folder = tempfile::tempdir().unwrap();
    sources(folder.path());
    let list = fs::read_to_string(LIST).unwrap();
    let (mut found, mut wrong) = (String::new(), Vec::new());
    for line in list.lines() {
        let Some((known, args)) = line.split_once("  ") else {
            found.push_str(&format!("{line}\n"));
            continue;
        };
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let mut words: Vec<&str> = args.split_whitespace().collect();
        words.insert(0, "pack");
        words.push("--quiet");
        pack(folder.path(), &words);
        let now = hash(&out);
        if now != known {
            wrong.push(format!("{now} and not {known}: {args}"));
        }
        found.push_str(&format!("{now}  {args}\n"));
        fs::remove_dir_all(&out).unwrap();
    }
    if env::var_os("FDCONVERT_UPDATE").is_some() {
        fs::write(LIST, found).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} datasets differ:\n{}", wrong.len(), wrong.join("\n"));
}
