use crate::beton::{
    layout::{Column, Header, ImageCell, MODE_JPEG, MODE_RAW, RowLayout, Storage},
    table::Table,
    text,
};
use crate::index::{ImageFacts, Index};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, Image, Kind, Look, Provenance, Reader, Result,
    Sample, Source, SourceFacts, Value, bytes::u64_at, image_list, read_value,
};
use fdconvert_jpeg::grid_of;
use fdconvert_storage::Blob;
use serde_json::{Map, json};
use std::{
    fmt::Display,
    path::Path,
    sync::{Arc, OnceLock},
};
use xxhash_rust::xxh3::Xxh3;

/// An open `.beton`. Opening takes constant time, and nothing is copied: values are slices of the
/// map, and rows are read in place. Many threads may read at the same time.
#[derive(Debug)]
pub struct BetonReader {
    pub(crate) path: Arc<Path>,
    /// True if the bytes are those of the file or object at `path`.
    pub(crate) is_stored: bool,
    /// At least the bytes up to the end of the rows.
    pub(crate) head: Bytes,
    pub(crate) data: Blob,
    pub(crate) header: Header,
    pub(crate) layout: RowLayout,
    pub(crate) facts: SourceFacts,
    pub(crate) table: Table,
    pub(crate) index: Option<Index>,
    pub(crate) index_problem: Option<String>,
    /// Set once the checksums of tables and rows match. Damage is not remembered: a page that
    /// cannot be read now may be readable later.
    pub(crate) tables: OnceLock<()>,
}

impl BetonReader {
    /// Returns the end of the rows. It cannot overflow: checked on opening.
    pub(crate) fn rows_end(&self) -> u64 {
        self.header.rows_offset() + self.header.n_samples * self.layout.row_bytes as u64
    }

    /// Returns the end of the bytes available for values.
    pub(crate) fn data_end(&self) -> u64 {
        self.index.as_ref().map_or(self.header.table_offset, Index::data_len)
    }

    pub(crate) fn row_offset(&self, sample: u64) -> u64 {
        self.header.rows_offset() + sample * self.layout.row_bytes as u64
    }

    #[inline]
    pub(crate) fn row(&self, sample: u64) -> Result<&[u8]> {
        let row = (sample < self.header.n_samples)
            .then(|| self.row_offset(sample))
            .and_then(|at| usize::try_from(at).ok())
            .and_then(|at| self.head.get(at..at.checked_add(self.layout.row_bytes)?));
        row.ok_or_else(|| self.no_row(sample))
    }

    #[cold]
    fn no_row(&self, sample: u64) -> Error {
        if sample >= self.header.n_samples {
            let what = format!("there is no sample {sample}, only {}", self.header.n_samples);
            return Error::usage("sample", what);
        }
        self.bad_sample(sample, "its row is outside the file")
    }

    /// Bytes of a value, within the bounds of the data.
    pub(crate) fn region(&self, sample: u64, pointer: u64, len: u64) -> Result<Bytes> {
        // FFCV gives empty values any pointer, even 0.
        if len == 0 {
            return Ok(Bytes::new());
        }
        self.check_region(sample, pointer, len)?;
        let bytes = self.data.read(pointer, len)?;
        bytes.ok_or_else(|| self.outside(sample, pointer, len))
    }

    fn check_region(&self, sample: u64, pointer: u64, len: u64) -> Result<()> {
        let end = pointer.checked_add(len);
        let inside = end.is_some_and(|end| pointer >= self.rows_end() && end <= self.data_end());
        if inside || len == 0 { Ok(()) } else { Err(self.outside(sample, pointer, len)) }
    }

    #[cold]
    fn outside(&self, sample: u64, pointer: u64, len: u64) -> Error {
        let what = format!("{len} bytes at {pointer} are outside the data");
        self.bad_sample(sample, &what)
    }

    /// Length of the image at `pointer`, which is region `region` of the sample.
    pub(crate) fn image_len(&self, sample: u64, region: u32, pointer: u64) -> Result<u64> {
        let number = sample * u64::from(self.layout.n_regions) + u64::from(region);
        let entry = self.table.entry(number);
        // An empty entry belongs to another value with the same pointer.
        let by_table = entry
            .filter(|entry| entry.sample == sample && entry.pointer == pointer && entry.len > 0);
        let indexed = self.index.as_ref().and_then(|index| index.region(sample, region).ok());
        let by_index = indexed.filter(|region| region.offset == pointer);
        match (by_table, by_index) {
            (Some(entry), Some(region)) if entry.len != region.len => {
                let what = format!(
                    "its length is {} in the table and {} in the index",
                    entry.len, region.len
                );
                Err(self.bad_sample(sample, &what))
            }
            (Some(entry), _) => Ok(entry.len),
            (None, Some(region)) => Ok(region.len),
            (None, None) => self.table.len_at(pointer).ok_or_else(|| {
                let what = format!("the table has no entry for its bytes at {pointer}");
                self.bad_sample(sample, &what)
            }),
        }
    }

    fn stored_value(
        &self,
        sample: u64,
        row: &[u8],
        column: &Column,
        kind: &Kind,
    ) -> Result<Value<Encoded>> {
        let at = column.offset;
        let word = |at: usize| {
            u64_at(row, at).ok_or_else(|| self.bad_sample(sample, "its row is cut short"))
        };
        let region = column.region.unwrap_or(0);
        Ok(match &column.storage {
            Storage::Int => Value::Int(word(at)?.cast_signed()),
            Storage::Float => Value::Float(f64::from_bits(word(at)?)),
            Storage::Image => Value::Image(self.image(sample, row, at, region)?),
            Storage::Bytes => {
                let bytes = self.region(sample, word(at)?, word(at + 8)?)?;
                match kind {
                    Kind::Image => Value::Image(self.file(sample, region, bytes)?),
                    Kind::Images => Value::Images(
                        image_list::from_bytes(&bytes)
                            .map_err(|what| self.bad_sample(sample, format!("its list {what}")))?,
                    ),
                    _ => Value::Bytes(bytes),
                }
            }
            Storage::Array(len) => Value::Array(self.region(sample, word(at)?, *len)?),
            Storage::Json => {
                let mut json = self.region(sample, word(at)?, word(at + 8)?)?;
                if json.last() == Some(&0) {
                    json.truncate(json.len() - 1);
                }
                match kind {
                    Kind::Text => Value::Text(text::from_json(&json).ok_or_else(|| {
                        self.bad_sample(sample, "its text is not stored as a JSON string")
                    })?),
                    _ => Value::Json(json),
                }
            }
        })
    }

    fn image(&self, sample: u64, row: &[u8], at: usize, region: u32) -> Result<Encoded> {
        let bad = |what: &str| self.bad_sample(sample, what);
        let cell = ImageCell::parse(row, at).ok_or_else(|| bad("its row is cut short"))?;
        let (width, height) = (u32::from(cell.width), u32::from(cell.height));
        if width == 0 || height == 0 {
            return Err(bad(&format!("its image is {width}x{height}: no pixels")));
        }
        let len = self.image_len(sample, region, cell.pointer)?;
        let codec = match cell.mode {
            MODE_JPEG if len == 0 => return Err(bad("its image has no bytes")),
            MODE_JPEG => Codec::Jpeg,
            MODE_RAW if len == u64::from(width) * u64::from(height) * 3 => Codec::Raw,
            MODE_RAW => {
                return Err(bad(&format!("{len} bytes are not {width}x{height} raw RGB pixels")));
            }
            mode => return Err(bad(&format!("its image is of unknown mode {mode}"))),
        };
        let bytes = self.region(sample, cell.pointer, len)?;
        Ok(Encoded::new(codec, width, height, bytes))
    }

    /// An image stored as a file; its codec and size are in the index.
    fn file(&self, sample: u64, region: u32, bytes: Bytes) -> Result<Encoded> {
        let index =
            self.index.as_ref().ok_or_else(|| self.bad_sample(sample, "it has no index"))?;
        let said = index.region(sample, region).map_err(|error| self.bad_sample(sample, error))?;
        let no_image = || self.bad_sample(sample, "its index does not describe its images");
        let ImageFacts { codec, width, height } = said.image.ok_or_else(no_image)?;
        if width == 0 || height == 0 {
            let what = format!("its image is {width}x{height}: no pixels");
            return Err(self.bad_sample(sample, what));
        }
        Ok(Encoded::new(codec, width, height, bytes))
    }

    /// Offsets and lengths of the values of a sample.
    fn ranges(&self, sample: u64) -> Option<Vec<(u64, u64)>> {
        let row = self.row(sample).ok()?;
        let mut ranges = Vec::with_capacity(1);
        for column in &self.layout.columns {
            let at = column.offset;
            ranges.push(match &column.storage {
                Storage::Int | Storage::Float => continue,
                Storage::Image => {
                    let pointer = ImageCell::parse(row, at)?.pointer;
                    (pointer, self.image_len(sample, column.region.unwrap_or(0), pointer).ok()?)
                }
                Storage::Bytes | Storage::Json => (u64_at(row, at)?, u64_at(row, at + 8)?),
                Storage::Array(len) => (u64_at(row, at)?, *len),
            });
        }
        Some(ranges)
    }

    fn stored_key(&self, index: u64) -> Result<String> {
        match self.index.as_ref().map(|block| block.key(index)) {
            Some(Ok(Some(key))) => Ok(key.to_owned()),
            Some(Err(error)) => Err(self.bad_sample(index, error)),
            Some(Ok(None)) | None => Ok(format!("{index:08}")),
        }
    }

    fn first_image(&self) -> Option<&Column> {
        self.layout.columns.iter().find(|column| column.storage == Storage::Image)
    }

    /// An error about one sample, with its file and row.
    pub(crate) fn bad_sample(&self, sample: u64, what: impl Display) -> Error {
        let at = self.row_offset(sample);
        let what = format!("{what} (sample {sample} of {}, row at {at})", self.path.display());
        Error::sample(self.key(sample), what)
    }
}

impl Source for BetonReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.verify_row(index)?;
        if self.index.is_some() {
            return crate::beton::verify::compared(self, index).map(Into::into);
        }
        self.get(index).map(Into::into)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        if !self.facts.reads_ahead {
            return Ahead::default();
        }
        self.data.read_ahead(indices.iter().filter_map(|&index| self.ranges(index)).flatten())
    }

    fn key(&self, index: u64) -> String {
        match self.index.as_ref().map(|block| block.key(index)) {
            Some(Ok(Some(key))) => key.to_owned(),
            _ => format!("{index:08}"),
        }
    }

    /// Integers and floats are in the row; texts and documents are read alone.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let word = |offset| Ok(u64_at(self.row(index)?, offset));
        Ok(match self.layout.columns.get(field) {
            Some(Column { storage: Storage::Int, offset, .. }) => {
                word(*offset)?.map(|word| Value::Int(word.cast_signed()))
            }
            Some(Column { storage: Storage::Float, offset, .. }) => {
                word(*offset)?.map(|word| Value::Float(f64::from_bits(word)))
            }
            Some(column @ Column { storage: Storage::Json, .. }) => {
                self.verify_row(index)?;
                let row = self.row(index)?;
                let kind = self.facts.schema.fields.get(field).map_or(&Kind::Json, |it| &it.kind);
                let mut value = self.stored_value(index, row, column, kind)?;
                if self.index.is_some() {
                    crate::beton::verify::compare(self, (index, row), column, &mut value)?;
                }
                Some(value.into())
            }
            _ => read_value(self, index, field)?,
        })
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let image = self.first_image().zip(self.row(index).ok());
        let cell = image.and_then(|(column, row)| ImageCell::parse(row, column.offset));
        Ok(match cell.map(|cell| cell.mode) {
            Some(MODE_JPEG) => Some(Codec::Jpeg),
            Some(MODE_RAW) => Some(Codec::Raw),
            _ => None,
        })
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        let Ok(row) = self.row(index) else { return Ok(None) };
        let images = self.facts.schema.fields.iter().zip(&self.layout.columns);
        let images = images.filter(|(field, _)| matches!(field.kind, Kind::Image | Kind::Images));
        Ok(images
            .map(|(_, column)| match column.storage {
                Storage::Image => {
                    let pointer = ImageCell::parse(row, column.offset)?.pointer;
                    self.image_len(index, column.region.unwrap_or(0), pointer).ok()
                }
                _ => u64_at(row, column.offset + 8),
            })
            .sum())
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.verify_row(index)?;
        let image = self.facts.schema.first_image();
        let Some(column) = image.and_then(|image| self.layout.columns.get(image)) else {
            return Ok(None);
        };
        let size = match column.storage {
            Storage::Image => ImageCell::parse(self.row(index)?, column.offset)
                .map(|cell| (cell.width.into(), cell.height.into())),
            _ => {
                let block = self.index.as_ref();
                let said = block.and_then(|block| block.region(index, column.region?).ok());
                said.and_then(|said| said.image).map(|image| (image.width, image.height))
            }
        };
        // Reading tells what is wrong with an image without pixels.
        Ok(size.filter(|(width, height)| *width > 0 && *height > 0))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        let descriptors_end = usize::try_from(self.header.rows_offset()).unwrap_or(0);
        hash.update(self.head.get(..descriptors_end).unwrap_or_default());
        match &self.index {
            // The root covers every key and every checksum.
            Some(index) => hash.update(&index.root().to_le_bytes()),
            None => hash.update(self.table.bytes()),
        }
        Ok(hash.digest128().to_le_bytes())
    }
}

impl Reader for BetonReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (row, key) = (self.row(index)?, self.stored_key(index)?);
        let mut values = Vec::with_capacity(self.layout.columns.len());
        for (column, field) in self.layout.columns.iter().zip(&self.facts.schema.fields) {
            values.push(self.stored_value(index, row, column, &field.kind)?);
        }
        Ok(Sample { key, values })
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let row = self.row(index)?;
        let column = self.first_image().filter(|_| self.is_stored);
        let Some(column) = column else { return Ok(None) };
        let cell = ImageCell::parse(row, column.offset)
            .ok_or_else(|| self.bad_sample(index, "its row is cut short"))?;
        let (offset, region) = (cell.pointer, column.region.unwrap_or(0));
        let len = self.image_len(index, region, offset)?;
        self.check_region(index, offset, len)?;
        let indexed = self.index.as_ref().and_then(|block| block.region(index, region).ok());
        let xxh3 = indexed.filter(|it| (it.offset, it.len) == (offset, len)).map(|it| it.xxh3);
        Ok(Some(Extent { path: self.path.clone(), offset, len, xxh3 }))
    }

    fn entry_points(&self, index: u64, field: usize) -> Result<Option<Bytes>> {
        self.row(index)?;
        let (Some(block), Some(image)) = (&self.index, self.facts.schema.image_position(field))
        else {
            return Ok(None);
        };
        let found = block.entry_points(index, image);
        found.map_err(|error| self.bad_sample(index, error))
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.index.as_ref().map(|index| &index.meta().provenance)
    }

    fn details(&self) -> Map<String, serde_json::Value> {
        let index = match (&self.index, &self.index_problem) {
            (Some(index), _) => json!({
                "version": crate::index::VERSION,
                "bytes": index.block_len(),
                "root": format!("{:016x}", index.root()),
            }),
            (None, Some(problem)) => json!({ "unusable": problem }),
            (None, None) => serde_json::Value::Null,
        };
        let facts = [
            ("version", json!(self.header.version)),
            ("page_bytes", json!(self.header.page_bytes)),
            ("row_bytes", json!(self.layout.row_bytes)),
            ("table_offset", json!(self.header.table_offset)),
            ("table_entries", json!(self.table.n_entries())),
            ("file_bytes", json!(self.data.len())),
            ("index", index),
        ];
        let entry_points = self.index.as_ref().and_then(Index::entry_point_facts);
        let entry_points = entry_points.map(|facts| ("entry_points", facts.to_json(grid_of)));
        let facts = facts.into_iter().chain(entry_points);
        facts.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn verify_layout(&self) -> Vec<Error> {
        crate::beton::verify::layout(self)
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        crate::beton::verify::sample(self, index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        self.row(index)?;
        if self.tables.get().is_none() {
            crate::beton::verify::tables(self).map_err(|what| self.bad_sample(index, &what))?;
            self.tables.get_or_init(|| ());
        }
        Ok(())
    }

    fn has_checksums(&self) -> bool {
        self.index.is_some()
    }
}
