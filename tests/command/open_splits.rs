//! Opening a dataset with splits: as a whole for inspection, one split for training, and with the
//! same splits for a folder as for its packed form.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{fails, kodak_classes, ok, sorted, tree};
use fdconvert_loader::{Datasets, Loader, Options};
use fdconvert_reader::{Look, OpenOptions, Reader, SplitChoice, open, open_with};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

fn json_of(args: &[&dyn AsRef<OsStr>]) -> Value {
    let mut args = args.to_vec();
    args.push(&"--json");
    serde_json::from_str(&ok(&args)).unwrap()
}

fn of(path: &Path, split: &str) -> fdconvert_reader::Result<Box<dyn Reader>> {
    open_with(path, &OpenOptions::default().splits(SplitChoice::named(split.split(','))))
}

fn keys(reader: &dyn Reader) -> Vec<String> {
    (0..reader.len()).map(|index| reader.key(index)).collect()
}

/// Writes twelve photos in the splits train and val, and packs them in every format of shards.
fn datasets(root: &Path) -> Vec<PathBuf> {
    let folder = root.join("im");
    for class in ["even", "odd"] {
        for (number, file) in sorted(&kodak_classes(root).join(class)).iter().enumerate() {
            let target = folder.join(if number % 3 == 0 { "val" } else { "train" }).join(class);
            fs::create_dir_all(&target).unwrap();
            fs::copy(file, target.join(file.file_name().unwrap())).unwrap();
        }
    }
    let mut made = vec![folder.clone()];
    for format in ["wds", "mds", "mixed"] {
        let out = root.join(format!("im.{format}"));
        ok(&[&"pack", &folder, &out, &"--format", &format, &"-q"]);
        made.push(out);
    }
    let table = root.join("im.parquets");
    fs::create_dir(&table).unwrap();
    // As im-train.parquet and im-val.parquet, which are splits of their folder.
    ok(&[&"pack", &folder, &table.join("im.parquet"), &"-q"]);
    made.push(table);
    made
}

#[test]
fn a_folder_means_the_same_to_every_command() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("im");
    tree(&folder, &["train/a/1.png", "train/b/2.png", "train/b/3.png", "val/a/4.png"]);
    let reader = open(&folder).unwrap();
    assert_eq!(reader.splits(), [("train".to_owned(), 0..3), ("val".to_owned(), 3..4)]);
    let stats = json_of(&[&"stats", &folder]);
    assert_eq!(stats["classes"], json!({"a": 2, "b": 2}), "{stats}");
    let expected = json!([{"name": "train", "samples": 3}, {"name": "val", "samples": 1}]);
    assert_eq!(stats["splits"], expected);
    assert_eq!(json_of(&[&"inspect", &folder])["splits"], expected);
    let packed = root.path().join("im.wds");
    ok(&[&"pack", &folder, &packed, &"-q"]);
    ok(&[&"diff", &folder, &packed]);
    let said = ok(&[&"inspect", &folder]);
    assert!(said.contains("2 classes: a, b"), "{said}");
}

#[test]
fn what_trains_takes_no_two_splits_unasked() {
    let root = tempfile::tempdir().unwrap();
    for path in datasets(root.path()) {
        let error = Datasets::open(&path).err().unwrap().to_string();
        for part in ["2 splits", "train 8", "val 4", "split=train", "split=all"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let message = fails(&[&"bench", &path, &"--seconds", &"0.1"]);
        assert!(message.contains("--split train") && message.contains("--split all"), "{message}");
        let mut seen = Vec::new();
        for split in ["train", "val"] {
            let reader = of(&path, split).unwrap();
            assert_eq!(reader.splits(), [(split.to_owned(), 0..reader.len())], "{path:?}");
            let strata = reader.strata();
            assert_eq!(strata.iter().sum::<u64>(), reader.len());
            let placed: BTreeSet<u64> = (0..)
                .zip(&strata)
                .flat_map(|(stratum, len)| (0..*len).map(move |at| (stratum, at)))
                .map(|(stratum, at)| reader.stratum_sample(stratum, at))
                .collect();
            assert_eq!(placed, (0..reader.len()).collect(), "{path:?}");
            (0..reader.len()).for_each(|index| reader.verify_sample(index).unwrap());
            assert!(reader.get(reader.len()).is_err());
            let choice = SplitChoice::named([split]);
            let datasets = Datasets::open_split(&path, choice).unwrap();
            let mut loader = Loader::new(datasets, Options::default().batch_size(4)).unwrap();
            let mut n_rows = 0;
            while let Some(batch) = loader.next_batch() {
                n_rows += batch.unwrap().samples().len() as u64;
            }
            assert_eq!(n_rows, reader.len(), "{path:?}");
            seen.extend(keys(&*reader));
        }
        let whole = open(&path).unwrap();
        seen.sort();
        let mut all = keys(&*whole);
        all.sort();
        assert_eq!(seen, all);
        let both = of(&path, "val,train").unwrap();
        assert_eq!(
            both.fingerprint(Look::Sizes).unwrap(),
            whole.fingerprint(Look::Sizes).unwrap(),
            "all splits are the dataset"
        );
        assert_ne!(
            of(&path, "val").unwrap().fingerprint(Look::Sizes).unwrap(),
            whole.fingerprint(Look::Sizes).unwrap()
        );
        assert!(Datasets::open_split(&path, SplitChoice::All).is_ok());
    }
}

#[test]
fn a_split_that_is_not_there_is_an_error_that_lists_those_that_are() {
    let root = tempfile::tempdir().unwrap();
    let paths = datasets(root.path());
    for path in &paths {
        let message = fails(&[&"stats", path, &"--split", &"test"]);
        assert!(message.contains("`test` is not one of the splits of im"), "{message}");
        assert!(message.contains("train, val"), "{message}");
    }
    let flat = root.path().join("kodak");
    let message = fails(&[&"verify", &flat, &"--split", &"train"]);
    assert!(message.contains("kodak has no splits"), "{message}");
}

#[test]
fn what_looks_at_a_dataset_takes_all_splits_or_the_named_ones() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for dataset in datasets(root.path()) {
        for (args, n) in
            [(vec![], 12), (vec!["--split", "val"], 4), (vec!["--split", "val,train"], 12)]
        {
            for command in ["stats", "verify", "inspect"] {
                let mut all: Vec<&dyn AsRef<OsStr>> = vec![&command, &dataset];
                all.extend(args.iter().map(|arg| arg as &dyn AsRef<OsStr>));
                assert_eq!(json_of(&all)["samples"], n, "{command} {dataset:?} {args:?}");
            }
        }
        let said = ok(&[&"stats", &dataset]);
        assert!(said.contains("train 8, val 4"), "{said}");
        ok(&[&"sheet", &dataset, &path("o.png"), &"--split", &"val", &"--overwrite"]);
        let bench = json_of(&[&"bench", &dataset, &"--split", &"val", &"--seconds", &"0.1"]);
        assert!(bench["datasets"][0]["images_per_s"].as_f64() > Some(0.0), "{bench}");
        let out = path("unpacked");
        ok(&[&"unpack", &dataset, &out, &"--split", &"val"]);
        assert_eq!(open(&out).unwrap().len(), 4);
        fs::remove_dir_all(&out).unwrap();
    }
}
