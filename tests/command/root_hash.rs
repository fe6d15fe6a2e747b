//! One hash of all contents of a dataset.
#![allow(clippy::unwrap_used)]

use crate::common::{fails, fdconvert, ok, text, tree};
use fdconvert_core::{Encoded, Reader, Sample, Value};
use serde_json::Value as Json;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_128;

fn root_hash(dataset: &Path) -> String {
    let found: Json =
        serde_json::from_str(&ok(&[&"inspect", &dataset, &"--hash", &"--json"])).unwrap();
    found["root_hash"].as_str().unwrap().to_owned()
}

/// Writes twelve small JPEGs in three classes, which every format stores unchanged.
fn photos(root: &Path) -> PathBuf {
    let source = root.join("photos");
    ok(&[&"sample", &source]);
    source
}

#[test]
fn the_same_samples_have_the_same_hash_in_every_format() {
    let root = tempfile::tempdir().unwrap();
    let source = photos(root.path());
    let expected = root_hash(&source);
    assert_eq!(expected.len(), 32);
    let path = |name: &str| root.path().join(name);
    for format in ["beton", "wds", "mds", "parquet", "mixed", "folder"] {
        let out = path(&format!("out.{format}"));
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out, &"--format", &format];
        if format == "mixed" {
            args.extend([&"--ratio" as &dyn AsRef<OsStr>, &"0"]);
        }
        ok(&args);
        assert_eq!(root_hash(&out), expected, "{format}");
    }
    // Other shards, a missing index and threads make no difference.
    ok(&[&"pack", &source, &path("shards.wds"), &"--shard-count", &"5"]);
    assert_eq!(root_hash(&path("shards.wds")), expected);
    for threads in ["1", "3"] {
        let output = fdconvert()
            .env("RAYON_NUM_THREADS", threads)
            .args(["inspect", "--hash"])
            .arg(path("out.beton"))
            .output()
            .unwrap();
        let said = text(&output.stdout);
        assert!(said.contains(&format!("  root hash         {expected}\n")), "{said}");
    }
    let unasked = ok(&[&"inspect", &path("out.beton")]);
    assert!(!unasked.contains("root hash"), "{unasked}");
}

#[test]
fn every_change_of_content_is_another_hash() {
    let root = tempfile::tempdir().unwrap();
    let source = photos(root.path());
    let path = |name: &str| root.path().join(name);
    let mut hashes = vec![root_hash(&source)];
    let mut packed = |name: &str, options: &[&str]| {
        let out = path(name);
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
        args.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        ok(&args);
        hashes.push(root_hash(&out));
    };
    packed("order.wds", &["--shuffle", "--seed", "3"]);
    packed("fewer.wds", &["--where", "index < 11"]);
    packed("bytes.wds", &["--encode", "bmp"]);
    packed("field.wds", &["--pair", &format!("mask={}", source.display())]);
    let change = |name: &str, change: &dyn Fn(&Path)| {
        let copy = path(name);
        ok(&[&"unpack", &path("order.wds"), &copy]);
        change(&copy);
        root_hash(&copy)
    };
    hashes.push(change("c", &|_| {}));
    assert_eq!(hashes.pop(), Some(hashes[0].clone()), "unpacked, the order is that of the names");
    hashes.push(change("key", &|copy| {
        fs::rename(copy.join("scene/kodak-13.jpg"), copy.join("scene/kodak-14.jpg")).unwrap();
    }));
    hashes.push(change("image", &|copy| {
        fs::copy(copy.join("scene/kodak-13.jpg"), copy.join("scene/kodak-11.jpg")).unwrap();
    }));
    // Labels of the same two samples, as numbers.
    for (name, label) in [("one", 1), ("two", 2)] {
        let (table, out) = (path("table.csv"), path(&format!("{name}.wds")));
        let rows = format!("scene/kodak-05.jpg,0\nscene/kodak-09.jpg,{label}\n");
        fs::write(&table, format!("path,label\n{rows}")).unwrap();
        ok(&[&"pack", &source, &out, &"--labels", &table]);
        hashes.push(root_hash(&out));
    }
    let n = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), n);
}

/// The hash as the guide defines it, computed at once; and its value, which no version may change.
#[test]
fn the_hash_is_the_one_that_is_defined() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("photos");
    tree(&source, &["a/1.png", "b/1.png", "b/2.png"]);
    let table = root.path().join("t.csv");
    fs::write(&table, "path,label,score,caption\nb/1.png,1,0.5,one\na/1.png,0,-2,zwölf\n").unwrap();
    let out = root.path().join("o.mds");
    ok(&[&"pack", &source, &out, &"--labels", &table]);
    let found = root_hash(&out);
    let reader = fdconvert_reader::open(&out).unwrap();
    assert_eq!(found, defined(&*reader));
    assert_eq!(found, "bd72b2413185dd6d28c0ee7999bf6b32");
    // With more samples than a node holds.
    let many = root.path().join("many.beton");
    let twice: Vec<&dyn AsRef<OsStr>> =
        vec![&source; 350].into_iter().map(|path| path as _).collect();
    let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack"];
    args.extend(twice);
    args.push(&many);
    ok(&args);
    let reader = fdconvert_reader::open(&many).unwrap();
    assert_eq!(reader.len(), 1050);
    assert_eq!(root_hash(&many), defined(&*reader));
}

fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

fn leaf(sample: &Sample<Encoded>, fields: &[usize]) -> [u8; 16] {
    let mut out = vec![0];
    sized(&mut out, sample.key.as_bytes());
    for at in fields {
        match &sample.values[*at] {
            Value::Image(image) => {
                sized(&mut out, image.codec.extension().as_bytes());
                out.extend(u64::from(image.width).to_le_bytes());
                out.extend(u64::from(image.height).to_le_bytes());
                sized(&mut out, &image.bytes);
            }
            Value::Int(int) => out.extend(int.to_le_bytes()),
            Value::Float(float) => out.extend(float.to_le_bytes()),
            Value::Text(text) => sized(&mut out, text.as_bytes()),
            other => unreachable!("{other:?}"),
        }
    }
    xxh3_128(&out).to_be_bytes()
}

fn defined(reader: &dyn Reader) -> String {
    let schema = reader.schema();
    let mut fields: Vec<usize> = (0..schema.fields.len()).collect();
    fields.sort_by_key(|at| &schema.fields[*at].name);
    let samples = (0..reader.len()).map(|index| reader.get(index).unwrap());
    let mut hashes: Vec<[u8; 16]> = samples.map(|sample| leaf(&sample, &fields)).collect();
    while hashes.len() > 1 {
        let node = |group: &[[u8; 16]]| xxh3_128(&[&[1], group.as_flattened()].concat());
        hashes = hashes.chunks(1024).map(|group| node(group).to_be_bytes()).collect();
    }
    let mut out = b"fdconvert root hash 1\n".to_vec();
    out.extend((fields.len() as u64).to_le_bytes());
    for at in fields {
        sized(&mut out, schema.fields[at].name.as_bytes());
        sized(&mut out, schema.fields[at].kind.name().as_bytes());
    }
    out.extend(reader.len().to_le_bytes());
    out.extend(hashes[0]);
    format!("{:032x}", xxh3_128(&out))
}

#[test]
fn a_damaged_sample_has_no_hash() {
    let root = tempfile::tempdir().unwrap();
    let source = photos(root.path());
    let out = root.path().join("o.beton");
    ok(&[&"pack", &source, &out]);
    let mut bytes = fs::read(&out).unwrap();
    let image = fs::read(source.join("scene/kodak-09.jpg")).unwrap();
    let at = bytes.windows(image.len()).position(|window| window == image).unwrap();
    bytes[at + image.len() / 2] ^= 1;
    fs::write(&out, bytes).unwrap();
    let said = fails(&[&"inspect", &out, &"--hash"]);
    assert!(said.contains("scene/kodak-09.jpg") && said.contains("checksum"), "{said}");
}
