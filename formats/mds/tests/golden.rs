//! Datasets written by Streaming itself (see `golden/make_streaming.py`).
#![allow(clippy::unwrap_used, clippy::panic)]
use crate::mds::{Mds, MdsReader};
use bytes::Bytes;
use fdconvert_core::{Amount, ArraySpec, Codec, DType, Error, Format, Kind, Reader, Source, Value};
use fdconvert_testkit::compare::sha256;
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mds/golden/streaming").join(name)
}

fn truth() -> Vec<Json> {
    serde_json::from_slice(&fs::read(golden("truth.json")).unwrap()).unwrap()
}

fn assert_is_truth(reader: &dyn Reader) {
    let truth = truth();
    assert_eq!(reader.len(), truth.len() as u64);
    let kinds: Vec<_> = reader.schema().fields.iter().map(|field| field.kind.clone()).collect();
    let array = Kind::Array(ArraySpec { dtype: DType::F32, shape: vec![2, 2], torch: false });
    // Columns are sorted by name.
    let expected =
        [Kind::Text, array, Kind::Text, Kind::Int, Kind::Image, Kind::Int, Kind::Json, Kind::Float];
    assert_eq!(kinds, expected);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (index, wanted) in (0..).zip(&truth) {
        let sample = reader.get(index).unwrap();
        assert_eq!(sample.key, format!("{index:08}"));
        for (field, value) in reader.schema().fields.iter().zip(sample.values) {
            let found: Json = match value {
                Value::Image(image) => {
                    assert_eq!((image.codec, image.width, image.height), (Codec::Jpeg, 32, 24));
                    sha256(&image.bytes).into()
                }
                Value::Int(int) => int.into(),
                Value::Float(float) => float.into(),
                Value::Text(text) => text.into(),
                Value::Json(text) => String::from_utf8(text.into()).unwrap().into(),
                Value::Array(bytes) => hex(&bytes).into(),
                other => panic!("{other:?}"),
            };
            assert_eq!(wanted[&field.name], found, "sample {index}, {}", field.name);
        }
        reader.verify_sample(index).unwrap();
        assert_eq!(reader.codec_hint(index).unwrap(), Some(Codec::Jpeg));
        assert_eq!(reader.label(index).unwrap(), Some(index as i64 - 3));
    }
    assert!(reader.verify_layout().is_empty(), "{:?}", reader.verify_layout());
    assert!(reader.provenance().is_none());
}

#[test]
fn what_streaming_wrote_is_read() {
    for name in ["none", "zstd"] {
        assert!(Mds::default().detect(&golden(name)));
        let reader = Mds::default().open(&golden(name)).unwrap();
        assert_is_truth(&*reader);
        assert!(reader.details()["shards"].as_u64().unwrap() > 1);
        let known = reader.bytes(0, Amount::Known).unwrap().is_some();
        assert_eq!(known, name == "none");
    }
}

#[test]
fn folders_of_splits_are_read_in_the_order_of_their_names() {
    assert!(Mds::default().detect(&golden("")));
    let folder = tempfile::tempdir().unwrap();
    for (split, from) in [("val", "zstd"), ("train", "none")] {
        fs::create_dir(folder.path().join(split)).unwrap();
        for entry in fs::read_dir(golden(from)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(split).join(entry.file_name())).unwrap();
        }
    }
    let reader = Mds::default().open(folder.path()).unwrap();
    let n_samples = truth().len() as u64;
    assert_eq!(reader.len(), 2 * n_samples);
    assert_eq!(reader.get(0).unwrap().values, reader.get(n_samples).unwrap().values);
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let refused = |error: Error| match error {
        Error::Unsupported { what, .. } => what.text,
        other => panic!("{other}"),
    };
    assert!(refused(MdsReader::open(&golden("gz")).unwrap_err()).contains("`gz`"));

    let index = fs::read_to_string(golden("none/index.json")).unwrap();
    let open = |index: String| MdsReader::from_parts(&Bytes::from(index), vec![]);
    let pil = index.replace("\"jpeg\"", "\"list[pil]\"");
    assert!(refused(open(pil).unwrap_err()).contains("`list[pil]`"));
    let csv = index.replace("\"format\": \"mds\"", "\"format\": \"csv\"");
    assert!(refused(open(csv).unwrap_err()).contains("csv"));
    let newer = index.replace("\"version\": 2", "\"version\": 3");
    assert!(matches!(open(newer), Err(Error::Version { found: 3, .. })));
    for (from, to) in [
        ("shard.00000.mds", "../shard.00000.mds"),
        ("shard.00000.mds", "/etc/passwd"),
        ("\"samples\": ", "\"samples\": 9999999999"),
        ("[null, 16,", "[null, 17,"),
    ] {
        let damaged = index.replace(from, to);
        assert_ne!(damaged, index);
        assert!(matches!(open(damaged), Err(Error::Corrupt { .. })), "{to}");
    }
}

/// Every file cut at every byte and every bit flipped: an error or well-formed samples.
#[test]
fn damage_does_no_harm() {
    for name in ["none", "zstd"] {
        let index = Bytes::from(fs::read(golden(name).join("index.json")).unwrap());
        let mut files: Vec<_> =
            fs::read_dir(golden(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.retain(|path| path.file_name().unwrap() != "index.json");
        let shards: Vec<Bytes> =
            files.iter().map(|path| Bytes::from(fs::read(path).unwrap())).collect();
        assert!(!explore(&index, &shards), "{name}: sound files were complained about");
        for len in 0..index.len() {
            assert!(explore(&index.slice(..len), &shards), "the index cut at {len}");
        }
        for at in 0..index.len() {
            explore(&flipped(&index, at, at % 8), &shards);
        }
        let first = shards[0].clone();
        let mut shards = shards.clone();
        for len in 0..first.len() {
            shards[0] = first.slice(..len);
            assert!(explore(&index, &shards), "the first shard cut at {len}");
        }
        for at in 0..first.len() {
            shards[0] = flipped(&first, at, at % 8);
            assert!(explore(&index, &shards), "{name}: a bit flipped at {at} was not noticed");
        }
    }
}

fn flipped(bytes: &Bytes, at: usize, bit: usize) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1 << bit;
    bytes.into()
}

/// Reads everything, and returns whether there was an error.
fn explore(index: &Bytes, shards: &[Bytes]) -> bool {
    let Ok(reader) = MdsReader::from_parts(index, shards.to_vec()) else { return true };
    let mut complained = !reader.verify_layout().is_empty();
    for index in 0..reader.len().min(20) {
        complained |= reader.verify_sample(index).is_err();
        match reader.get(index) {
            Ok(sample) => reader.schema().check(&sample).unwrap(),
            Err(_) => complained = true,
        }
        let _ = (reader.key(index), reader.codec_hint(index), reader.bytes(index, Amount::Known));
    }
    complained
}
