//! Helpers for the tests of this format.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use crate::beton::{Beton, BetonReader};
use bytes::Bytes;
use fdconvert_core::{
    Codec, Common, Create, Encoded, FieldSpec, Format, Kind, OptionValues, Provenance, Reader,
    Result, Sample, Schema, Shard, ShardSummary, ShardWriter, Source, Value,
};
use std::path::{Path, PathBuf};

pub const MIB: u64 = 1 << 20;

pub fn beton(options: &[(&str, &str)]) -> Box<dyn Format> {
    let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Beton::default().with_options(&OptionValues(options.collect())).unwrap()
}

/// A format with small pages.
pub fn paged() -> Box<dyn Format> {
    beton(&[("page_size", "2097152")])
}

pub fn compact() -> Box<dyn Format> {
    beton(&[("page_size", "2097152"), ("compact", "")])
}

pub fn compat() -> Box<dyn Format> {
    beton(&[("page_size", "2097152"), ("compat", "ffcv")])
}

pub fn create(
    format: &dyn Format,
    out: &Path,
    schema: &Schema,
    n_samples: u64,
) -> Result<Box<dyn ShardWriter>> {
    create_as(format, out, schema, n_samples, [7; 16], false)
}

pub fn create_as(
    format: &dyn Format,
    out: &Path,
    schema: &Schema,
    n_samples: u64,
    fingerprint: [u8; 16],
    overwrite: bool,
) -> Result<Box<dyn ShardWriter>> {
    let (shard, common) = (Shard::whole(n_samples), Common::default());
    let provenance = provenance();
    let provenance = &provenance;
    format.create(&Create {
        out,
        schema,
        shard: &shard,
        common: &common,
        provenance,
        fingerprint,
        stamp: fingerprint,
        overwrite,
        entry_points: false,
        is_open: false,
    })
}

/// The summary of a finished run of that fingerprint, if its file exists.
pub fn finished(
    format: &dyn Format,
    out: &Path,
    schema: &Schema,
    fingerprint: [u8; 16],
) -> Result<Option<ShardSummary>> {
    format.finished(&Create {
        out,
        schema,
        shard: &Shard::whole(1),
        common: &Common::default(),
        provenance: &provenance(),
        fingerprint,
        stamp: fingerprint,
        overwrite: false,
        entry_points: false,
        is_open: false,
    })
}

pub fn provenance() -> Provenance {
    Provenance {
        tool: "fdconvert test".into(),
        source: "kodak".into(),
        params: [("policy".to_owned(), "keep".to_owned())].into(),
        skipped: vec![],
    }
}

/// Writes samples to a new file and returns its bytes.
pub fn pack(format: &dyn Format, schema: &Schema, samples: &[Sample<Encoded>]) -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.beton");
    let mut writer = create(format, &out, schema, samples.len() as u64).unwrap();
    samples.iter().for_each(|sample| writer.write(sample).unwrap());
    let summary = writer.finish().unwrap();
    assert_eq!(summary.samples, samples.len() as u64);
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    assert_eq!(names_in(folder.path()), ["a.beton"]);
    bytes.into()
}

pub fn open(bytes: &Bytes) -> Result<BetonReader> {
    BetonReader::from_bytes(bytes.clone(), Path::new("a.beton"))
}

pub fn read_all(reader: &BetonReader) -> Vec<Sample<Encoded>> {
    (0..reader.len()).map(|i| reader.get(i).unwrap()).collect()
}

pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("beton/golden").join(name)
}

/// Unpacks a committed fixture.
pub fn unpack(name: &str) -> Bytes {
    let packed = std::fs::read(golden(name)).unwrap();
    zstd::decode_all(&packed[..]).unwrap().into()
}

/// Pseudo-random bytes, the same on every machine.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}

pub fn raw(width: u32, height: u32, seed: u64) -> Value<Encoded> {
    let bytes = noise(seed, (width * height * 3) as usize).into();
    Value::Image(Encoded::new(Codec::Raw, width, height, bytes))
}

pub fn image_and_text() -> Schema {
    let names: Vec<String> = vec!["cat".into(), "dog".into()];
    Schema::new(vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::label("label", names.into()),
        FieldSpec::new("note", Kind::Text),
    ])
    .unwrap()
}

pub fn image_and_text_sample(i: u64, width: u32, height: u32) -> Sample<Encoded> {
    let note = Value::Text(if i.is_multiple_of(3) { String::new() } else { format!("nöte {i}") });
    let values = vec![raw(width, height, i), Value::Int((i % 2).cast_signed()), note];
    Sample { key: format!("cat/{i}.png"), values }
}
