//! Adds entry points to existing shards: writes a new index for the unchanged tar.
use crate::index::{Builder, Index, Meta, Region, seal_all};
use crate::wds::{
    WdsReader, layout,
    shard::{Contents, Shard},
    writer::write_index,
};
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Error, Reader as _, Result, Value, option};
use fdconvert_jpeg::grid_of;
use std::{ops::Range, path::PathBuf};

/// Images per call of `make`: enough for many threads.
const BATCH: usize = 1024;

/// Request to add entry points to existing shards.
#[derive(Clone, Copy)]
pub struct AddEntryPoints<'a> {
    /// Distance between entry points, in bits.
    pub grid_bits: u32,
    /// Makes the entry points of each of these JPEGs, in order, on as many threads as the caller
    /// likes; `None` for a JPEG without any.
    pub make: &'a dyn Fn(&[Bytes]) -> Vec<Option<Bytes>>,
}

impl AddEntryPoints<'_> {
    /// Returns true if the index of a shard already has these entry points.
    ///
    /// # Errors
    /// `Usage` when it has entry points of another grid, unless they may be replaced.
    pub(crate) fn is_done(&self, shard: &Shard, index: &Index, overwrite: bool) -> Result<bool> {
        let Some(facts) = index.entry_point_facts() else { return Ok(false) };
        let found = facts.first_byte.map(grid_of);
        if found.is_none_or(|grid_bits| grid_bits == Some(self.grid_bits)) {
            return Ok(true);
        }
        if overwrite {
            return Ok(false);
        }
        let index = layout::index_path(&shard.path);
        let what = format!("{} has entry points of another grid", index.display());
        Err(Error::usage(option::JPEG_INDEX, what).cure("to replace them", option::OVERWRITE.on()))
    }

    /// Records the grid of the entry points in the index.
    pub(crate) fn note(&self, meta: &mut Meta) {
        let value = self.grid_bits.to_string();
        meta.provenance.params.insert("jpeg-index".into(), value);
    }
}

/// Images of a batch without entries yet, and the entries sealed so far.
pub(crate) struct Entries<'a> {
    how: AddEntryPoints<'a>,
    /// Regions of the batch's samples, and their images.
    waiting: Vec<(Vec<Region>, Vec<Option<Bytes>>)>,
    n_images: usize,
    pub(crate) sealed: Vec<u8>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(how: AddEntryPoints<'a>) -> Self {
        Self { how, waiting: Vec::new(), n_images: 0, sealed: Vec::new() }
    }

    /// Adds a sample that `builder` has already.
    pub(crate) fn push(
        &mut self,
        values: &[Value<Encoded>],
        regions: Vec<Region>,
        builder: &mut Builder,
    ) {
        let images: Vec<_> = values
            .iter()
            .filter_map(|value| match value {
                Value::Image(image) => {
                    Some((image.codec == Codec::Jpeg).then(|| image.bytes.clone()))
                }
                _ => None,
            })
            .collect();
        self.n_images += images.len().max(1);
        self.waiting.push((regions, images));
        if self.n_images >= BATCH {
            self.flush(builder);
        }
    }

    /// Makes the entries of the batch.
    pub(crate) fn flush(&mut self, builder: &mut Builder) {
        let jpegs: Vec<Bytes> =
            self.waiting.iter().flat_map(|(_, images)| images.iter().flatten().cloned()).collect();
        let mut made = (self.how.make)(&jpegs).into_iter();
        for (regions, images) in self.waiting.drain(..) {
            let entry_points: Vec<Option<Bytes>> =
                images.iter().map(|image| image.as_ref().and_then(|_| made.next()?)).collect();
            builder.push_entry_lens(&seal_all(
                entry_points.iter().map(Option::as_ref),
                &regions,
                &mut self.sealed,
            ));
        }
        self.n_images = 0;
    }
}

/// Rewrites the index of a shard with entry points. It keeps everything else, except sections that
/// this version does not know. `samples` are those of the shard.
pub(crate) fn add(
    how: AddEntryPoints<'_>,
    reader: &WdsReader,
    shard: &Shard,
    samples: Range<u64>,
) -> Result<PathBuf> {
    let path = layout::index_path(&shard.path);
    let Contents::Indexed(index) = &shard.contents else {
        return Err(Error::usage("index", format!("{} is not an index", path.display())));
    };
    let damaged = |error: crate::index::IndexError| {
        Error::corrupt(crate::wds::format::FORMAT, &path, 0, error.to_string())
    };
    let mut builder = Builder::new(index.regions_per_sample()).with_entry_points();
    let mut entries = Entries::new(how);
    for (local, sample) in (0..).zip(samples) {
        let regions = (0..index.regions_per_sample()).map(|region| index.region(local, region));
        let regions = regions.collect::<Result<Vec<_>, _>>().map_err(damaged)?;
        let stored = reader.get(sample)?;
        builder.push(&stored.key, &regions);
        let row = index.row(local).map_err(damaged)?.unwrap_or_default();
        let cells: Vec<[u8; 8]> = row.as_chunks().0.to_vec();
        builder.push_row(&cells);
        entries.push(&stored.values, regions, &mut builder);
    }
    entries.flush(&mut builder);
    let mut meta = index.meta().clone();
    how.note(&mut meta);
    let data_len = shard.archive.len();
    write_index(&path, &builder, &entries.sealed, &meta.to_json(), data_len)?;
    Ok(path)
}
