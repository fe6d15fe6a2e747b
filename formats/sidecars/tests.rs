use super::{Output, ShardFile, Shards, TABLE, chosen, shards::Visit};
use crate::tar::groups;
use fdconvert_core::{Error, FieldSpec, Kind, Provenance, Result, Schema};
use std::{fs, path::Path};

/// A USTAR archive of one-byte files.
fn archive(names: &[&str]) -> Vec<u8> {
    let mut archive = Vec::new();
    for name in names {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(b"00000000001");
        header[148..156].fill(b' ');
        header[156..157].copy_from_slice(b"0");
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend(header);
        archive.extend([b'7'; 1]);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend([0; 1024]);
    archive
}

fn walk(path: &Path, visit: Visit<'_>) -> Result<(u64, u64)> {
    let archive = fs::read(path).unwrap();
    let mut n_samples = 0;
    for group in groups(&archive) {
        visit(&group.unwrap())?;
        n_samples += 1;
    }
    Ok((n_samples, archive.len() as u64))
}

fn schema() -> Schema {
    let label = FieldSpec::label("label", ["cat".to_owned(), "a: \"dog\"".to_owned()].into());
    Schema::new(vec![FieldSpec::new("image", Kind::Image), label]).unwrap()
}

fn members() -> Vec<String> {
    vec!["jpg".into(), "cls".into()]
}

/// The sidecar files for two shards of `train` and one of `validation`.
fn files(kind: &str, out: &Path, schema: &Schema, members: &[String]) -> Result<Vec<Output>> {
    let mut shards = Vec::new();
    for (name, split, keys) in [
        ("train-000000.tar", "train", &["a/1.jpg", "a/1.cls", "a/2.jpg", "a/2.cls"][..]),
        ("train-000001.tar", "train", &["b.jpg", "b.cls"]),
        ("validation-000000.tar", "validation", &["c.jpg", "c.cls"]),
    ] {
        let bytes = archive(keys);
        fs::write(out.join(name), &bytes).unwrap();
        let (n_samples, bytes) = (keys.len() as u64 / 2, bytes.len() as u64);
        let (path, split, name) = (out.join(name), split.into(), (*name).to_owned());
        shards.push(ShardFile { name, path, split, n_samples, bytes });
    }
    let params = [("encode".to_owned(), "keep | all".to_owned())].into();
    let made = Provenance {
        tool: "fdconvert 0".into(),
        source: "photos".into(),
        params,
        ..Provenance::default()
    };
    let provenance = Some(&made);
    super::files(&[kind], &Shards { out, files: &shards, schema, members, walk: &walk, provenance })
}

fn check(kind: &str, expected: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let found = files(kind, folder.path(), &schema(), &members()).unwrap();
    let again = files(kind, folder.path(), &schema(), &members()).unwrap();
    assert_eq!(found, again);
    assert!(found.len() >= expected.len(), "{found:?}");
    for (name, text) in expected {
        let (_, bytes) = found
            .iter()
            .find(|(path, _)| *path == folder.path().join(name))
            .unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(String::from_utf8_lossy(bytes), *text, "{name}");
    }
}

#[test]
fn each_format_has_its_own() {
    let names = |format| chosen(&own(format).join(","), format);
    assert_eq!(own("parquet"), ["card", "croissant"]);
    assert_eq!(own("wds").len(), TABLE.len() - 1);
    for format in ["wds", "parquet"] {
        assert_eq!(names(format).unwrap(), own(format));
    }
    let said = chosen("dali", "parquet").unwrap_err().to_string();
    assert!(said.contains("`dali` is for NVIDIA DALI, and only wds writes it"), "{said}");
}

/// The sidecars of a format, without those that exclude each other.
fn own(format: &str) -> Vec<&'static str> {
    let own = TABLE.iter().filter(|it| it.formats.contains(&format) && it.name != "hf");
    own.map(|it| it.name).collect()
}

#[test]
fn dali() {
    let first = "v1.2 2\n\
                 jpg 512 1 a/1.jpg cls 1536 1 a/1.cls\n\
                 jpg 2560 1 a/2.jpg cls 3584 1 a/2.cls\n";
    let second = "v1.2 1\njpg 512 1 b.jpg cls 1536 1 b.cls\n";
    check("dali", &[("train-000000.idx", first), ("train-000001.idx", second)]);
}

#[test]
fn wids() {
    let validation = r#"{
  "__kind__": "wids-shard-index-v1",
  "wids_version": 1,
  "name": "validation",
  "shardlist": [
    {
      "url": "validation-000000.tar",
      "nsamples": 1,
      "filesize": 3072
    }
  ]
}
"#;
    check("wids", &[("wids-validation.json", validation)]);
}

#[test]
fn timm() {
    let folder = tempfile::tempdir().unwrap();
    let found = files("timm", folder.path(), &schema(), &members()).unwrap();
    let info: serde_json::Value = serde_json::from_slice(&found[0].1).unwrap();
    let train = &info["splits"]["train"];
    assert_eq!(train["num_samples"], 3);
    assert_eq!(train["shard_lengths"], serde_json::json!([2, 1]));
    assert_eq!(train["filenames"][1], "train-000001.tar");
}

#[test]
fn img2dataset() {
    let folder = tempfile::tempdir().unwrap();
    let found = files("img2dataset", folder.path(), &schema(), &members()).unwrap();
    assert_eq!(found[0].0, folder.path().join("train-000000_stats.json"));
    let stats: serde_json::Value = serde_json::from_slice(&found[0].1).unwrap();
    assert_eq!((&stats["successes"], &stats["count"]), (&2.into(), &2.into()));
}

const README: &str = r#"---
configs:
- config_name: default
  data_files:
  - split: "train"
    path: "train-[0-9]*.tar"
  - split: "validation"
    path: "validation-[0-9]*.tar"
dataset_info:
  features:
  - name: "jpg"
    dtype: image
  - name: "cls"
    dtype:
      class_label:
        names:
          '0': "cat"
          '1': "a: \"dog\""
  - name: __key__
    dtype: string
  - name: __url__
    dtype: string
---

<!-- Written by fdconvert. -->

Images in WebDataset shards.
"#;

#[test]
fn hf() {
    check("hf", &[("README.md", README)]);
}

#[test]
fn a_card_has_sizes_and_how_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let found = files("card", folder.path(), &schema(), &members()).unwrap();
    assert_eq!(found[0].0, folder.path().join("README.md"));
    let text = String::from_utf8_lossy(&found[0].1).into_owned();
    let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    for part in [
        "size_categories:\n- n<1K\ntask_categories:\n- image-classification\n",
        "    path: \"train-[0-9]*.tar\"\n",
        "          '1': \"a: \\\"dog\\\"\"\n",
        "  splits:\n  - name: \"train\"\n    num_bytes: 8192\n    num_examples: 3\n",
        "  - name: \"validation\"\n    num_bytes: 3072\n    num_examples: 1\n",
    ] {
        assert!(front.contains(part), "{part}: {front}");
    }
    assert!(body.contains("| train | 3 | 2 | 8192 |"), "{body}");
    assert!(body.contains("Packed by fdconvert 0 from photos"), "{body}");
    assert!(body.contains(r"| encode | keep \| all |"), "{body}");
}

#[test]
fn croissant() {
    let folder = tempfile::tempdir().unwrap();
    let found = files("croissant", folder.path(), &schema(), &members()).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&found[0].1).unwrap();
    let tar = fs::read(folder.path().join("train-000000.tar")).unwrap();
    let first = &document["distribution"][0];
    assert_eq!(first["contentUrl"], "train-000000.tar");
    assert_eq!(first["sha256"], fdconvert_testkit::compare::sha256(&tar));
    assert_eq!(document["distribution"][4]["includes"], serde_json::json!(["*.jpg"]));
    let fields = document["recordSet"][0]["field"].as_array().unwrap();
    let names: Vec<_> = fields.iter().map(|field| field["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["key", "image", "split", "label", "label_name"]);
    let table = String::from_utf8_lossy(&found[1].1).into_owned();
    let expected = "key,split,label,label_name\r\na/1,train,7,\r\na/2,train,7,\r\nb,train,7,\r\n\
                    c,validation,7,\r\n";
    assert_eq!(table, expected);
    let two = [schema().fields, vec![FieldSpec::new("mask", Kind::Image)]].concat();
    let members = [members(), vec!["mask.png".into()]].concat();
    let two = Schema::new(two).unwrap();
    assert!(files("croissant", folder.path(), &two, &members).is_err());
}

#[test]
fn hf_leaves_types_that_depend_on_the_data_to_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let mut schema = schema();
    schema.fields.push(FieldSpec::new("box", Kind::Json));
    let members = [members(), vec!["box.json".into()]].concat();
    let found = files("hf", folder.path(), &schema, &members).unwrap();
    assert!(!String::from_utf8_lossy(&found[0].1).contains("dataset_info"));
}

#[test]
fn hf_replaces_its_own_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let readme = folder.path().join("README.md");
    fs::write(&readme, README).unwrap();
    assert!(files("hf", folder.path(), &schema(), &members()).is_ok());
    fs::write(&readme, "# My dataset\n").unwrap();
    let error = files("hf", folder.path(), &schema(), &members()).unwrap_err();
    assert!(matches!(error, Error::Usage { .. }), "{error}");
}

#[test]
fn energon() {
    let split = "exclude: []\nsplit_parts:\n  \"train\":\n  - \"train-000000.tar\"\n  \
                 - \"train-000001.tar\"\n  \"val\":\n  - \"validation-000000.tar\"\n";
    let dataset = "sample_type:\n  __module__: megatron.energon\n  \
                   __class__: ImageClassificationSample\nfield_map:\n  image: \"jpg\"\n  \
                   label: \"cls\"\n";
    let numbers = [0_u64, 2048, 4096].map(u64::to_le_bytes).concat();
    let index = String::from_utf8(numbers).unwrap();
    check(
        "energon",
        &[
            ("train-000000.tar.idx", &index),
            (".nv-meta/split.yaml", split),
            (".nv-meta/dataset.yaml", dataset),
        ],
    );
}

#[test]
fn shards_that_are_not_what_was_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train-000000.tar");
    let bytes = archive(&["a.jpg"]);
    fs::write(&path, &bytes).unwrap();
    let (schema, members) = (schema(), members());
    for (n_samples, bytes) in [(2, bytes.len() as u64), (1, 5)] {
        let (name, split) = ("train-000000.tar".into(), "train".into());
        let file = ShardFile { name, path: path.clone(), split, n_samples, bytes };
        let shards = Shards {
            out: folder.path(),
            files: &[file],
            schema: &schema,
            members: &members,
            walk: &walk,
            provenance: None,
        };
        let error = super::files(&["dali"], &shards).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}
