use crate::{
    index::Index,
    members,
    wds::{fields, list, scan::Scanned},
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Encoded, Error, Extent, FieldSpec, Kind, Remark, Result, Schema, Value,
};
use fdconvert_storage::{Blob, place};
use std::{io, path::Path, sync::Arc};

#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) path: Arc<Path>,
    /// The tar, decompressed if necessary.
    pub(crate) archive: Blob,
    /// True if the archive is the file or object itself rather than made from it.
    pub(crate) is_stored: bool,
    pub(crate) contents: Contents,
    pub(crate) index_problem: Option<IndexProblem>,
}

/// Why the index that a shard should have is not used.
#[derive(Debug)]
pub(crate) enum IndexProblem {
    /// It does not exist, for instance because only the tars were copied.
    Missing(String),
    /// It is damaged, or describes another shard.
    Unusable(String),
}

impl IndexProblem {
    pub(crate) fn what(&self) -> &str {
        match self {
            Self::Missing(what) | Self::Unusable(what) => what,
        }
    }
}

/// How samples are found.
#[derive(Debug)]
pub(crate) enum Contents {
    /// By the index beside the tar.
    Indexed(Box<Index>),
    /// By a walk over the headers.
    Scanned(Box<Scanned>),
}

/// Where a field is stored, according to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Eight bytes of the row, from this offset.
    Cell(usize),
    /// A region of the sample.
    Region(u32),
}

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Something is wrong with this sample.
    Sample(Remark),
    /// Its bytes could not be read, which may be temporary.
    Storage(Error),
}

impl Refusal {
    pub(crate) fn into_remark(self) -> Remark {
        match self {
            Self::Sample(what) => what,
            Self::Storage(error) => error.remark(),
        }
    }

    /// Converts to an error; `about` makes the error of the sample.
    pub(crate) fn into_error(self, about: impl FnOnce(Remark) -> Error) -> Error {
        match self {
            Self::Sample(what) => about(what),
            Self::Storage(error) => error,
        }
    }
}

impl<M: Into<Remark>> From<M> for Refusal {
    fn from(what: M) -> Self {
        Self::Sample(what.into())
    }
}

/// Slots of a schema's fields.
pub(crate) fn slots(schema: &Schema) -> Vec<Slot> {
    let (mut cell_at, mut n_regions) = (0, 0);
    let slot = |field: &FieldSpec| {
        if fields::is_cell(field) {
            cell_at += 8;
            Slot::Cell(cell_at - 8)
        } else {
            n_regions += 1;
            Slot::Region(n_regions - 1)
        }
    };
    schema.fields.iter().map(slot).collect()
}

/// Reads the index at `index` of the shard at `path`, an archive of `archive_len` bytes, if it has one; the
/// inner error says why it cannot be used.
pub(crate) fn find_index(
    path: &Path,
    index: &Path,
    archive_len: u64,
) -> Result<Option<Result<Index, String>>> {
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("tar")) {
        return Ok(None);
    }
    let block = match place::whole(index) {
        Ok(block) => block,
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Ok(Some(usable(block, archive_len)))
}

/// Parses a block as the index of an archive of `archive_len` bytes; the error says why it cannot
/// be used.
pub(crate) fn usable(block: Bytes, archive_len: u64) -> Result<Index, String> {
    let index = Index::parse(block).map_err(|error| error.to_string())?;
    let schema = &index.meta().schema;
    let n_regions = schema.fields.iter().filter(|field| !fields::is_cell(field)).count();
    let has_cells = n_regions < schema.fields.len();
    let has_rows = matches!(index.row(0), Ok(Some(_)));
    if index.data_len() != archive_len {
        Err(format!(
            "the index is stale: it is of a file of {} bytes, not {archive_len}",
            index.data_len()
        ))
    } else if n_regions as u64 != u64::from(index.regions_per_sample()) {
        Err("the index has other regions than fields".into())
    } else if has_cells && !has_rows {
        Err("the index lacks its integers and floats".into())
    } else {
        Ok(index)
    }
}

impl Shard {
    pub(crate) fn len(&self) -> u64 {
        match &self.contents {
            Contents::Indexed(index) => index.n_samples(),
            Contents::Scanned(scanned) => scanned.len(),
        }
    }

    /// The value of a field; the error is for an `Error::sample`.
    #[inline(always)]
    pub(crate) fn value(
        &self,
        sample: u64,
        column: usize,
        field: &FieldSpec,
        slot: Slot,
    ) -> Result<Value<Encoded>, Refusal> {
        match &self.contents {
            Contents::Indexed(index) => self.indexed(index, sample, field, slot),
            Contents::Scanned(scanned) => {
                let place = scanned.place(sample, column);
                if field.kind == Kind::Images {
                    let place = place.unwrap_or_default();
                    let members = self.slice(place.start as u64, place.len() as u64)?;
                    return Ok(Value::Images(list::decode(&members)?));
                }
                let place = place.ok_or_else(|| scanned.missing(column))?;
                let bytes = self.slice(place.start as u64, place.len() as u64)?;
                Ok(members::decode(&field.kind, bytes)?)
            }
        }
    }

    /// Place of the bytes of a field, by the index alone. Without an index the kind of an image
    /// shows only in its bytes, so their reader has to examine them.
    pub(crate) fn extent(&self, sample: u64, slot: Slot) -> Result<Option<Extent>, String> {
        let (Contents::Indexed(index), Slot::Region(number), true) =
            (&self.contents, slot, self.is_stored)
        else {
            return Ok(None);
        };
        let region = index.region(sample, number).map_err(|error| error.to_string())?;
        let (path, xxh3) = (self.path.clone(), Some(region.xxh3));
        Ok(Some(Extent { path, offset: region.offset, len: region.len, xxh3 }))
    }

    #[inline(always)]
    fn indexed(
        &self,
        index: &Index,
        sample: u64,
        field: &FieldSpec,
        slot: Slot,
    ) -> Result<Value<Encoded>, Refusal> {
        let number = match slot {
            Slot::Region(number) => number,
            Slot::Cell(at) => {
                let row = index.row(sample).map_err(|error| error.to_string())?;
                let cell = row.and_then(|row| row.get(at..)?.first_chunk::<8>());
                let cell = *cell.ok_or("is missing from the index")?;
                return Ok(match field.kind {
                    Kind::Int => Value::Int(i64::from_le_bytes(cell)),
                    _ => Value::Float(f64::from_le_bytes(cell)),
                });
            }
        };
        let region = index.region(sample, number).map_err(|error| error.to_string())?;
        let bytes = self.slice(region.offset, region.len)?;
        Ok(match &field.kind {
            Kind::Image => {
                let image = region.image.ok_or("is not an image in the index")?;
                if image.width == 0 || image.height == 0 {
                    let size = (image.width, image.height);
                    return Err(format!("is {}x{}: no pixels", size.0, size.1).into());
                }
                let (codec, width, height) = (image.codec, image.width, image.height);
                Value::Image(Encoded::new(codec, width, height, bytes))
            }
            Kind::Images => Value::Images(list::decode(&bytes)?),
            Kind::Array(spec) if spec.byte_len() != Some(region.len) => {
                let what = format!("{} bytes do not fill the array's shape", region.len);
                return Err(what.into());
            }
            Kind::Array(_) => Value::Array(bytes),
            kind => members::decode(kind, bytes)?,
        })
    }

    /// Announces the values of samples that will be read soon.
    pub(crate) fn read_ahead(&self, samples: &[u64], slots: &[Slot]) -> Ahead {
        let (Contents::Indexed(index), None) = (&self.contents, self.archive.here()) else {
            return Ahead::default();
        };
        let regions = |sample| {
            slots.iter().filter_map(move |slot| match slot {
                Slot::Region(number) => index.region(sample, *number).ok(),
                Slot::Cell(_) => None,
            })
        };
        let regions = samples.iter().flat_map(|&sample| regions(sample));
        self.archive.read_ahead(regions.map(|region| (region.offset, region.len)))
    }

    pub(crate) fn slice(&self, offset: u64, len: u64) -> Result<Bytes, Refusal> {
        let bytes = self.archive.read(offset, len).map_err(Refusal::Storage)?;
        let outside = || format!("{len} bytes at {offset} are outside of the shard").into();
        bytes.ok_or_else(outside)
    }
}
