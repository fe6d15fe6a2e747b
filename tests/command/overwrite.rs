//! Runs that overwrite do not use finished shards of earlier versions of the files. The source's
//! list cannot distinguish files of the same length.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{self, fdconvert, text};
use fdconvert_testkit::{compare::tree, fixtures};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

struct Stage {
    root: tempfile::TempDir,
    format: &'static str,
}

impl Stage {
    /// Creates four images, two for each shard.
    fn new(format: &'static str) -> Self {
        let this = Self { root: tempfile::tempdir().unwrap(), format };
        (0..4).for_each(|number| this.image(number, number as u64));
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes an image with a size that gives all files the same length.
    fn image(&self, number: usize, seed: u64) {
        self.file(number, &fixtures::png(40, 30, seed).bytes);
    }

    /// Writes a file of the same length that is not an image.
    fn spoil(&self, number: usize) {
        self.file(number, &vec![0; fixtures::png(40, 30, 0).bytes.len()]);
    }

    /// Writes a file with an old modification time, which `touch` changes.
    fn file(&self, number: usize, bytes: &[u8]) {
        let path = self.path("source").join(["a", "b"][number / 2]).join(format!("{number}.png"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        self.touch(number, 0);
    }

    fn touch(&self, number: usize, seconds: u64) {
        let path = self.path("source").join(["a", "b"][number / 2]).join(format!("{number}.png"));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + seconds);
        fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    }

    fn pack(&self, out: &Path, more: &[&str]) -> (i32, String) {
        let mut command = fdconvert();
        command.arg("pack").args([&self.path("source"), out]);
        command.args(["--shard-count", "2", "--threads", "1", "--format", self.format]).args(more);
        let output = command.output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code().unwrap(), said)
    }

    /// Checks that the output equals that in an empty folder.
    fn is_as_new(&self) {
        let new = self.path("new");
        assert_eq!(self.pack(&new, &[]).0, 0);
        let (found, expected) = (tree(&self.path("out")), tree(&new));
        assert!(found == expected, "{}: {:?}", self.format, common::names(&self.path("out")));
        fs::remove_dir_all(new).unwrap();
    }
}

const FORMATS: [&str; 3] = ["wds", "mds", "mixed"];

#[test]
fn a_complete_dataset_is_written_again() {
    for format in FORMATS {
        let stage = Stage::new(format);
        let out = stage.path("out");
        assert_eq!(stage.pack(&out, &[]).0, 0);
        (0..4).for_each(|number| stage.image(number, 10 + number as u64));
        let (code, said) = stage.pack(&out, &["--overwrite"]);
        assert!(code == 0 && !said.contains("resumed"), "{format}: {said}");
        stage.is_as_new();
    }
}

#[test]
fn finished_shards_of_files_as_they_were_do_not_count() {
    for format in FORMATS {
        let stage = Stage::new(format);
        let out = stage.path("out");
        // The first shard can be finished, the last cannot.
        stage.spoil(3);
        assert_eq!(stage.pack(&out, &[]).0, 2);
        for seed in [20, 30] {
            (0..4).for_each(|number| stage.image(number, seed + number as u64));
            stage.touch(0, seed);
            let (code, said) = stage.pack(&out, &[]);
            assert!(code == 2 && said.contains("were written to since"), "{format}: {said}");
            // In the first round this run also ends in the middle.
            if seed == 20 {
                stage.spoil(2);
                assert_eq!(stage.pack(&out, &["--overwrite"]).0, 2);
            }
        }
        let (code, said) = stage.pack(&out, &["--overwrite"]);
        assert!(code == 0 && !said.contains("resumed"), "{format}: {said}");
        stage.is_as_new();
    }
}

#[test]
fn a_run_that_overwrites_is_resumed() {
    for format in FORMATS {
        let stage = Stage::new(format);
        let out = stage.path("out");
        assert_eq!(stage.pack(&out, &[]).0, 0);
        let whole = tree(&out);
        // Until a shard of the new dataset is finished, the old output stays.
        (0..4).for_each(|number| stage.image(number, 40 + number as u64));
        stage.spoil(0);
        assert_eq!(stage.pack(&out, &["--overwrite"]).0, 2);
        assert!(tree(&out) == whole, "{format}");
        // After the first shard is finished, the other one is no longer the old one.
        stage.image(0, 40);
        stage.spoil(3);
        assert_eq!(stage.pack(&out, &["--overwrite"]).0, 2);
        stage.image(3, 43);
        let (code, said) = stage.pack(&out, &["--overwrite"]);
        assert!(code == 0 && said.contains("resumed   2 samples"), "{format}: {said}");
        stage.is_as_new();
    }
}

#[test]
fn parts_that_overwrite_replace_all_of_it() {
    for format in FORMATS {
        let stage = Stage::new(format);
        let (out, plan) = (stage.path("out"), stage.path("plan"));
        assert_eq!(stage.pack(&out, &[]).0, 0);
        (0..4).for_each(|number| stage.image(number, 50 + number as u64));
        common::ok(&[
            &"plan",
            &stage.path("source"),
            &"-o",
            &plan,
            &"--shard-count",
            &"2",
            &"--format",
            &format,
        ]);
        common::ok(&[&"pack", &"--plan", &plan, &out, &"--part", &"2/2", &"--overwrite"]);
        common::fails(&[&"merge", &out]);
        common::ok(&[&"pack", &"--plan", &plan, &out, &"--part", &"1/2", &"--overwrite"]);
        common::ok(&[&"merge", &out]);
        fs::remove_file(out.join(".fdconvert/plan.fdplan")).unwrap();
        stage.is_as_new();
    }
}

#[test]
fn what_a_run_replaces_is_not_called_damaged() {
    for format in FORMATS {
        let stage = Stage::new(format);
        let out = stage.path("out");
        assert_eq!(stage.pack(&out, &[]).0, 0);
        let shards = tree(&out).into_iter().map(|(name, bytes)| (bytes.len(), name));
        let largest = out.join(text(&shards.max().unwrap().1));
        let cut = || {
            let file = fs::File::options().write(true).open(&largest).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        };
        // The first shard is replaced, the last cannot be.
        (0..4).for_each(|number| stage.image(number, 60 + number as u64));
        stage.spoil(3);
        assert_eq!(stage.pack(&out, &["--overwrite"]).0, 2);
        cut();
        let said = common::fails(&[&"verify", &out]);
        assert!(said.contains("is being written"), "{format}: {said}");
        assert!(!said.contains("damaged"), "{format}: {said}");
        stage.image(3, 63);
        assert_eq!(stage.pack(&out, &["--overwrite"]).0, 0);
        common::ok(&[&"verify", &out]);
        // Without a run, damage is damage.
        cut();
        assert!(common::expect(1, &[&"verify", &out]).contains("damaged"), "{format}");
    }
}
