//! Checks against Streaming: it reads fdconvert's files, and its writer makes the same bytes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]
use super::common::{Run, mds, shards};
use fdconvert_core::{ArraySpec, Codec, DType, Encoded, FieldSpec, Kind, Sample, Schema, Value};
use fdconvert_testkit::fixtures;
use serde_json::{Map, json};
use std::{env, fs, path::Path, process::Command};

#[test]
fn streaming_reads_what_we_write() {
    let Some(python) = env::var_os("FDCONVERT_MDS_PYTHON") else {
        eprintln!("skipped: FDCONVERT_MDS_PYTHON names no Python that imports streaming");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("mds/tests/read_mds.py");
    let all = "sha1,sha256,sha512,xxh128,xxh32,xxh3_128,xxh3_64,xxh64";
    for (options, codec, sizes) in [
        (vec![("hashes", all)], Some(Codec::Jpeg), vec![(12, "train")]),
        (vec![("hashes", "none")], None, vec![(5, "train"), (7, "train"), (3, "val")]),
        (vec![("compression", "zstd")], Some(Codec::Png), vec![(12, "train")]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (out, theirs) = (folder.path().join("set.mds"), folder.path().join("theirs"));
        let schema = schema();
        let held = fixtures::images().into_iter().map(|(_, image)| image);
        let images: Vec<_> = held
            .filter(|image| match codec {
                Some(codec) => image.codec == codec,
                None => image.codec != Codec::Raw,
            })
            .collect();
        let n_samples: u64 = sizes.iter().map(|(len, _)| len).sum();
        let samples = fixtures::samples(&schema, &images, n_samples as usize, 3);
        let format = mds(&options);
        let mut run = Run::new(&*format, &out, &schema);
        run.common.codec = codec;
        run.all(&shards(&sizes), &samples).unwrap();
        let n_train: u64 = sizes.iter().filter(|(_, split)| *split == "train").map(|s| s.0).sum();
        let truth: Vec<_> =
            samples.iter().take(n_train as usize).map(|sample| truth(&schema, sample)).collect();
        let truth_path = folder.path().join("truth.json");
        fs::write(&truth_path, serde_json::to_vec(&truth).unwrap()).unwrap();
        let splits = sizes.iter().map(|(_, split)| *split).filter(|split| *split != "train");
        let output = Command::new(&python)
            .args([script.as_path(), &out, &truth_path, &theirs])
            .args(splits)
            .output()
            .unwrap();
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}{complained}");
        eprint!("{said}");
    }
}

fn schema() -> Schema {
    let array = |dtype, shape| Kind::Array(ArraySpec { dtype, shape, torch: false });
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", ["a".to_owned(), "b".to_owned()].into()),
        FieldSpec::new("score", Kind::Float),
        FieldSpec::new("caption é", Kind::Text),
        FieldSpec::new("meta", Kind::Json),
        FieldSpec::new("blob", Kind::Bytes),
        FieldSpec::new("box", array(DType::F32, vec![2, 3])),
        FieldSpec::new("mask", array(DType::Bool, vec![4])),
    ])
    .unwrap()
}

fn truth(schema: &Schema, sample: &Sample<Encoded>) -> Map<String, serde_json::Value> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut row = Map::from_iter([("key".to_owned(), json!(sample.key))]);
    for (field, value) in schema.fields.iter().zip(&sample.values) {
        let cell = match value {
            Value::Image(image) => json!({ "size": [image.width, image.height] }),
            Value::Int(int) => json!(int),
            Value::Float(float) => json!(float),
            Value::Text(text) => json!(text),
            Value::Json(text) => json!(String::from_utf8_lossy(text)),
            Value::Bytes(bytes) | Value::Array(bytes) => json!(hex(bytes)),
            other => panic!("{other:?}"),
        };
        row.insert(field.name.clone(), cell);
    }
    row
}
