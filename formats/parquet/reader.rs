use super::{
    columns::How,
    keys::Keys,
    manifest::Manifest,
    open::{Part, is_cell},
    values::Rows,
};
use crate::index::{ImageFacts, Index, Region};
use fdconvert_core::{
    Ahead, Amount, Codec, Encoded, Error, Extent, Image, Kind, Look, MaxDecompressed, Provenance,
    Reader, Remark, Result, Sample, Source, SourceFacts, Value, read_value,
};
use fdconvert_storage::sigbus;
use serde_json::Map;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use xxhash_rust::xxh3::Xxh3;

/// An open dataset of one or several files. Many threads may read at the same time.
///
/// In fdconvert's files an index block has the place of every image, which is a slice of the map;
/// in other files the page with a row is decoded, and kept for neighbouring rows.
#[derive(Debug)]
pub struct ParquetReader {
    pub(crate) path: Arc<Path>,
    /// True if the bytes are those of the files or objects at `path`.
    pub(crate) is_stored: bool,
    /// The manifest of a dataset of several files.
    pub(crate) manifest: Option<Manifest>,
    /// The records of its files.
    pub(crate) records: Vec<PathBuf>,
    pub(crate) parts: Vec<Part>,
    pub(crate) facts: SourceFacts,
    pub(crate) limit: MaxDecompressed,
    pub(crate) cache: super::cache::Cache,
    pub(crate) keys: OnceLock<Keys>,
}

impl ParquetReader {
    /// The file with a sample: its number, the file, and the row in it.
    pub(crate) fn part_of(&self, index: u64) -> Result<(usize, &Part, u64)> {
        let missing = || {
            let what = format!("sample {index} does not exist, only {} do", self.facts.len);
            Error::usage("sample", what)
        };
        if index >= self.facts.len {
            return Err(missing());
        }
        let after = self.parts.partition_point(|part| part.first <= index);
        let number = after.checked_sub(1).ok_or_else(missing)?;
        let part = self.parts.get(number).ok_or_else(missing)?;
        Ok((number, part, index - part.first))
    }

    /// An error about one sample, with its file.
    pub(crate) fn bad(&self, index: u64, what: impl Into<Remark>) -> Error {
        let place = self.part_of(index).map(|(_, part, row)| (part.file.path.clone(), row));
        let key = self.key(index);
        match place {
            Ok((path, row)) => {
                let place = format!("(row {row} of {})", path.display());
                Error::sample(key, what.into().reworded(|what| format!("{what} {place}")))
            }
            Err(_) => Error::sample(key, what),
        }
    }

    /// The rows of the page of a column with a sample, and the sample's position among them.
    pub(super) fn rows(&self, index: u64, leaf: usize) -> Result<(Arc<Rows>, usize)> {
        let (number, part, row) = self.part_of(index)?;
        let group = part.file.group_of(row);
        let (group, row) = group.ok_or_else(|| part.file.corrupt(0, "no row group has the row"))?;
        // No page has this number: it stands for the whole column, if its pages cannot be found.
        let all = (number, group, leaf, usize::MAX);
        if !part.file.has_table(group, leaf) {
            self.cache.check(all)?;
        }
        let found = part.file.page_of(group, leaf, row);
        let (page, first) = found.map_err(|error| self.cache.failed(all, error))?;
        let at = usize::try_from(row - first).unwrap_or(usize::MAX);
        let place = (number, group, leaf, page);
        if let Some(rows) = self.cache.get(place) {
            return Ok((rows, at));
        }
        self.cache.check(place)?;
        let (rows, is_sound) =
            sigbus::watched(|| part.file.rows(group, leaf, page, self.limit).map(Arc::new));
        match rows {
            Ok(rows) => {
                if is_sound {
                    self.cache.put(place, &rows);
                }
                Ok((rows, at))
            }
            Err(error) if is_sound => Err(self.cache.failed(place, error)),
            Err(error) => Err(error),
        }
    }

    /// The first sample after the row group of a sample.
    pub(crate) fn group_end(&self, index: u64) -> u64 {
        let end = self.part_of(index).ok().and_then(|(_, part, row)| {
            let (group, _) = part.file.group_of(row)?;
            let group = part.file.groups.get(group)?;
            Some(part.first + group.first_row + group.n_rows)
        });
        end.unwrap_or(self.facts.len).max(index + 1)
    }

    /// Reads a sample by its columns, as other readers do.
    pub(crate) fn sample(&self, index: u64) -> Result<Sample<Encoded>> {
        let n_fields = self.facts.schema.fields.len();
        let values = (0..n_fields).map(|field| self.stored_value(index, field));
        let values: Result<Vec<_>> = values.collect();
        let values = values.map_err(|error| self.of_sample(index, error))?;
        Ok(Sample { key: self.key(index), values })
    }

    /// A damaged page makes its samples unreadable, not the dataset.
    pub(crate) fn of_sample(&self, index: u64, error: Error) -> Error {
        match error {
            Error::Corrupt { what, .. } => self.bad(index, what),
            error => error,
        }
    }

    /// Reads a sample by the index block of its file: images need no parsing.
    fn indexed(&self, part: &Part, block: &Index, index: u64) -> Result<Sample<Encoded>> {
        let row = index - part.first;
        let refuse = |what: &str| self.bad(index, what);
        let damaged = |error: crate::index::IndexError| refuse(&error.to_string());
        let key = block.key(row).map_err(damaged)?.ok_or_else(|| refuse("it has no key"))?;
        let cells = block.row(row).map_err(damaged)?.unwrap_or_default();
        let (mut cells, mut position) = (cells.as_chunks::<8>().0.iter(), 0);
        let mut values = Vec::with_capacity(part.columns.len());
        for (field, column) in part.columns.iter().enumerate() {
            let kind = &column.field.kind;
            if let How::Constant(value) = &column.how {
                values.push(value.clone());
                continue;
            }
            if is_cell(kind) {
                let cell = *cells.next().ok_or_else(|| refuse("its row is cut short"))?;
                values.push(match kind {
                    Kind::Int => Value::Int(i64::from_le_bytes(cell)),
                    _ => Value::Float(f64::from_le_bytes(cell)),
                });
                continue;
            }
            let region = block.region(row, position).map_err(damaged)?;
            position += 1;
            values.push(match (kind, region.image) {
                (Kind::Image, Some(ImageFacts { codec, width, height })) => {
                    let bytes = part.file.data.read(region.offset, region.len)?;
                    let bytes = bytes.ok_or_else(|| refuse("its image is outside the file"))?;
                    Value::Image(Encoded::new(codec, width, height, bytes))
                }
                (Kind::Image, None) => return Err(refuse("its index has no image")),
                (_, Some(_)) => return Err(refuse("its index has an image where none is")),
                (_, None) => {
                    self.stored_value(index, field).map_err(|error| self.of_sample(index, error))?
                }
            });
        }
        Ok(Sample { key: key.to_owned(), values })
    }

    /// Regions of a sample's images, if an index block has them.
    fn image_regions(&self, index: u64) -> Option<impl Iterator<Item = Region>> {
        let (_, part, row) = self.part_of(index).ok()?;
        let block = part.index.as_ref()?;
        let regions =
            (0..block.regions_per_sample()).map_while(move |at| block.region(row, at).ok());
        Some(regions.filter(|region| region.image.is_some()))
    }
}

impl Source for ParquetReader {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.verify_row(index)?;
        super::verify::compared(self, index).map(Into::into)
    }

    fn read_ahead(&self, indices: &[u64]) -> Ahead {
        if !self.facts.reads_ahead {
            return Ahead::default();
        }
        let mut by_part: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        for &index in indices {
            let Ok((number, _, _)) = self.part_of(index) else { continue };
            let Some(regions) = self.image_regions(index) else { continue };
            let places = by_part.entry(number).or_default();
            places.extend(regions.map(|region| (region.offset, region.len)));
        }
        let mut ahead = Ahead::default();
        for (number, places) in by_part {
            if let Some(part) = self.parts.get(number) {
                ahead.add(part.file.data.read_ahead(places));
            }
        }
        ahead
    }

    fn key(&self, index: u64) -> String {
        let Ok((_, part, row)) = self.part_of(index) else { return format!("{index:08}") };
        if let Some(block) = &part.index {
            if let Ok(Some(key)) = block.key(row) {
                return key.to_owned();
            }
            return format!("{index:08}");
        }
        self.keys().get(index).map_or_else(|| format!("{index:08}"), str::to_owned)
    }

    /// Integers are in the index block, or the only value of a column; texts and documents are read
    /// alone.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let schema = &self.facts.schema;
        let kind = schema.fields.get(field).map(|field| &field.kind);
        if matches!(kind, Some(Kind::Text | Kind::Json)) {
            self.verify_row(index)?;
            let value = super::verify::value(self, index, field)?;
            return value.map_or_else(|| read_value(self, index, field), |it| Ok(Some(it.into())));
        }
        if schema.fields.get(field).is_none_or(|field| field.kind != Kind::Int) {
            return read_value(self, index, field);
        }
        let (_, part, row) = self.part_of(index)?;
        let int = match (&part.index, part.columns.get(field).map(|column| &column.how)) {
            (None, _) => {
                match self
                    .stored_value(index, field)
                    .map_err(|error| self.of_sample(index, error))?
                {
                    Value::Int(int) => Some(int),
                    _ => None,
                }
            }
            (Some(_), Some(How::Constant(Value::Int(int)))) => Some(*int),
            (Some(_), Some(How::Constant(_))) => None,
            (Some(block), _) => {
                let before = schema.fields.iter().take(field);
                let at = before.filter(|field| is_cell(&field.kind)).count() * 8;
                let cells = block.row(row).ok().flatten();
                let cell = cells.and_then(|cells| cells.get(at..)?.first_chunk::<8>());
                cell.map(|cell| i64::from_le_bytes(*cell))
            }
        };
        Ok(int.map(Value::Int))
    }

    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        if let Some(mut regions) = self.image_regions(index) {
            let image = regions.next().and_then(|region| region.image);
            return Ok(image.map(|image| image.codec));
        }
        let extension = self.keys().get(index).and_then(|key| key.rsplit_once('.'));
        Ok(extension.and_then(|(_, extension)| Codec::from_extension(extension)))
    }

    fn bytes(&self, index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(self.image_regions(index).map(|regions| regions.map(|region| region.len).sum()))
    }

    fn image_size(&self, index: u64) -> Result<Option<(u32, u32)>> {
        self.verify_row(index)?;
        let image = self.image_regions(index).and_then(|mut regions| regions.next()?.image);
        Ok(image.map(|image| (image.width, image.height)))
    }

    fn fingerprint(&self, _look: Look) -> Result<[u8; 16]> {
        let mut hash = Xxh3::new();
        for part in &self.parts {
            // The root covers every key and every checksum.
            hash.update(&part.index.as_ref().map_or(0, Index::root).to_le_bytes());
            hash.update(&part.file.xxh3.to_le_bytes());
            hash.update(&part.file.data.len().to_le_bytes());
        }
        Ok(hash.digest128().to_le_bytes())
    }
}

impl Reader for ParquetReader {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        let (_, part, _) = self.part_of(index)?;
        match &part.index {
            Some(block) => self.indexed(part, block, index),
            None => {
                let checked = self.keys().check(self, index);
                checked.map_err(|error| self.of_sample(index, error))?;
                self.sample(index)
            }
        }
    }

    fn image_extent(&self, index: u64) -> Result<Option<Extent>> {
        let (_, part, _) = self.part_of(index)?;
        let region = self.image_regions(index).and_then(|mut regions| regions.next());
        let Some(region) = region.filter(|_| self.is_stored) else { return Ok(None) };
        let (offset, len, xxh3) = (region.offset, region.len, Some(region.xxh3));
        Ok(Some(Extent { path: part.file.path.clone(), offset, len, xxh3 }))
    }

    fn provenance(&self) -> Option<&Provenance> {
        if let Some(manifest) = &self.manifest {
            return Some(&manifest.provenance);
        }
        match &self.parts[..] {
            [only] => only.index.as_ref().map(|index| &index.meta().provenance),
            _ => None,
        }
    }

    fn details(&self) -> Map<String, serde_json::Value> {
        super::details::of(self)
    }

    fn verify_layout(&self) -> Vec<Error> {
        super::verify::layout(self)
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        super::verify::sample(self, index)
    }

    fn verify_row(&self, index: u64) -> Result<()> {
        let (_, part, _) = self.part_of(index)?;
        if let Some(problem) = &part.problem {
            return Err(self.bad(index, problem));
        }
        let checked = part.index.as_ref().map_or(Ok(()), Index::check_tables);
        checked.map_err(|error| self.bad(index, error.to_string()))
    }

    fn has_checksums(&self) -> bool {
        self.parts.iter().all(|part| part.index.is_some())
    }
}
