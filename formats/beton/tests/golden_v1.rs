//! Files of earlier versions of this crate, which are only ever read: every later version must read
//! them, and this version must write those of the latest one byte for byte.
//!
//! From version 2 on, the index block identifies the run.
#![allow(clippy::unwrap_used)]

use super::common::{beton, create, golden, open, read_all, unpack};
use bytes::Bytes;
use fdconvert_core::{
    ArraySpec, DType, Encoded, FieldSpec, Kind, Reader, Sample, Schema, Skipped, Source, Value,
};
use std::path::Path;

const FILES: [(&str, &[(&str, &str)]); 4] = [
    ("v1/compact.beton.zst", &[("compact", "")]),
    ("v1/aligned.beton.zst", &[]),
    ("v2/compact.beton.zst", &[("compact", "")]),
    ("v2/aligned.beton.zst", &[]),
];

const LATEST: &str = "v2/";

fn schema() -> Schema {
    let names: Vec<String> = ["aft", "bow", "nœud"].map(str::to_owned).into();
    let array = |dtype, shape, torch| Kind::Array(ArraySpec { dtype, shape, torch });
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", names.into()),
        FieldSpec::new("score", Kind::Float),
        FieldSpec::new("blob", Kind::Bytes),
        FieldSpec::new("note", Kind::Text),
        FieldSpec::new("info", Kind::Json),
        FieldSpec::new("vec", array(DType::F32, vec![3, 4], false)),
        FieldSpec::new("bias", array(DType::I64, vec![], true)),
    ])
    .unwrap()
}

/// Values that FFCV also wrote, and values that FFCV cannot express.
fn samples() -> Vec<Sample<Encoded>> {
    let ffcv = open(&unpack("ffcv/allfields.beton.zst")).unwrap();
    let raw = open(&unpack("ffcv/raw_r64.beton.zst")).unwrap();
    let notes = ["", "nöte \u{1f600}", "\"quoted\"\0", "plain"];
    (0..4)
        .map(|i| {
            let values = ffcv.get(i).unwrap().values;
            let image =
                if i == 2 { raw.get(i).unwrap().values[0].clone() } else { values[0].clone() };
            let blob = if i == 1 { Value::Bytes(Bytes::new()) } else { values[3].clone() };
            let note = Value::Text(notes[usize::try_from(i).unwrap()].to_owned());
            let label = Value::Int((i % 3).cast_signed());
            let bias = Value::Array((i * 1000).to_le_bytes().to_vec().into());
            let (score, info, vec) = (values[2].clone(), values[4].clone(), values[5].clone());
            let values = vec![image, label, score, blob, note, info, vec, bias];
            Sample { key: format!("aft/{i} é.jpg"), values }
        })
        .collect()
}

fn write(options: &[(&str, &str)], out: &Path) {
    let mut writer = create(&*beton(options), out, &schema(), 6).unwrap();
    let skip = |index: u64| Skipped { index, key: format!("bad {index}"), reason: "cut".into() };
    let samples = samples();
    writer.write(&samples[0]).unwrap();
    writer.skip(skip(1)).unwrap();
    samples[1..].iter().for_each(|sample| writer.write(sample).unwrap());
    writer.skip(skip(5)).unwrap();
    writer.finish().unwrap();
}

#[test]
fn are_read_and_written_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in FILES {
        let file = unpack(name);
        let reader = open(&file).unwrap();
        assert_eq!(reader.schema(), &schema());
        assert_eq!(read_all(&reader), samples());
        assert!(reader.verify_layout().is_empty());
        (0..reader.len()).for_each(|i| reader.verify_sample(i).unwrap());
        let skipped = &reader.provenance().unwrap().skipped;
        assert_eq!(skipped.iter().map(|skipped| skipped.index).collect::<Vec<_>>(), [1, 5]);
        if !name.starts_with(LATEST) {
            continue;
        }
        let out = folder.path().join("a.beton");
        write(options, &out);
        assert!(std::fs::read(&out).unwrap() == file, "{name} is written differently now");
        std::fs::remove_file(out).unwrap();
    }
}

/// Makes the missing files, for the next version: `cargo test -- --ignored`. Never replaces one.
#[test]
#[ignore = "makes the files that the other test reads"]
fn make_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, options) in FILES {
        let (out, path) = (folder.path().join("a.beton"), golden(name));
        if name.starts_with(LATEST) && !path.exists() {
            write(options, &out);
            let packed = zstd::encode_all(&std::fs::read(&out).unwrap()[..], 19).unwrap();
            std::fs::write(path, packed).unwrap();
            std::fs::remove_file(out).unwrap();
        }
    }
}
