//! Files that FFCV wrote: every value matches the manifest, and writing them again gives the same
//! bytes.
//!
//! The committed files suffice. If `golden.tar.xz` exists in `data/golden-beton` below
//! `$FDCONVERT_SHARED`, or below `shared` beside the workspace, its files are tested, too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use super::common::{beton, open, read_all, unpack};
use crate::beton::BetonReader;
use bytes::Bytes;
use fdconvert_core::{Codec, Reader, Sample, Schema, Source, Value};
use fdconvert_testkit::{fixtures, needs_shared};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::process::Command;

const COMMITTED: [&str; 5] = ["jpg_q90_r256", "jpg_q90_r256_w2", "raw_r64", "allfields", "revert"];

#[test]
fn committed_files_read_as_their_manifest_says() {
    let manifest = std::fs::read(super::common::golden("ffcv/manifest.json")).unwrap();
    let manifest: Json = serde_json::from_slice(&manifest).unwrap();
    for name in COMMITTED {
        check(name, &unpack(&format!("ffcv/{name}.beton.zst")), &manifest[name]);
    }
}

needs_shared! {
    fn shared_files_read_as_their_manifest_says() {
        let archive = fixtures::shared().join("data/golden-beton/golden.tar.xz");
        let folder = tempfile::tempdir().unwrap();
        let tar = Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(folder.path()).status();
        assert!(tar.unwrap().success(), "tar cannot unpack {}", archive.display());
        let inside = folder.path().join("golden");
        let files = if inside.is_dir() { &inside } else { folder.path() };
        let manifest = std::fs::read(archive.with_file_name("manifest.json")).unwrap();
        let manifest: Json = serde_json::from_slice(&manifest).unwrap();
        let mut n_checked = 0;
        for (name, said) in manifest.as_object().unwrap() {
            let Ok(bytes) = std::fs::read(files.join(name)) else {
                eprintln!("skipped: {name} is not in the archive");
                continue;
            };
            check(name, &bytes.into(), said);
            n_checked += 1;
        }
        assert!(n_checked > 0);
    }
}

fn check(name: &str, file: &Bytes, said: &Json) {
    assert_eq!(sha256(file), said["file_sha256"].as_str().unwrap(), "{name}");
    let reader = open(file).unwrap();
    let problems = reader.verify_layout();
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let samples = read_all(&reader);
    let said_samples = said["samples"].as_array().unwrap();
    assert_eq!(samples.len(), said_samples.len());
    for (i, (sample, said)) in samples.iter().zip(said_samples).enumerate() {
        reader.verify_sample(i as u64).unwrap();
        assert_eq!(sample.key, format!("{i:08}"));
        for (field, value) in reader.schema().fields.iter().zip(&sample.values) {
            check_value(file, value, &said[&field.name], &format!("{name} {i} {}", field.name));
        }
    }
    let workers = said.get("workers").or(said.get("num_workers")).unwrap();
    if *workers == 1 {
        assert!(pack_as_ffcv(&reader, &samples) == *file, "{name}: other bytes than FFCV's");
    }
}

fn check_value(file: &Bytes, value: &Value<fdconvert_core::Encoded>, said: &Json, what: &str) {
    let bytes = match value {
        Value::Int(int) => return assert_eq!(Some(*int), said.as_i64(), "{what}"),
        Value::Float(float) => return assert_eq!(Some(*float), said.as_f64(), "{what}"),
        Value::Image(image) => {
            let mode = if image.codec == Codec::Raw { "raw" } else { "jpg" };
            assert_eq!(said["mode"], mode, "{what}");
            assert_eq!((&said["w"], &said["h"]), (&image.width.into(), &image.height.into()));
            image.bytes.clone()
        }
        Value::Bytes(bytes) => {
            if let Some(text) = said["text"].as_str() {
                assert_eq!(bytes, text.as_bytes(), "{what}");
            }
            bytes.clone()
        }
        Value::Array(bytes) => bytes.clone(),
        Value::Json(json) => {
            if let Some(value) = said.get("value") {
                assert_eq!(&serde_json::from_slice::<Json>(json).unwrap(), value, "{what}");
            }
            // The stored form has a NUL, right after the value.
            let at = json.as_ptr() as usize - file.as_ptr() as usize;
            file.slice(at..=at + json.len())
        }
        other => panic!("{what}: {other:?}"),
    };
    if bytes.is_empty() {
        return assert_eq!(said["size"], 0, "{what}");
    }
    // Not copied: the value is a slice of the file, at the manifest's offset.
    assert_eq!((bytes.as_ptr() as usize - file.as_ptr() as usize) as u64, said["ptr"], "{what}");
    assert_eq!(bytes.len() as u64, said["size"], "{what}");
    assert_eq!(sha256(&bytes), said["sha256"].as_str().unwrap(), "{what}");
}

fn pack_as_ffcv(reader: &BetonReader, samples: &[Sample<fdconvert_core::Encoded>]) -> Bytes {
    let page_bytes = reader.details()["page_bytes"].to_string();
    let format = beton(&[("compat", "ffcv"), ("page_size", &page_bytes)]);
    let schema: &Schema = reader.schema();
    super::common::pack(&*format, schema, samples)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
