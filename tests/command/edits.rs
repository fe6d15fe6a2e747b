//! Datasets that change, by the command: on disk and in stores.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking, and record")]

use crate::common::{self, fdconvert, text};
use fdconvert_testkit::server::{Fault, Faults, Server};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

fn run(server: Option<&Server>, args: &[&dyn AsRef<OsStr>]) -> Output {
    let args = args.iter().map(|arg| arg.as_ref());
    let mut command = fdconvert();
    command.args(args);
    if let Some(server) = server {
        command.envs(server.variables());
    }
    command.output().unwrap()
}

fn ok(server: Option<&Server>, args: &[&dyn AsRef<OsStr>]) -> String {
    let output = run(server, args);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Two folders of photos, a list of keys and a table of labels.
struct Inputs {
    root: tempfile::TempDir,
    keys: PathBuf,
    labels: PathBuf,
}

impl Inputs {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let photos = root.path().join("photos");
        common::ok(&[&"sample", &photos]);
        let more = root.path().join("more");
        for class in ["building", "closeup", "scene"] {
            fs::create_dir_all(more.join(class)).unwrap();
            let file = fs::read_dir(photos.join(class)).unwrap().next().unwrap().unwrap();
            fs::copy(file.path(), more.join(class).join("more.jpg")).unwrap();
        }
        let (keys, labels) = (root.path().join("keys.txt"), root.path().join("labels.csv"));
        fs::write(&keys, "building/kodak-01.jpg\nscene/kodak-05.jpg\n").unwrap();
        fs::write(&labels, "path,label\ncloseup/kodak-03.jpg,scene\n").unwrap();
        Self { root, keys, labels }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Packs the photos, and edits the dataset three times.
    fn edit(&self, server: Option<&Server>, out: &Path, format: &str) {
        let mut pack: Vec<&dyn AsRef<OsStr>> = vec![&"pack"];
        let photos = self.path("photos");
        pack.extend([&photos as &dyn AsRef<OsStr>, &out, &"--format", &format]);
        pack.extend([&"--shard-count" as &dyn AsRef<OsStr>, &"5"]);
        if format == "mixed" {
            pack.extend([&"--ratio" as &dyn AsRef<OsStr>, &"0.5"]);
        }
        ok(server, &pack);
        let edits: [&[&dyn AsRef<OsStr>]; 3] = [
            &[&"append", &out, &self.path("more")],
            &[&"remove", &out, &"--keys", &self.keys],
            &[&"update", &out, &"--labels", &self.labels],
        ];
        for edit in edits {
            ok(server, &[edit, &[&"--keep-versions" as &dyn AsRef<OsStr>, &"2"]].concat());
        }
    }
}

/// Pairs of a file and its bytes, but for the log.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let tree = fdconvert_testkit::compare::tree(folder);
    let path = |path: Vec<u8>| String::from_utf8(path).unwrap();
    let tree = tree.into_iter().map(|(name, bytes)| (path(name), bytes));
    // A folder of the server may stay when its last object is gone.
    tree.filter(|(path, _)| !path.ends_with("log.json") && !path.ends_with('/')).collect()
}

#[test]
fn edits_in_a_bucket_leave_the_objects_that_edits_of_files_leave() {
    let inputs = Inputs::new();
    let stores = inputs.path("stores");
    fs::create_dir_all(stores.join("bucket")).unwrap();
    let server = Server::start(&stores);
    for format in ["wds", "mds", "mixed", "parquet"] {
        let local = inputs.path(&format!("set.{format}"));
        let url = PathBuf::from(format!("s3://bucket/set.{format}"));
        inputs.edit(None, &local, format);
        inputs.edit(Some(&server), &url, format);
        assert_eq!(tree(&local), tree(&stores.join(format!("bucket/set.{format}"))), "{format}");
        for version in ["", "@3"] {
            let url = format!("{}{version}", url.display());
            ok(Some(&server), &[&"verify", &url, &"--deep"]);
            let local = format!("{}{version}", local.display());
            ok(Some(&server), &[&"diff", &local, &url]);
        }
        let log: Value =
            serde_json::from_str(&ok(Some(&server), &[&"log", &url, &"--json"])).unwrap();
        let samples: Vec<u64> = log["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["samples"].as_u64().unwrap())
            .collect();
        assert_eq!(samples, [12, 15, 13, 13]);
        assert_eq!(log["open"], serde_json::json!([3, 4]));
    }
}

#[test]
fn appending_to_a_bucket_takes_a_bounded_number_of_requests() {
    let inputs = Inputs::new();
    let stores = inputs.path("stores");
    fs::create_dir_all(stores.join("bucket")).unwrap();
    let server = Server::start(&stores);
    let url = "s3://bucket/set.wds";
    let photos = inputs.path("photos");
    let mut counts = Vec::new();
    for n in ["1", "12"] {
        ok(Some(&server), &[&"pack", &photos, &url, &"--shards", &n, &"--overwrite"]);
        let before = server.served().requests;
        ok(Some(&server), &[&"append", &url, &inputs.path("more")]);
        counts.push(server.served().requests - before);
        for (path, n) in server.by_path() {
            println!("{n:3} {path}");
        }
        fs::remove_dir_all(stores.join("bucket/set.wds")).unwrap();
    }
    println!("requests of an append: {counts:?}");
    // Not one more for each shard that is there.
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn faults_of_a_store_leave_the_version_before_or_the_one_after() {
    let inputs = Inputs::new();
    let stores = inputs.path("stores");
    let bucket = stores.join("bucket");
    fs::create_dir_all(&bucket).unwrap();
    let local = inputs.path("set.wds");
    inputs.edit(None, &local, "wds");
    let photos = inputs.path("photos");
    for seed in 0..8 {
        let shares = vec![
            (0.05, Fault::Reset),
            (0.05, Fault::Lost),
            (0.05, Fault::Status(503)),
            (0.03, Fault::Cut(0.9)),
        ];
        let sound = Server::start(&stores);
        let url = format!("s3://bucket/set-{seed}");
        let pack: [&dyn AsRef<OsStr>; 7] =
            [&"pack", &photos, &url, &"--format", &"wds", &"--shard-count", &"5"];
        ok(Some(&sound), &pack);
        let latency = Duration::ZERO;
        let server = Server::with_faults(&stores, Faults { seed, latency, shares });
        let edits: [&[&dyn AsRef<OsStr>]; 3] = [
            &[&"append", &url, &inputs.path("more")],
            &[&"remove", &url, &"--keys", &inputs.keys],
            &[&"update", &url, &"--labels", &inputs.labels],
        ];
        for edit in edits {
            let edit = [edit, &[&"--keep-versions" as &dyn AsRef<OsStr>, &"2"]].concat();
            // Most faults are repaired by another request.
            if !run(Some(&server), &edit).status.success() {
                ok(Some(&sound), &[&"verify", &url, &"--deep"]);
                ok(Some(&sound), &edit);
            }
        }
        ok(Some(&sound), &[&"diff", &local, &url]);
        assert_eq!(tree(&local), tree(&bucket.join(format!("set-{seed}"))), "seed {seed}");
    }
}

#[test]
fn the_log_and_what_is_said_are_read_by_people() {
    let inputs = Inputs::new();
    let (set, photos, more) = (inputs.path("set.wds"), inputs.path("photos"), inputs.path("more"));
    ok(None, &[&"pack", &photos, &set]);
    assert!(ok(None, &[&"log", &set]).contains("was never edited"));
    let said = ok(None, &[&"append", &set, &more, &"--keep-versions", &"2"]);
    assert!(said.contains("is version 2 now: 15 samples") && said.contains("3 samples"), "{said}");
    assert!(ok(None, &[&"append", &set, &more]).contains("nothing to do"));
    let said = ok(None, &[&"inspect", &set]);
    assert!(said.contains("dataset version") && said.contains('2'), "{said}");
    ok(None, &[&"remove", &set, &"--where", &"label == \"scene\""]);
    let said = ok(None, &[&"log", &set]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 5, "{said}");
    assert!(lines[1].starts_with('-') && lines[1].ends_with("pack"), "{said}");
    assert!(lines[3].contains("remove where label == \"scene\""), "{said}");
    assert!(ok(None, &[&"clean", &set]).contains("nothing to clean"));
}

/// Opened before two edits, the dataset is read to its end as it was: what they have replaced is
/// read where the kept versions have it.
#[test]
fn a_dataset_that_is_open_in_a_store_stays_as_it_was_opened() {
    let inputs = Inputs::new();
    let stores = inputs.path("stores");
    fs::create_dir_all(stores.join("bucket")).unwrap();
    let server = Server::start(&stores);
    let photos = inputs.path("photos");
    for format in ["wds", "mds", "mixed", "parquet"] {
        let url = format!("s3://bucket/set.{format}");
        let mut pack: Vec<&dyn AsRef<OsStr>> =
            vec![&"pack", &photos, &url, &"--shard-count", &"5", &"--format", &format];
        if format == "mixed" {
            pack.extend([&"--ratio" as &dyn AsRef<OsStr>, &"0.5"]);
        }
        ok(Some(&server), &pack);
        // This process reads the same objects as a web server's files.
        let opened = fdconvert::open(format!("{}/bucket/set.{format}", server.url())).unwrap();
        let expected = fdconvert::open(stores.join(format!("bucket/set.{format}"))).unwrap();
        let expected: Vec<_> = (0..12).map(|index| expected.get(index).unwrap()).collect();
        let read = |index: u64| opened.get(index).unwrap();
        // Of each shard one sample, so that the objects are known.
        for index in [0, 5, 10] {
            assert_eq!(read(index), expected[index as usize], "{format}");
        }
        for edit in [[&"--labels", &inputs.labels as &dyn AsRef<OsStr>], [&"--keys", &inputs.keys]]
        {
            let command = if edit[0].as_ref() == "--labels" { "update" } else { "remove" };
            let mut args: Vec<&dyn AsRef<OsStr>> = vec![&command, &url, &"--keep-versions", &"3"];
            args.extend(edit);
            ok(Some(&server), &args);
        }
        for index in 0..12 {
            assert_eq!(read(index), expected[index as usize], "{format} {index}");
        }
    }
}
