//! The index block beside a shard: keys, numbers, and place and checksum of every value.
use crate::index::{Builder, ImageFacts, Index, Region, xxh3_of};
use crate::mds::layout::Entry;
use crate::shards::combined::Blocks;
use fdconvert_core::{Encoded, FieldSpec, Kind, Result, Sample, Schema, Value};
use fdconvert_storage::{
    map,
    place::{is_object_of_run, whole},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// The index of a shard, opened on first use.
#[derive(Debug, Default)]
pub(crate) struct ShardIndex {
    /// Its path, if it should have one.
    path: Option<PathBuf>,
    /// The blocks of all shards, if they are combined in a store, and the position of this one.
    combined: Option<(Arc<Blocks>, usize)>,
    /// The index once opened; a failure is retried.
    opened: OnceLock<Index>,
}

impl ShardIndex {
    pub(crate) fn at(path: Option<PathBuf>, combined: Option<(Arc<Blocks>, usize)>) -> Self {
        Self { path, combined, opened: OnceLock::new() }
    }

    /// Its path, if the manifest names one.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    /// The index, if the manifest names one; or why it cannot be used.
    pub(crate) fn open(&self, entry: &Entry, schema: &Schema) -> Result<Option<&Index>, String> {
        let Some(path) = &self.path else { return Ok(None) };
        if let Some(index) = self.opened.get() {
            return Ok(Some(index));
        }
        let parse = |block| {
            let index = Index::parse(block).map_err(|error| error.to_string())?;
            check(&index, entry, schema)?;
            Ok(index)
        };
        let combined = self.combined.as_ref();
        let index = match combined.and_then(|(blocks, number)| blocks.take(*number, parse)) {
            Some(index) => index,
            None => {
                let block = whole(path).map_err(|error| error.chain());
                let name = path.file_name().unwrap_or_default().display();
                block.and_then(parse).map_err(|what| format!("its index {name}: {what}"))?
            }
        };
        Ok(Some(self.opened.get_or_init(|| index)))
    }
}

/// Checks that an index describes this shard.
fn check(index: &Index, entry: &Entry, schema: &Schema) -> Result<(), &'static str> {
    if (index.data_len(), index.n_samples()) != (entry.raw_data.bytes, entry.samples) {
        return Err("it is of another shard");
    }
    let n_regions = schema.fields.iter().filter(|field| !is_cell(field)).count();
    if index.meta().schema != *schema || u64::from(index.regions_per_sample()) != n_regions as u64 {
        return Err("it is of a dataset with other fields");
    }
    if n_regions < schema.fields.len() && !matches!(index.row(0), Ok(Some(_))) {
        return Err("it lacks the integers and floats");
    }
    Ok(())
}

/// Returns true if a field's values are in the rows of the index.
pub(crate) fn is_cell(field: &FieldSpec) -> bool {
    matches!(field.kind, Kind::Int | Kind::Float)
}

/// An empty block for samples of these fields.
pub(crate) fn builder(schema: &Schema) -> Builder {
    let n_regions = schema.fields.iter().filter(|field| !is_cell(field)).count();
    // More than 2^32 fields do not fit into memory.
    Builder::new(u32::try_from(n_regions).unwrap_or(u32::MAX))
}

/// Adds a sample; `places` has each field's offset in the shard and its stored bytes.
pub(crate) fn push(builder: &mut Builder, sample: &Sample<Encoded>, places: &[(u64, &[u8])]) {
    let (mut regions, mut row) = (Vec::new(), Vec::new());
    for (value, &(offset, bytes)) in sample.values.iter().zip(places) {
        let image = match value {
            Value::Int(int) => {
                row.push(int.to_le_bytes());
                continue;
            }
            Value::Float(float) => {
                row.push(float.to_le_bytes());
                continue;
            }
            Value::Image(image) => {
                let (codec, width, height) = (image.codec, image.width, image.height);
                Some(ImageFacts { codec, width, height })
            }
            _ => None,
        };
        regions.push(Region {
            offset,
            len: bytes.len() as u64,
            xxh3: xxh3_of(value, bytes),
            image,
        });
    }
    builder.push(&sample.key, &regions);
    builder.push_row(&row);
}

/// The block of a shard of that many bytes.
///
/// # Errors
/// None but those of memory; the signature is the builder's.
pub(crate) fn block(builder: &Builder, meta: &[u8], data_len: u64) -> Result<Vec<u8>> {
    let mut block = Vec::new();
    builder.emit(meta, data_len, &[], |part| {
        block.extend_from_slice(part);
        Ok(())
    })?;
    Ok(block)
}

/// Returns true if an index block matches its own checksums.
///
/// # Errors
/// `Io` when it cannot be read.
pub(crate) fn is_whole(path: &Path, fingerprint: &str) -> Result<bool> {
    if let Some(is_marked) = is_object_of_run(path, None, fingerprint)? {
        return Ok(is_marked);
    }
    Ok(Index::parse(map(path)?).is_ok_and(|index| index.verify().is_empty()))
}
