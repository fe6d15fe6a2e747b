//! `fdconvert diff`: equal and different datasets in any format.
#![allow(clippy::unwrap_used)]

use crate::common::{expect, fails, kodak_classes, ok};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn found(status: i32, a: &Path, b: &Path, more: &[&str]) -> Value {
    let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"diff", &a, &b, &"--json"];
    more.iter().for_each(|word| args.push(word));
    serde_json::from_str(&expect(status, &args)).unwrap()
}

#[test]
fn all_formats_of_a_source_are_the_same() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let mut made = vec![source.clone()];
    for format in ["wds", "mds", "parquet", "mixed", "folder"] {
        let out = root.path().join(format);
        ok(&[
            &"pack",
            &source,
            &out,
            &"--format",
            &format,
            &"--shuffle",
            &"--seed",
            &format.len().to_string(),
        ]);
        made.push(out);
    }
    for out in &made {
        let same = found(0, &source, out, &[]);
        assert_eq!((&same["document"], &same["same"]), (&json!("fdconvert-diff"), &json!(12)));
        assert_eq!(same["changed"], json!([]));
    }
    // A beton has raw pixels of PNGs.
    let beton = root.path().join("raw.beton");
    ok(&[&"pack", &source, &beton]);
    let changed = found(1, &source, &beton, &[]);
    assert_eq!((&changed["same"], changed["changed"].as_array().unwrap().len()), (&json!(0), 12));
    assert_eq!(found(0, &source, &beton, &["--pixels"])["same"], 12);
    let said = ok(&[&"diff", &beton, &made[1], &"--pixels"]);
    assert!(said.contains("the same") && said.contains("12 samples in another place"), "{said}");
}

/// Writes a file of 4 KiB: 100,002 rows of one field, all without a value.
fn rows_of_nothing(path: &Path) {
    let page = b"PAR1\x15\0\x15\x10\x15\x10,\x15\xc4\x9a\x0c\x15\0\x15\x06\x15\x06\0\0\x04\0\0\0\
                 \xc4\x9a\x0c\0";
    let footer = b"\x15\x02\x19,H\x06schema\x15\x02\0\x15\x0c%\x02\x18\x05image\0\x16\xc4\x9a\x0c\
                   \x19\x1c\x19\x1c&\x08\x1c\x15\x0c\x19\x15\0\x19\x18\x05image\x15\0\x16\xc4\x9a\
                   \x0c\x166\x166&\x08\0\0\x166\x16\xc4\x9a\x0c\0\0I\0\0\0PAR1";
    fs::write(path, [&page[..], &[0; 4096], footer].concat()).unwrap();
}

/// Each would be kept with its reason.
#[test]
fn differences_without_end_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("nothing.parquet");
    rows_of_nothing(&path);
    let found = found(1, &path, &path, &[]);
    assert_eq!(found["changed"].as_array().unwrap().len(), 100_000);
    assert_eq!((&found["changed_left_out"], &found["same"]), (&json!(2), &json!(0)));
    let said = expect(1, &[&"diff", &path, &path]);
    assert!(said.contains("... and 99,982 more; --json lists the first 100,000"), "{said}");
    assert!(said.contains("changed   100,002 samples"), "{said}");
    // A run that skips them ends without output.
    let out = root.path().join("o.wds");
    let said = fails(&[&"pack", &path, &out, &"--on-error", &"skip"]);
    assert!(said.contains("100001 of 100001 samples failed so far"), "{said}");
    assert!(said.contains("to allow more: --max-failures"), "{said}");
    assert!(!out.exists());
}

#[test]
fn what_differs_is_named() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    let other = root.path().join("other");
    ok(&[&"sample", &other]);
    // One changed byte, one additional image, one missing, and one with another class.
    let touched = other.join("building/kodak-01.jpg");
    let mut bytes = fs::read(&touched).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    fs::write(&touched, &bytes).unwrap();
    fs::copy(other.join("scene/kodak-05.jpg"), other.join("scene/extra.jpg")).ok();
    let scenes = fs::read_dir(other.join("scene")).unwrap().count();
    let gone = fs::read_dir(other.join("closeup")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&gone).unwrap();
    assert!(scenes > 0);

    let differ = found(1, &photos, &other, &[]);
    let [sample] = &differ["changed"].as_array().unwrap()[..] else { unreachable!("{differ}") };
    assert_eq!(sample["key"], "building/kodak-01.jpg");
    assert_eq!(sample["fields"][0]["first"], at);
    assert_eq!(differ["only_in_first"].as_array().unwrap().len(), 1);
    let n_more = differ["only_in_second"].as_array().unwrap().len();
    assert_eq!(differ["samples"], json!([12, 11 + n_more]));
    let said = expect(1, &[&"diff", &photos, &other, &"--pixels"]);
    assert!(said.contains("levels of pixels by at most"), "{said}");
    assert!(said.contains("only in ") && said.contains("not the same"), "{said}");

    // In the other direction, and through other formats.
    let (a, b) = (root.path().join("a.beton"), root.path().join("b"));
    ok(&[&"pack", &photos, &a]);
    ok(&[&"pack", &other, &b, &"--format", &"mds"]);
    let back = found(1, &b, &a, &[]);
    assert_eq!(back["only_in_second"].as_array().unwrap().len(), 1);
    assert_eq!(back["changed"].as_array().unwrap().len(), 1);
    // A part of a dataset has other numbers for the same classes.
    let part = root.path().join("part.beton");
    ok(&[&"pack", &photos, &part, &"--where", &"label == 'scene'"]);
    let part = found(1, &photos, &part, &[]);
    assert_eq!(part["changed"], json!([]), "{part}");
    assert!(fails(&[&"diff", &photos, &root.path().join("missing")]).contains("missing"));
}

/// A million samples would be a benchmark; this finds one byte of one sample among 20,000.
#[test]
fn one_byte_of_many_samples_is_found() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    let recipe = "fractal:svd?classes=200&instances=100&size=16&points=128";
    ok(&[&"pack", &recipe, &a, &"--format", &"mds", &"--shards", &"1"]);
    ok(&[&"pack", &recipe, &b, &"--format", &"mds", &"--shards", &"1"]);
    assert_eq!(found(0, &a, &b, &[])["same"], 20_000);
    let mut shards = fs::read_dir(&b).unwrap().map(|entry| entry.unwrap().path());
    let shard = shards.find(|path| path.extension().is_some_and(|it| it == "mds")).unwrap();
    let mut bytes = fs::read(&shard).unwrap();
    // Inside the last PNG: before its checksum and its end.
    let at = bytes.windows(4).rposition(|window| window == b"IDAT").unwrap() + 8;
    bytes[at] ^= 0x10;
    fs::write(&shard, &bytes).unwrap();
    let differ = found(1, &a, &b, &[]);
    assert_eq!((&differ["same"], differ["changed"].as_array().unwrap().len()), (&json!(19_999), 1));
}
