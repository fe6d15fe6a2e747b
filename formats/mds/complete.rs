//! Writes the indexes of all splits from the done-records, then fdconvert's manifest.
use crate::mds::{
    layout::{FORMAT, INDEX, Index, VERSION},
    manifest::{Manifest, ShardName, read},
    place::{Found, Place},
    python_json::dumps,
    record::Record,
    writer::Columns,
};
use crate::shards::{
    RECORDS, combined,
    manifest::{self, FileFacts, publish},
};
use fdconvert_core::{Complete, Error, Result};
use fdconvert_storage::{fingerprint_hex as hex, os::name_below, remove_source_stamp, replace};
use std::path::PathBuf;

pub(crate) fn complete(request: &Complete<'_>) -> Result<Vec<PathBuf>> {
    let key_column = Columns::new(request.schema, request.common)?.key;
    let mut indexes: Vec<(PathBuf, Index)> = Vec::new();
    let (mut shards, mut blocks) = (Vec::new(), Vec::new());
    let mut samples = 0;
    for (shard, summary) in request.shards {
        let place = Place::new(request.out, shard)?;
        let record = record(&place, request.fingerprint)?;
        if (record.samples, record.bytes) != (summary.samples, summary.bytes) {
            let what = format!(
                "{} samples in {} bytes; the run wrote {} in {}",
                record.samples, record.bytes, summary.samples, summary.bytes
            );
            return Err(Error::corrupt(FORMAT, place.record(), 0, what));
        }
        samples += record.samples;
        blocks.push(place.index_path());
        shards.push(ShardName {
            split: shard.split.clone(),
            basename: record.entry.raw_data.basename.clone(),
            samples: record.samples,
            index: Some(place.index_name()),
        });
        let path = place.folder.join(INDEX);
        match indexes.iter_mut().find(|(known, _)| *known == path) {
            Some((_, index)) => index.shards.push(record.entry),
            None => indexes.push((path, Index { shards: vec![record.entry], version: VERSION })),
        }
    }
    let indexes: Vec<_> = indexes.iter().map(|(path, index)| (path, dumps(index))).collect();
    let files = indexes.iter().map(|(path, text)| {
        let name = name_below(path, request.out).unwrap_or_else(|| path.to_string_lossy());
        FileFacts::new(name.into_owned(), text)
    });
    let mut manifest = Manifest {
        format: FORMAT.to_owned(),
        version: manifest::VERSION,
        fingerprint: hex(request.fingerprint),
        samples,
        key_column,
        schema: request.schema.clone(),
        shards,
        provenance: request.provenance.clone(),
        files: files.collect(),
        combined: None,
        edit: None,
    };
    let mut written = Vec::with_capacity(indexes.len() + 1);
    for (path, text) in &indexes {
        replace(path, text)?;
        written.push(path.to_path_buf());
    }
    let out = request.out;
    let is_known = read(out).is_some_and(|before| before.combined.is_some());
    manifest.combined = combined::write(out, &blocks, request.fingerprint, is_known)?;
    written.extend(manifest.combined.iter().map(|combined| out.join(&combined.name)));
    let path = out.join(manifest::NAME);
    publish(&path, &manifest.to_json(), request.fingerprint)?;
    remove_source_stamp(&request.out.join(RECORDS))?;
    written.push(path);
    Ok(written)
}

fn record(place: &Place, fingerprint: [u8; 16]) -> Result<Record> {
    match place.look(fingerprint, false)? {
        Found::Finished(record) => Ok(*record),
        _ => {
            let what = "there is no done-record of this run, or its shard is not as it says";
            Err(Error::corrupt(FORMAT, place.record(), 0, what))
        }
    }
}
