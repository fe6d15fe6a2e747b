//! The library's writer, which copies what it is given: the oracle of ours.
#![allow(clippy::unwrap_used)]
use crate::parquet::{
    group::{names, plain, write},
    sink::Sink,
    stage::{message, properties},
    target::Target,
};
use ::parquet::{
    data_type::{ByteArray, ByteArrayType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
};
use fdconvert_core::{Codec, Encoded, FieldSpec, Kind, Sample, Schema, Value};
use fdconvert_storage::Scratch;
use fdconvert_testkit::fixtures::{Random, png, samples};
use std::{fs, sync::Arc};

/// A file without our note and block.
pub(super) fn file(
    schema: &Schema,
    properties: WriterProperties,
    samples: &[Sample<Encoded>],
    group_len: usize,
) -> Vec<u8> {
    let message = message(schema).unwrap();
    let mut file = SerializedFileWriter::new(Vec::new(), message, Arc::new(properties)).unwrap();
    for samples in samples.chunks(group_len) {
        let mut group = file.next_row_group().unwrap();
        let mut is_first = true;
        for (at, field) in schema.fields.iter().enumerate() {
            let values: Vec<_> = samples.iter().map(|sample| &sample.values[at]).collect();
            let mut column = group.next_column().unwrap().unwrap();
            if field.kind != Kind::Image {
                plain(column.untyped(), field, &values).unwrap();
                column.close().unwrap();
                continue;
            }
            for value in values {
                let Value::Image(image) = value else { continue };
                // One by one, so that each may end a page.
                let bytes = [ByteArray::from(image.bytes.clone())];
                column.typed::<ByteArrayType>().write_batch(&bytes, Some(&[2]), None).unwrap();
            }
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            names(column.untyped(), samples, is_first).unwrap();
            column.close().unwrap();
            is_first = false;
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

fn ours(schema: &Schema, samples: &[Sample<Encoded>], group_len: usize) -> Vec<u8> {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("x.parquet");
    let sink = Sink::new(Scratch::open(&out.with_extension("partial")).unwrap(), false);
    let (message, properties) = (message(schema).unwrap(), properties(schema).unwrap());
    let mut file = Target::new(sink.clone(), message, properties).unwrap();
    for samples in samples.chunks(group_len) {
        let places = write(&mut file, schema, samples).unwrap();
        assert_eq!(places.len(), schema.fields.iter().filter(|it| it.kind == Kind::Image).count());
    }
    file.finish(None).unwrap();
    sink.take().unwrap().commit(&out).unwrap();
    fs::read(out).unwrap()
}

/// Images of any length, which nothing looks into: some share a page, some fill several of the
/// buffers on the way.
fn of_any_length(samples: &mut [Sample<Encoded>], random: &mut Random) {
    for value in samples.iter_mut().flat_map(|sample| &mut sample.values) {
        if let Value::Image(image) = value {
            let most = [4, 70, 1019, 1100, 9000, 20_000, 300_000][random.below(7) as usize];
            let n_bytes = 1 + random.below(most);
            let bytes: Vec<u8> = (0..n_bytes).map(|_| random.below(256) as u8).collect();
            *image = Encoded { bytes: bytes.into(), codec: Codec::Png, ..image.clone() };
        }
    }
}

#[test]
fn files_are_those_of_the_library() {
    let image = |name: &str| FieldSpec::new(name, Kind::Image);
    let [text, int] = [FieldSpec::new("text", Kind::Text), FieldSpec::new("int", Kind::Int)];
    let schemas = [
        vec![image("image")],
        vec![int.clone(), image("image"), text.clone()],
        vec![image("a"), text, image("b"), image("c"), int],
    ];
    let mut random = Random::new(5);
    for (number, fields) in schemas.into_iter().enumerate() {
        let schema = Schema::new(fields).unwrap();
        for (n_samples, group_len) in [(1, 100), (64, 9), (230, 100)] {
            let mut samples = samples(&schema, &[png(3, 3, 1)], n_samples, 3);
            of_any_length(&mut samples, &mut random);
            let theirs = file(&schema, properties(&schema).unwrap(), &samples, group_len);
            let ours = ours(&schema, &samples, group_len);
            assert!(ours == theirs, "schema {number}, {n_samples} samples");
        }
    }
}
