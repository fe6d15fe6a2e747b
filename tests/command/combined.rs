//! Datasets of many shards: the indexes of all shards in one file next to the manifest.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{self, fdconvert, text};
use fdconvert_testkit::{
    compare,
    server::{Faults, Server},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

type Args<'a> = &'a [&'a dyn AsRef<OsStr>];

const N_SHARDS: usize = 40;
const NAME: &str = "fdconvert.fdxs";

/// Name of the format, its options, and the folder of the shards.
const FORMATS: [(&str, &[&str], &str); 3] = [
    ("wds", &["--shard-count", "1"], "wds"),
    ("mds", &["--shard-count", "1"], "mds"),
    ("mixed", &["--shard-count", "1", "--ratio", "0"], "mixed/png"),
];

/// A store with a bucket, and images to pack next to it.
struct Stage {
    root: tempfile::TempDir,
    server: Server,
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("stores/bucket")).unwrap();
        let names: Vec<String> = (0..N_SHARDS).map(|n| format!("photos/a/{n:02}.png")).collect();
        common::tree(root.path(), &names.iter().map(String::as_str).collect::<Vec<_>>());
        let server = Server::with_faults(&root.path().join("stores"), Faults::default());
        Self { root, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn bucket(&self, name: &str) -> PathBuf {
        self.path("stores/bucket").join(name)
    }

    fn run(&self, args: Args<'_>) -> Output {
        let args = args.iter().map(|arg| arg.as_ref());
        fdconvert().args(args).envs(self.server.variables()).output().unwrap()
    }

    fn ok(&self, args: Args<'_>) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// Packs the photos, one per shard.
    fn pack(&self, out: &dyn AsRef<OsStr>, format: &str, options: &[&str]) {
        let photos = self.path("photos");
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &photos, out, &"--format", &format];
        args.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        self.ok(&args);
    }

    fn inspect(&self, dataset: &str) -> Value {
        serde_json::from_str(&self.ok(&[&"inspect", &dataset, &"--json"])).unwrap()
    }

    /// Returns the number of requests for each path of the store during a call.
    fn asked(&self, call: impl FnOnce()) -> BTreeMap<String, u64> {
        let before = self.server.by_path();
        call();
        let mut asked = self.server.by_path();
        for (path, n) in &mut asked {
            *n -= before.get(path).unwrap_or(&0);
        }
        asked.retain(|_, n| *n > 0);
        asked
    }
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("fdconvert.json")).unwrap()).unwrap()
}

fn is_sound(dataset: &Path) -> bool {
    common::run(&[&"verify", &dataset]).status.success()
}

fn n_asked(asked: &BTreeMap<String, u64>, end: &str) -> u64 {
    asked.iter().filter(|(path, _)| path.ends_with(end)).map(|(_, n)| n).sum()
}

#[test]
fn many_shards_are_opened_by_few_requests() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        stage.pack(&stage.bucket(format), format, options);
        let named = &manifest(&stage.bucket(folder))["combined"];
        assert_eq!(named["name"], NAME, "{format}");
        assert_eq!(named["lengths"].as_array().unwrap().len(), N_SHARDS, "{format}");
        let local = fdconvert::open(stage.bucket(format)).unwrap();
        let url = format!("{}/bucket/{format}", stage.server.url());
        let asked = stage.asked(|| {
            let there = fdconvert::open(&url).unwrap();
            assert!(there.has_checksums());
            assert!((0..local.len()).all(|index| there.key(index) == local.key(index)));
        });
        // MDS has an `index.json`, mixed sets a manifest in each folder; each is requested once.
        let most = if format == "wds" { 2 } else { 4 };
        assert!(asked.values().sum::<u64>() <= most, "{format}: {asked:#?}");
        assert_eq!((n_asked(&asked, ".fdx"), n_asked(&asked, NAME)), (0, 1), "{format}");
        let there = fdconvert::open(&url).unwrap();
        for index in 0..local.len() {
            assert_eq!(there.get(index).unwrap(), local.get(index).unwrap(), "{format}");
        }
        let url = format!("s3://bucket/{format}");
        let asked = stage.asked(|| {
            let (mut there, mut here) =
                (stage.inspect(&url), stage.inspect(stage.bucket(format).to_str().unwrap()));
            for document in [&mut there, &mut here] {
                document.as_object_mut().unwrap().remove("path");
            }
            assert_eq!(there, here);
        });
        assert_eq!((n_asked(&asked, ".fdx"), n_asked(&asked, NAME)), (0, 1), "{asked:#?}");
        // Also the list of the bucket, and for mixed sets those of both folders.
        let most = [("wds", 3), ("mds", 5), ("mixed", 7)].into_iter().find(|it| it.0 == format);
        let n_shards = n_asked(&asked, ".tar") + n_asked(&asked, ".mds");
        assert!(asked.values().sum::<u64>() - n_shards <= most.unwrap().1, "{asked:#?}");
        stage.ok(&[&"verify", &url, &"--deep"]);
    }
}

#[test]
fn a_store_gets_the_bytes_that_a_disk_gets() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        let here = stage.path(format);
        stage.pack(&here, format, options);
        stage.pack(&format!("s3://bucket/{format}"), format, options);
        assert!(stage.path(folder).join(NAME).exists());
        assert_eq!(compare::tree(&stage.bucket(format)), compare::tree(&here), "{format}");
        // The same by parts.
        let plan = stage.path(&format!("{format}.fdplan"));
        let photos = stage.path("photos");
        let mut args: Vec<&dyn AsRef<OsStr>> =
            vec![&"plan", &photos, &"-o", &plan, &"--format", &format];
        args.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        stage.ok(&args);
        let name = format!("{format}-parts");
        for out in [format!("s3://bucket/{name}"), stage.path(&name).to_str().unwrap().into()] {
            for part in ["2/2", "1/2"] {
                stage.ok(&[&"pack", &"--plan", &plan, &"--part", &part, &out]);
            }
            stage.ok(&[&"merge", &out]);
        }
        let parts = stage.path(&name);
        assert_eq!(compare::tree(&stage.bucket(&name)), compare::tree(&parts), "{format}");
        let below = Path::new(folder).strip_prefix(format).unwrap().join(NAME);
        let (whole, merged) = (fs::read(here.join(&below)), fs::read(parts.join(&below)));
        assert_eq!(whole.unwrap(), merged.unwrap(), "{format}");
    }
    assert!(stage.server.open_uploads().is_empty());
}

/// Datasets of at most 32 shards have no such file, and an unchanged manifest.
#[test]
fn few_shards_have_no_combined_index() {
    let stage = Stage::new();
    for n in 0..8 {
        fs::remove_file(stage.path(&format!("photos/a/{n:02}.png"))).unwrap();
    }
    for (format, options, folder) in FORMATS {
        stage.pack(&stage.path(format), format, options);
        assert!(!stage.path(folder).join(NAME).exists(), "{format}");
        assert!(manifest(&stage.path(folder)).get("combined").is_none(), "{format}");
    }
    let without = ["--shard-count", "1", "--sidecars", "none"];
    common::tree(stage.root.path(), &["photos/a/x.png"]);
    stage.pack(&stage.path("bare"), "wds", &without);
    assert!(!stage.path("bare").join(NAME).exists());
}

/// The indexes of the shards exist, whatever happens to the combined one.
#[test]
fn damage_costs_requests_and_is_told() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        let local = stage.path(format);
        stage.pack(&local, format, options);
        stage.pack(&stage.bucket(format), format, options);
        let path = stage.bucket(folder).join(NAME);
        let whole = fs::read(&path).unwrap();
        let length = manifest(&stage.bucket(folder))["combined"]["lengths"][0].as_u64().unwrap();
        let mut flipped = whole.clone();
        // `data_len` of the second block, under the root's checksum.
        flipped[length as usize + 33] ^= 1;
        let damages: [(&str, Option<&[u8]>, u64); 5] = [
            ("gone", None, N_SHARDS as u64),
            ("cut", Some(&whole[..whole.len() - 8]), N_SHARDS as u64),
            ("grown", Some(&[whole.as_slice(), &[0; 8]].concat()), N_SHARDS as u64),
            ("flipped", Some(&flipped), 1),
            ("empty", Some(&[]), N_SHARDS as u64),
        ];
        let local = fdconvert::open(&local).unwrap();
        for (name, bytes, n_read) in damages {
            match bytes {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let url = format!("s3://bucket/{format}");
            let out = stage.path(&format!("{format}-{name}"));
            let asked = stage.asked(|| {
                stage.ok(&[&"unpack", &url, &out]);
            });
            assert_eq!(n_asked(&asked, ".fdx"), n_read, "{format}, {name}");
            assert_eq!(common::names(&out.join("a")).len() as u64, local.len());
            let said = stage.inspect(&url).to_string();
            assert!(said.contains("combined_index_problem"), "{format}, {name}: {said}");
            let verified = stage.run(&[&"verify", &url]);
            assert_eq!(verified.status.code(), Some(1), "{format}, {name}");
            let said = text(&verified.stdout) + &text(&verified.stderr);
            assert!(said.contains(NAME), "{format}, {name}: {said}");
        }
    }
}

#[test]
fn verification_compares_it_with_the_indexes() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        let out = stage.path(format);
        stage.pack(&out, format, options);
        assert!(is_sound(&out));
        let path = stage.path(folder).join(NAME);
        let whole = fs::read(&path).unwrap();
        let is_noticed = || {
            let dataset = fdconvert::open(&out).unwrap();
            !dataset.verify_layout().is_empty()
        };
        assert!(!is_noticed());
        // Unit tests next to the code try every byte of smaller ones.
        for at in (0..whole.len()).step_by(499) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(&path, flipped).unwrap();
            assert!(is_noticed(), "{format}, byte {at}");
        }
        fs::remove_file(&path).unwrap();
        assert!(is_noticed(), "{format}");
        // The same command finds its shards and makes it again.
        stage.pack(&out, format, options);
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert!(is_sound(&out));
    }
}

/// Killed before and after the file gets its name: the same command ends with the same bytes.
#[test]
fn killed_runs_are_resumed() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        let out = stage.path(format);
        stage.pack(&out, format, options);
        let before = compare::tree(&out);
        let folder = stage.path(folder);
        let path = folder.join(NAME);
        let whole = fs::read(&path).unwrap();
        for (has_name, partial) in
            [(false, Some(&whole[..whole.len() / 2])), (true, None), (false, None)]
        {
            fs::remove_file(folder.join("fdconvert.json")).unwrap();
            let _ = fs::remove_file(out.join("fdconvert-mixed.json"));
            if !has_name {
                fs::remove_file(&path).unwrap();
            }
            if let Some(partial) = partial {
                fs::write(folder.join("fdconvert.fdxs.partial"), partial).unwrap();
            }
            stage.pack(&out, format, options);
            assert_eq!(compare::tree(&out), before, "{format}, {has_name}");
        }
    }
}

#[test]
fn it_goes_with_the_dataset_that_is_overwritten_and_foreign_files_stay() {
    let stage = Stage::new();
    for (format, options, folder) in FORMATS {
        let (out, path) = (stage.path(format), stage.path(folder).join(NAME));
        stage.pack(&out, format, options);
        assert!(path.exists());
        // The same images in fewer shards; superfluous ones are moved away.
        for number in 10..N_SHARDS {
            let name = match format {
                "mds" => format!("shard.{number:05}.mds"),
                _ => format!("train-{number:06}.tar"),
            };
            fs::remove_file(stage.path(folder).join(name)).unwrap();
        }
        let mut fewer = options.to_vec();
        fewer[1] = "4";
        fewer.push("--overwrite");
        stage.pack(&out, format, &fewer);
        assert!(!path.exists(), "{format}");
        assert!(is_sound(&out), "{format}");
        let other = stage.path(&format!("other-{format}"));
        let foreign = other.join(Path::new(folder).strip_prefix(format).unwrap()).join(NAME);
        fs::create_dir_all(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, b"precious").unwrap();
        let photos = stage.path("photos");
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &photos, &other, &"--format", &format];
        args.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        let said = common::fails(&args);
        assert!(said.contains(NAME) && said.contains("move it away"), "{said}");
        assert_eq!(fs::read(&foreign).unwrap(), b"precious");
        fs::remove_file(&foreign).unwrap();
        stage.pack(&other, format, options);
        assert!(is_sound(&other));
    }
}

#[test]
fn indexes_that_are_made_again_are_combined_again() {
    let stage = Stage::new();
    let set = stage.bucket("wds");
    stage.pack(&set, "wds", &["--shard-count", "1", "--jpeg-index", "off"]);
    assert!(common::ok(&[&"index", &set, &"--sidecars", &"fdx"]).contains("already"));
    let before = compare::tree(&set);
    fs::remove_file(set.join(NAME)).unwrap();
    let said = common::ok(&[&"index", &set, &"--sidecars", &"fdx"]);
    assert!(said.contains(NAME) && !said.contains("fdconvert.json"), "{said}");
    assert_eq!(compare::tree(&set), before);
    // Entry points make blocks longer, so that the manifest has other lengths.
    let said = common::ok(&[&"index", &set, &"--sidecars", &"fdx", &"--jpeg-index", &"on"]);
    assert!(said.contains(NAME) && said.contains("fdconvert.json"), "{said}");
    assert!(is_sound(&set));
    let asked = stage.asked(|| {
        stage.ok(&[&"verify", &"s3://bucket/wds"]);
        let said = stage.inspect("s3://bucket/wds").to_string();
        assert!(!said.contains("combined_index_problem"), "{said}");
    });
    assert!(n_asked(&asked, NAME) > 0);
    assert!(common::ok(&[&"index", &set, &"--sidecars", &"fdx"]).contains("already"));
    // A dataset from before this file existed.
    let path = set.join("fdconvert.json");
    let text = fs::read_to_string(&path).unwrap();
    let older = text.lines().skip(2).take_while(|line| !line.contains("\"combined\""));
    let older = older.collect::<Vec<_>>().join("\n");
    let older = format!("{{\n{}\n}}\n", older.strip_suffix(',').unwrap());
    let older: &[u8] = older.as_bytes();
    fs::write(&path, older).unwrap();
    fs::remove_file(set.join(NAME)).unwrap();
    assert!(is_sound(&set));
    let said = common::ok(&[&"index", &set, &"--sidecars", &"fdx"]);
    assert!(said.contains(NAME) && said.contains("fdconvert.json"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert!(is_sound(&set));
}
