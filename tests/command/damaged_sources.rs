//! Damaged datasets as sources: damage that their checksums detect does not reach another dataset.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{expect, fails, ok};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Arguments, and the suffix of the first file to damage.
const DATASETS: [(&[&str], &str); 4] = [
    (&["--format", "beton"], "set"),
    (&["--format", "wds"], ".tar"),
    (&["--format", "mds"], ".mds"),
    (&["--format", "mixed", "--ratio", "0"], ".tar"),
];

struct Stage(tempfile::TempDir);

impl Stage {
    fn new(options: &[&str]) -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        ok(&[&"sample", &stage.path("photos")]);
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack"];
        let (photos, set) = (stage.path("photos"), stage.path("set"));
        args.extend([&photos as &dyn AsRef<_>, &set]);
        args.extend(options.iter().map(|option| option as &dyn AsRef<_>));
        ok(&args);
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Flips a bit of the first file below the dataset with that suffix.
    fn flip(&self, name: &str, at: impl Fn(&[u8]) -> usize) {
        let file = first_file(&self.path("set"), name).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let at = at(&bytes);
        bytes[at] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
}

fn first_file(path: &Path, name: &str) -> Option<PathBuf> {
    if path.is_file() {
        return path.to_str().unwrap().ends_with(name).then(|| path.to_owned());
    }
    let mut below: Vec<_> = fs::read_dir(path).unwrap().map(|it| it.unwrap().path()).collect();
    below.sort();
    below.iter().find_map(|path| first_file(path, name))
}

/// Returns a place in the pixels of the first JPEG.
fn in_a_scan(bytes: &[u8]) -> usize {
    bytes.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 200
}

#[test]
fn a_damaged_image_is_not_copied_into_another_dataset() {
    for (options, file) in DATASETS {
        let stage = Stage::new(options);
        let set = stage.path("set");
        stage.flip(file, in_a_scan);
        // Copied, decoded and written as a separate file.
        for (to, more) in [("mds", ""), ("beton", "--jpeg-quality=50"), ("folder", "")] {
            let out = stage.path(&format!("out-{to}"));
            let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
                vec![&"pack", &set, &out, &"--format", &to];
            if !more.is_empty() {
                args.push(&more);
            }
            let said = fails(&args);
            assert!(said.contains("checksum"), "{options:?} to {to}: {said}");
            assert!(said.contains("kodak"), "{options:?} to {to}: {said}");
            args.extend([&"--on-error" as &dyn AsRef<_>, &"skip"]);
            let summary = expect(1, &args);
            assert!(summary.contains("11 of 12"), "{options:?} to {to}: {summary}");
            if to != "folder" {
                ok(&[&"verify", &"--deep", &out]);
            }
        }
        let said = fails(&[&"unpack", &set, &stage.path("files")]);
        assert!(said.contains("checksum"), "{said}");
    }
}

#[test]
fn an_index_whose_checksums_cannot_be_read_is_said() {
    let stage = Stage::new(&["--format", "wds"]);
    stage.flip(".fdx", |bytes| bytes.len() - 5);
    let (set, out) = (stage.path("set"), stage.path("out"));
    let said = fails(&[&"pack", &set, &out, &"--format", &"mds"]);
    assert!(said.contains("index"), "{said}");
    // Without it there is nothing to compare; an index made again from the tars is trusted.
    fs::rename(set.join("train-000000.fdx"), stage.path("aside")).unwrap();
    ok(&[&"pack", &set, &stage.path("bare"), &"--format", &"mds"]);
    fs::rename(stage.path("aside"), set.join("train-000000.fdx")).unwrap();
    ok(&[&"index", &set, &"--overwrite"]);
    ok(&[&"pack", &set, &out, &"--format", &"mds"]);
}
