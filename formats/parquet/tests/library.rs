//! Files made by the library's writer with the properties of other programs.
#![allow(clippy::unwrap_used)]
use crate::parquet::{
    group::{names, plain},
    stage::message,
};
use ::parquet::{
    data_type::{ByteArray, ByteArrayType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
};
use fdconvert_core::{Encoded, Kind, Sample, Schema, Value};
use std::sync::Arc;

/// A file without fdconvert's note and block.
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
