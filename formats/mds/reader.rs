use crate::index::{ImageFacts, Index, IndexError, Region};
use crate::mds::{
    columns::Column,
    encoding::{Encoding, half_to_f64, pil},
    manifest::Manifest,
    open::{Fields, MISSING},
    shape,
    shard::{Inflated, ShardFile, sample_range},
    sidecar::is_cell,
};
use crate::shards::{
    combined::Blocks,
    versions::{self, Files},
};
use bytes::Bytes;
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, FieldSpec, Image, Kind, Look, MaxDecompressed,
    Provenance, Reader, Result, Sample, Source, SourceFacts, Value, bytes::u32_at, image_list,
    read_value,
};
use serde_json::{Map, json};
use std::{collections::BTreeMap, fmt::Display, ops::Range, path::PathBuf, sync::Arc};

/// An open dataset. Shards are mapped on first use and values are slices of the map; compressed
/// shards are decompressed as a whole. Many threads may read at the same time.
#[derive(Debug)]
pub struct MdsReader {
    pub(crate) path: PathBuf,
    pub(crate) facts: SourceFacts,
    pub(crate) columns: Vec<Column>,
    pub(crate) fields: Fields,
    pub(crate) shards: Vec<ShardFile>,
    pub(crate) manifest: Option<Manifest>,
    /// The files that the manifest names.
    pub(crate) files: Files,
    pub(crate) problem: Option<String>,
    pub(crate) fingerprint: [u8; 16],
    pub(crate) inflated: Inflated,
    pub(crate) limit: MaxDecompressed,
    pub(crate) blocks: Option<Arc<Blocks>>,
}

/// A sample as stored in its shard.
pub(crate) struct Stored<'a> {
    shard: &'a ShardFile,
    /// Offset of its bytes in the shard.
    offset: u64,
    bytes: Bytes,
    /// Ranges of all columns' values in `bytes`.
    values: Vec<Range<usize>>,
}

impl Stored<'_> {
    /// Offset of a column's value in the shard.
    pub(crate) fn offset(&self, column: usize) -> u64 {
        self.offset + self.values.get(column).map_or(0, |range| range.start as u64)
    }

    pub(crate) fn value(&self, column: usize) -> Bytes {
        self.values.get(column).map_or_else(Bytes::new, |range| self.bytes.slice(range.clone()))
    }
}

impl MdsReader {
    pub(crate) fn shard_of(&self, index: u64) -> Result<&ShardFile> {
        if index >= self.facts.len {
            let what = format!("there is no sample {index}, only {}", self.facts.len);
            return Err(Error::usage("sample", what));
        }
        let after = self.shards.partition_point(|shard| shard.first <= index);
        let shard = after.checked_sub(1).and_then(|number| self.shards.get(number));
        shard.ok_or_else(|| Error::usage("sample", format!("there is no sample {index}")))
    }

    pub(crate) fn raw(&self, shard: &ShardFile) -> Result<Bytes> {
        shard.raw(&self.inflated, self.limit)
    }

    pub(crate) fn stored(&self, index: u64) -> Result<Stored<'_>> {
        let shard = self.shard_of(index)?;
        let raw = self.raw(shard)?;
        let number = index - shard.first;
        let range = sample_range(&raw, number)
            .ok_or_else(|| bad(shard, index, None, "its offsets are outside the samples"))?;
        let offset = range.start as u64;
        let bytes = raw.slice(range);
        let values = match &shard.own {
            None => split(&self.columns, &bytes),
            Some(own) => split(&own.columns, &bytes).map(|ranges| own.arranged(&ranges)),
        };
        let values = values
            .ok_or_else(|| bad(shard, index, None, "the sizes of its values do not add up"))?;
        Ok(Stored { shard, offset, bytes, values })
    }

    /// The index of a shard, if the manifest names one; or why it cannot be used.
    pub(crate) fn index_of<'a>(
        &'a self,
        shard: &'a ShardFile,
    ) -> Result<Option<&'a Index>, String> {
        shard.index.open(&shard.entry, &self.facts.schema)
    }

    pub(crate) fn key_of(&self, index: u64, stored: &Stored<'_>) -> Result<String> {
        let Some(column) = self.fields.key else { return Ok(format!("{index:08}")) };
        String::from_utf8(stored.value(column).into())
            .map_err(|_| bad(stored.shard, index, None, "its key is not UTF-8"))
    }

    /// The type that a column of the dataset has in this shard.
    fn encoding<'a>(&'a self, shard: &'a ShardFile, column: usize) -> Option<&'a Encoding> {
        let of_shard = shard.own.as_ref().map(|own| own.column(column));
        of_shard.unwrap_or_else(|| self.columns.get(column)).map(|column| &column.encoding)
    }

    pub(crate) fn stored_value(
        &self,
        shard: &ShardFile,
        field: &FieldSpec,
        column: usize,
        bytes: Bytes,
    ) -> Result<Value<Encoded>, String> {
        Ok(match (&field.kind, self.encoding(shard, column)) {
            (Kind::Image, Some(Encoding::Pil)) => Value::Image(pil(&bytes)?),
            (Kind::Image, _) => {
                let header = fdconvert_core::probe::probe(&bytes)?;
                let (codec, width, height) = (header.codec, header.width, header.height);
                Value::Image(Encoded::new(codec, width, height, bytes))
            }
            (Kind::Int, Some(Encoding::Int { signed, .. })) => Value::Int(int(&bytes, *signed)?),
            (Kind::Float, _) => Value::Float(float(&bytes)?),
            (Kind::Text, _) => {
                let text = String::from_utf8(bytes.into());
                Value::Text(text.map_err(|_| "its text is not UTF-8".to_owned())?)
            }
            (Kind::Json, _) => Value::Json(bytes),
            (Kind::Bytes, _) => Value::Bytes(bytes),
            (Kind::Images, _) => Value::Images(image_list::from_bytes(&bytes)?),
            (Kind::Array(_), Some(Encoding::Shaped(dtype))) => {
                Value::Array(shape::elements(field, *dtype, &bytes)?)
            }
            (Kind::Array(spec), _) if spec.byte_len() == Some(bytes.len() as u64) => {
                Value::Array(bytes)
            }
            (Kind::Array(_), _) => {
                return Err(format!("{} bytes do not fill the array's shape", bytes.len()));
            }
            _ => return Err("a kind of value that MDS does not hold".to_owned()),
        })
    }

    /// A sample read by its shard's index: images need no parsing.
    fn indexed(&self, shard: &ShardFile, block: &Index, index: u64) -> Result<Sample<Encoded>> {
        let number = index - shard.first;
        let refuse = |what: &str| bad(shard, index, None, what);
        let damaged = |error: IndexError| refuse(&error.to_string());
        let key = block.key(number).map_err(damaged)?.ok_or_else(|| refuse("it has no key"))?;
        let row = block.row(number).map_err(damaged)?.unwrap_or_default();
        let (mut cells, mut position) = (row.as_chunks::<8>().0.iter(), 0);
        let mut values = Vec::with_capacity(self.fields.columns.len());
        for (field, &column) in self.facts.schema.fields.iter().zip(&self.fields.columns) {
            if is_cell(field) {
                let cell = *cells.next().ok_or_else(|| refuse("its row is cut short"))?;
                values.push(match field.kind {
                    Kind::Int => Value::Int(i64::from_le_bytes(cell)),
                    _ => Value::Float(f64::from_le_bytes(cell)),
                });
                continue;
            }
            let region = block.region(number, position).map_err(damaged)?;
            position += 1;
            let place = (region.offset, region.len);
            let bytes = shard.region(place, &self.inflated, self.limit)?;
            let bytes = bytes.ok_or_else(|| refuse("a value is outside the shard"))?;
            values.push(match (&field.kind, region.image) {
                (Kind::Image, Some(ImageFacts { codec, width, height })) => {
                    Value::Image(Encoded::new(codec, width, height, bytes))
                }
                _ => self.stored_value(shard, field, column, bytes).map_err(|what| {
                    bad(shard, index, Some(key), format!("field `{}`: {what}", field.name))
                })?,
            });
        }
        Ok(Sample { key: key.to_owned(), values })
    }

    /// The usable index of a sample's shard.
    fn block_of(&self, index: u64) -> Option<(&ShardFile, &Index)> {
        let shard = self.shard_of(index).ok()?;
        Some((shard, self.index_of(shard).ok()??))
    }

    /// Regions of a sample's images and lists of them, if an index has them.
    fn image_regions(&self, index: u64) -> Option<impl Iterator<Item = Region>> {
        let (shard, block) = self.block_of(index)?;
        let values = self.facts.schema.fields.iter().filter(|field| !is_cell(field));
        let images = (0..).zip(values).filter(|(_, field)| is_of_images(field));
        let number = index - shard.first;
        Some(images.filter_map(move |(position, _)| block.region(number, position).ok()))
    }

    fn first_image_region(&self, index: u64) -> Option<Region> {
        self.image_regions(index)?.find(|region| region.image.is_some())
    }

    fn stored_codec(&self, index: u64) -> Option<Codec> {
        let position = self.facts.schema.first_image()?;
        if let Some(region) = self.first_image_region(index) {
            return Some(region.image?.codec);
        }
        let column = *self.fields.columns.get(position)?;
        match self.encoding(self.shard_of(index).ok()?, column)? {
            Encoding::Jpeg => Some(Codec::Jpeg),
            Encoding::Png => Some(Codec::Png),
            Encoding::Pil => Some(Codec::Raw),
            // Places in a compressed shard are unknown without reading it.
            _ if self.shard_of(index).ok()?.is_compressed() => None,
            _ => fdconvert_core::probe::sniff(&self.stored(index).ok()?.value(column)),
        }
    }

    fn image_bytes(&self, index: u64) -> Option<u64> {
        if let Some(regions) = self.image_regions(index) {
            return Some(regions.map(|region| region.len).sum());
        }
        if self.shard_of(index).ok()?.is_compressed() {
            return None;
        }
        let stored = self.stored(index).ok()?;
        let fields = self.facts.schema.fields.iter().zip(&self.fields.columns);
        let images = fields.filter(|(field, _)| is_of_images(field));
        let lens = images.filter_map(|(_, &column)| Some(stored.values.get(column)?.len() as u64));
        Some(lens.sum())
    }

    /// Reads a sample by the shard alone, as other readers do.
    pub(crate) fn sample(&self, index: u64) -> Result<Sample<Encoded>> {
        let stored = self.stored(index)?;
        let key = self.key_of(index, &stored)?;
        let mut values = Vec::with_capacity(self.fields.columns.len());
        for (field, &column) in self.facts.schema.fields.iter().zip(&self.fields.columns) {
            let value = self.stored_value(stored.shard, field, column, stored.value(column));
            let value = value.map_err(|what| {
                let what = format!("field `{}`: {what}", field.name);
                bad(stored.shard, index, Some(&key), &what)
            })?;
            values.push(value);
        }
        Ok(Sample { key, values })
    }
}

/// An error about one sample, with its file.
pub(crate) fn bad(shard: &ShardFile, index: u64, key: Option<&str>, what: impl Display) -> Error {
    let number = index.saturating_sub(shard.first);
    let what = format!("{what} (sample {number} of {})", shard.path().display());
    Error::sample(key.map_or_else(|| format!("{index:08}"), str::to_owned), what)
}

/// Splits a sample into its values, which must fill it.
fn split(columns: &[Column], sample: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut sizes_at = 0;
    let mut sizes = Vec::with_capacity(columns.len());
    for column in columns {
        let size = match column.size {
            Some(size) => size,
            None => {
                let size = u32_at(sample, sizes_at)?;
                sizes_at += 4;
                u64::from(size)
            }
        };
        sizes.push(usize::try_from(size).ok()?);
    }
    let mut start = sizes_at;
    let mut ranges = Vec::with_capacity(columns.len());
    for size in sizes {
        let end = start.checked_add(size).filter(|&end| end <= sample.len())?;
        ranges.push(start..end);
        start = end;
    }
    (start == sample.len()).then_some(ranges)
}

fn is_of_images(field: &FieldSpec) -> bool {
    matches!(field.kind, Kind::Image | Kind::Images)
}

fn int(bytes: &[u8], signed: bool) -> Result<i64, String> {
    let negative = signed && bytes.last().is_some_and(|byte| byte >> 7 == 1);
    let mut word = [if negative { 0xff } else { 0 }; 8];
    let place = word.get_mut(..bytes.len()).ok_or("its integer is over 8 bytes")?;
    place.copy_from_slice(bytes);
    let int = i64::from_le_bytes(word);
    if !signed && int < 0 {
        return Err(format!(
            "{} is over the largest integer of 64 bits with a sign",
            int.cast_unsigned()
        ));
    }
    Ok(int)
}

fn float(bytes: &[u8]) -> Result<f64, String> {
    match *bytes {
        [a, b] => Ok(half_to_f64(u16::from_le_bytes([a, b]))),
        [a, b, c, d] => Ok(f32::from_le_bytes([a, b, c, d]).into()),
        _ => match bytes.try_into() {
            Ok(word) => Ok(f64::from_le_bytes(word)),
            Err(_) => Err(format!("{} bytes are no float", bytes.len())),
        },
    }
}

impl Source for MdsReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.verify_row(index)?;
        crate::mds::verify::compared(self, index).map(Into::into)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        let mut by_shard: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for &index in indices {
            if let Ok(shard) = self.shard_of(index) {
                by_shard.entry(shard.first).or_default().push(index);
            }
        }
        let n_regions = self.facts.schema.fields.iter().filter(|field| !is_cell(field)).count();
        let mut ahead = Ahead::default();
        for (first, indices) in by_shard {
            // Without an index the shard is fetched as a whole.
            let Some((shard, block)) = self.block_of(first) else { continue };
            let regions = indices.iter().flat_map(|index| {
                (0..).take(n_regions).filter_map(move |at| block.region(index - first, at).ok())
            });
            ahead.add(shard.read_ahead(regions.map(|region| (region.offset, region.len))));
        }
        ahead
    }

    fn key(&self, index: u64) -> String {
        let block = self.block_of(index);
        if let Some(key) = block.and_then(|(shard, block)| block.key(index - shard.first).ok()?) {
            return key.to_owned();
        }
        if self.fields.key.is_none() {
            return format!("{index:08}");
        }
        let key = self.stored(index).and_then(|stored| self.key_of(index, &stored));
        key.unwrap_or_else(|_| format!("{index:08}"))
    }

    /// Integers are in the index, or directly in the shard; texts and documents are read alone.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let schema = &self.facts.schema;
        let kind = schema.fields.get(field).map(|field| &field.kind);
        if matches!(kind, Some(Kind::Text | Kind::Json)) {
            self.verify_row(index)?;
            return crate::mds::verify::value(self, index, field).map(|value| Some(value.into()));
        }
        if schema.fields.get(field).is_none_or(|field| field.kind != Kind::Int) {
            return read_value(self, index, field);
        }
        if let Some((shard, block)) = self.block_of(index) {
            let before = schema.fields.iter().take(field);
            let at = before.filter(|field| is_cell(field)).count() * 8;
            let row = block.row(index - shard.first).ok().flatten();
            let cell = row.and_then(|row| row.get(at..)?.first_chunk::<8>());
            return Ok(cell.map(|cell| Value::Int(i64::from_le_bytes(*cell))));
        }
        let stored = self.stored(index)?;
        let column = self.fields.columns.get(field).copied().unwrap_or(usize::MAX);
        let signed = match self.encoding(stored.shard, column) {
            Some(Encoding::Int { signed, .. }) => *signed,
            _ => return Ok(None),
        };
        let value = int(&stored.value(column), signed);
        let value = value.map_err(|what| bad(stored.shard, index, None, &what))?;
        Ok(Some(Value::Int(value)))
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        Ok(self.stored_codec(index))
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(self.image_bytes(index))
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.verify_row(index)?;
        let image = self.first_image_region(index).and_then(|region| region.image);
        Ok(image.map(|image| (image.width, image.height)))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        Ok(self.fingerprint)
    }
}

impl Reader for MdsReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        match self.block_of(index) {
            Some((shard, block)) => self.indexed(shard, block, index),
            None => self.sample(index),
        }
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let shard = self.shard_of(index)?;
        let fields = &self.facts.schema.fields;
        let (Some((_, block)), Some(image)) =
            (self.block_of(index), self.facts.schema.first_image())
        else {
            return Ok(None);
        };
        if shard.is_compressed() {
            return Ok(None);
        }
        let position = fields.iter().take(image).filter(|field| !is_cell(field)).count();
        let region = block.region(index - shard.first, u32::try_from(position).unwrap_or(u32::MAX));
        let region = region.map_err(|error| bad(shard, index, None, error))?;
        let (offset, len, xxh3) = (region.offset, region.len, Some(region.xxh3));
        Ok(Some(Extent { path: shard.path().into(), offset, len, xxh3 }))
    }

    fn provenance(&self) -> Option<&Provenance> {
        self.manifest.as_ref().map(|manifest| &manifest.provenance)
    }

    fn details(&self) -> Map<String, serde_json::Value> {
        let columns =
            self.columns.iter().map(|column| (column.name.clone(), column.encoding.name().into()));
        let first = self.shards.first().map(|shard| &shard.entry);
        let stored: u64 = self.shards.iter().map(|shard| shard.stored().bytes).sum();
        let raw: u64 = self.shards.iter().map(|shard| shard.entry.raw_data.bytes).sum();
        let mut splits: Vec<&str> = Vec::new();
        for shard in self.manifest.iter().flat_map(|manifest| &manifest.shards) {
            if !splits.contains(&shard.split.as_str()) {
                splits.push(&shard.split);
            }
        }
        let facts = [
            ("version", json!(crate::mds::layout::VERSION)),
            ("shards", json!(self.shards.len())),
            ("splits", json!(splits)),
            ("columns", serde_json::Value::Object(columns.collect())),
            ("key_column", json!(self.manifest.as_ref().map(|manifest| &manifest.key_column))),
            ("compression", json!(first.and_then(|entry| entry.compression.as_ref()))),
            ("hashes", json!(first.map(|entry| &entry.hashes))),
            ("shard_bytes", json!(raw)),
            ("stored_bytes", json!(stored)),
            ("manifest_problem", json!(self.problem)),
        ];
        let problem = self.blocks.as_ref().and_then(|blocks| blocks.problem());
        let problem = problem.map(|problem| ("combined_index_problem", json!(problem)));
        let facts = facts.into_iter().chain(problem);
        let edit = self.manifest.as_ref().and_then(|manifest| manifest.edit.as_ref());
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        facts.chain(versions::detail(edit)).collect()
    }

    fn verify_layout(&self) -> Vec<Error> {
        crate::mds::verify::layout(self)
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        crate::mds::verify::sample(self, index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let shard = self.shard_of(index)?;
        if let Some(problem) = self.problem.as_ref().filter(|problem| *problem != MISSING) {
            let what = format!(
                "{}, which names its checksums, is damaged: {problem}",
                crate::shards::manifest::NAME
            );
            return Err(bad(shard, index, None, &what));
        }
        let checked = self.index_of(shard).and_then(|block| {
            block.map_or(Ok(()), Index::check_tables).map_err(|error| error.to_string())
        });
        checked.map_err(|what| bad(shard, index, None, &what))
    }

    fn has_checksums(&self) -> bool {
        self.shards.iter().all(|shard| matches!(self.index_of(shard), Ok(Some(_))))
    }
}
