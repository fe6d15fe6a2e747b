//! Datasets in the layouts that other people and tools publish: every label and box of what is
//! packed, the layout that was recognised, and what is refused or left out.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod boxes;
mod masks;
mod objects;
mod pixels;

use crate::common::{fails, run, text};
use fdconvert_core::{Encoded, Value};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// A packed source: what was said, its samples, and the number of samples in each split.
struct Packed {
    said: String,
    samples: Vec<(String, Vec<Value<Encoded>>)>,
    splits: Vec<(String, u64)>,
    classes: Vec<Option<Vec<String>>>,
    _folder: tempfile::TempDir,
    out: PathBuf,
}

/// Packs a source, and reads what was packed.
fn packed_with(source: &Path, args: &[&str]) -> Packed {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("o.wds");
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
    all.extend(args.iter().map(|arg| arg as &dyn AsRef<OsStr>));
    let output = run(&all);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let reader = fdconvert_reader::open(&out).unwrap();
    let samples = (0..reader.len()).map(|index| reader.get(index).unwrap());
    let samples = samples.map(|sample| (sample.key, sample.values)).collect();
    let splits = reader.splits().iter().map(|(name, it)| (name.clone(), it.end - it.start));
    let splits = splits.collect();
    let fields = reader.schema().fields.iter();
    let classes = fields.map(|field| field.class_names.as_ref().map(|it| it.to_vec())).collect();
    Packed { said, samples, splits, classes, _folder: folder, out }
}

fn packed(source: &Path) -> Packed {
    packed_with(source, &[])
}

/// Returns what is said when faulty samples are left out.
fn skipping(source: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("o.wds");
    let output = run(&[&"pack", &source, &out, &"--on-error", &"skip"]);
    assert_eq!(output.status.code(), Some(1));
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns what is said of a source that is refused.
fn refused(source: &Path, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("o.wds");
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
    all.extend(args.iter().map(|arg| arg as &dyn AsRef<OsStr>));
    fails(&all)
}

impl Packed {
    fn keys(&self) -> Vec<&str> {
        self.samples.iter().map(|(key, _)| key.as_str()).collect()
    }

    fn value(&self, key: &str, field: usize) -> &Value<Encoded> {
        let sample = self.samples.iter().find(|(own, _)| own == key);
        &sample.unwrap_or_else(|| panic!("no {key} in {:?}", self.keys())).1[field]
    }

    /// The document of a sample, which is its last field.
    fn objects(&self, key: &str) -> String {
        let last = self.samples.iter().find(|(own, _)| own == key).unwrap().1.len() - 1;
        match self.value(key, last) {
            Value::Json(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn ints(&self, field: usize) -> Vec<i64> {
        let int = |(_, values): &(String, Vec<Value<Encoded>>)| match values[field] {
            Value::Int(int) => int,
            ref other => panic!("{other:?}"),
        };
        self.samples.iter().map(int).collect()
    }

    fn splits(&self) -> Vec<(&str, u64)> {
        self.splits.iter().map(|(name, n)| (name.as_str(), *n)).collect()
    }

    /// Checks that all of this was said.
    fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.said.contains(part), "`{part}` is missing: {}", self.said);
        }
    }
}

/// Writes a text below a folder.
fn write(root: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
